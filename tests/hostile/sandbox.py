# SPDX-License-Identifier: MIT
"""Runs a program as the unit would have it run: sandbox.py UNIT REPORT STATE PROGRAM [ARG...]

As root, and then as an ordinary user: mounts, capabilities, limits and system calls are what UNIT
says. What the filter of system calls does not let pass fails with EPERM, and is a line in REPORT.
STATE is the folder that stays writable. The program keeps the pid of this script. Options of UNIT
that are not known here are refused: a new option of the unit is tested here, too."""
import ctypes
import fcntl
import os
import pwd
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"

# ---- the unit -----------------------------------------------------------------------------

# What is not about the sandbox, or is held below whatever the value.
PASSED_OVER = {
    "Type", "EnvironmentFile", "ExecStartPre", "ExecStart", "ExecReload", "WatchdogSec", "Restart", "RestartSec", "TimeoutStopSec",
    "KillMode", "OOMPolicy", "TasksMax",
    "FileDescriptorStoreMax", "NotifyAccess", "MemoryMax", "OOMScoreAdjust",
    "StateDirectory", "StateDirectoryMode", "RemoveIPC", "KeyringMode", "IPAddressDeny"}
HELD = {
    "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict",
    "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes", "PrivateNetwork": "yes",
    "PrivateMounts": "yes", "ProtectClock": "yes", "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes", "ProtectKernelModules": "yes", "ProtectKernelTunables": "yes",
    "ProtectControlGroups": "yes", "RestrictAddressFamilies": "AF_UNIX",
    "RestrictNamespaces": "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes", "MemoryDenyWriteExecute": "yes",
    "SystemCallArchitectures": "native", "SystemCallErrorNumber": "EPERM"}
TAKEN = {"User", "Group", "UMask", "LimitNOFILE", "LimitCORE", "SystemCallFilter"}


def read_unit(path):
    """{option: [value, ...]} of its service; all of them are known."""
    options, section = {}, ""
    with open(path, encoding="utf-8") as unit:
        for line in unit.read().splitlines():
            if line.startswith("["):
                section = line
            elif section == "[Service]" and line and line[0] not in "#;":
                name, value = line.split("=", 1)
                options.setdefault(name, []).append(value)
    for name, values in options.items():
        is_known = name in HELD.keys() | PASSED_OVER | TAKEN
        if not is_known or values != [HELD.get(name, values[0])] and name in HELD:
            sys.exit("sandbox.py: not known here: %s=%s" % (name, values[-1]))
    missing = HELD.keys() - options.keys()
    if missing:
        sys.exit("sandbox.py: held here and not said by the unit: " + " ".join(missing))
    return options


def names_of(group):
    said = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True,
                          capture_output=True, text=True).stdout
    names = set()
    for line in said.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            names |= names_of(word)
        elif word and word[0] != "#":
            names.add(word)
    return names


def allowed(values):
    """Names that SystemCallFilter= lets pass; @default always does."""
    names = names_of("@default")
    for value in values:
        more = set()
        for word in value.lstrip("~").split():
            more |= names_of(word) if word[0] == "@" else {word}
        names = names - more if value[0] == "~" else names | more
    return names - {"setns"}  # RestrictNamespaces=


def numbers():
    with open(HEADER, encoding="ascii") as header:
        return {name: int(number) for name, number in
                re.findall(r"^#define __NR_(\w+)\s+(\d+)", header.read(), re.M)}


# ---- the filter ---------------------------------------------------------------------------

ARCH_X86_64 = 0xC000003E
ALLOW, ERRNO, NOTIFY, KILL = 0x7FFF0000, 0x00050000, 0x7FC00000, 0x80000000
ENOSYS = 38
LOAD, EQUAL, SET, RETURN = 0x20, 0x15, 0x45, 0x06
NR, ARCH = 0, 4
NEW_NAMESPACES = 0x7E020080
SPECIAL_BITS = 0o6000


def argument(index):
    return 16 + 8 * index


def rules(number):
    """{number: [(offset, mask, wanted), ...]}: refused where the argument has all @wanted of @mask;
    wanted None: where it is not @mask."""
    bits = [("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("mkdir", 1), ("mkdirat", 2),
            ("mknod", 1), ("mknodat", 2), ("creat", 1)]
    found = {
        "socket": [(argument(0), 1, None)],  # AF_UNIX only
        "clone": [(argument(0), NEW_NAMESPACES, 0)],
        "unshare": [(argument(0), NEW_NAMESPACES, 0)],
        "mmap": [(argument(2), 6, 6)],  # written and run
        "mprotect": [(argument(2), 4, 4)],
        "pkey_mprotect": [(argument(2), 4, 4)],
        "shmat": [(argument(2), 0o100000, 0o100000)],
        "personality": [(argument(0), 0, None)],
    }
    for name, index in bits:
        found[name] = [(argument(index), SPECIAL_BITS, 0)]
    return {number[name]: rule for name, rule in found.items() if name in number}


def instruction(code, jump_true, jump_false, value):
    return struct.pack("HBBI", code, jump_true, jump_false, value)


def refuse_if(offset, mask, wanted):
    """Falls through to what comes next if the argument is fine."""
    refuse = instruction(RETURN, 0, 0, NOTIFY)
    load = instruction(LOAD, 0, 0, offset)
    if wanted is None:
        return load + instruction(EQUAL, 1, 0, mask) + refuse
    if wanted == 0:  # any of them
        return load + instruction(SET, 0, 1, mask) + refuse
    return (load + instruction(0x54, 0, 0, mask) + instruction(EQUAL, 0, 1, wanted) + refuse)


def build(names):
    number = numbers()
    special = rules(number)
    passed = sorted(number[name] for name in names if name in number)
    program = instruction(LOAD, 0, 0, ARCH) + instruction(EQUAL, 1, 0, ARCH_X86_64)
    program += instruction(RETURN, 0, 0, KILL)
    program += instruction(LOAD, 0, 0, NR)
    # What they are asked to do cannot be looked at: the C library does without them.
    for name in ("clone3", "openat2"):
        program += instruction(EQUAL, 0, 1, number[name])
        program += instruction(RETURN, 0, 0, ERRNO | ENOSYS)
    for nr in passed:
        body = b"".join(refuse_if(*rule) for rule in special.get(nr, []))
        body += instruction(RETURN, 0, 0, ALLOW)
        program += instruction(EQUAL, 0, len(body) // 8, nr) + body
    program += instruction(RETURN, 0, 0, NOTIFY)
    return program


def filter_of(options, cache):
    """Made once: collectors of a suite are started thousands of times."""
    try:
        with open(cache, "rb") as file:
            return file.read()
    except FileNotFoundError:
        program = build(allowed(options["SystemCallFilter"]))
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(cache), delete=False) as file:
        file.write(program)
    os.rename(file.name, cache)
    return program


def call(what, *arguments):
    result = what(*arguments)
    if result < 0:
        error = ctypes.get_errno()
        sys.exit("sandbox.py: %s: %s" % (arguments, os.strerror(error)))
    return result


def install(program):
    """The descriptor that hears of what is refused."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    call(LIBC.prctl, 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    set_filter, new_listener = 1, 8
    return call(LIBC.syscall, 317, set_filter, new_listener, header)


# ---- the listener --------------------------------------------------------------------------


def listen(fd, report):
    """Reports each refused call and its process until no process is left."""
    receive, send = 0xC0502100, 0xC0182101
    name_of = {number: name for name, number in numbers().items()}
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while True:
        if any(event & select.POLLHUP for _, event in poll.poll()):
            return
        request = bytearray(80)
        try:
            fcntl.ioctl(fd, receive, request)
            ident, pid, _, nr, _, _, *values = struct.unpack("QIIiIQ6Q", request)
            os.write(report, b"%d %s(%s)\n" % (pid, name_of.get(nr, str(nr)).encode(), b", ".join(
                b"%#x" % value for value in values)))
            fcntl.ioctl(fd, send, struct.pack("QqiI", ident, 0, -1, 0))
        except OSError:
            continue  # it was killed meanwhile


def hear(channel, report):
    """What start_listener() starts: is given its descriptor, or nothing if it came to nothing."""
    with socket.socket(fileno=channel) as ours:
        fds = socket.recv_fds(ours, 1, 1)[1]
    if fds:
        listen(fds[0], report)


def become_listener(channel, report):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    low, high = sorted((channel, report))
    for first, end in ((3, low), (low + 1, high), (high + 1, 65536)):
        os.closerange(first, end)
    for fd in (channel, report):
        os.set_inheritable(fd, True)
    os.execv(sys.executable, [sys.executable, "-IS", os.path.abspath(__file__), "--listen", str(channel),
                              str(report)])


def start_listener(report):
    """In a process that is no child of the test's; the other end of how it is given its descriptor.
        A program of its own: a search for a collector by its command line finds one."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        its.close()
        return ours
    try:
        if not os.fork():
            become_listener(its.fileno(), report)
    finally:
        os._exit(0)


# ---- the rest of the unit -----------------------------------------------------------------


def mount(source, target, kind, flags=0, data=None):
    call(LIBC.mount, *(text.encode() if text else None for text in (source, target, kind)), flags,
         data.encode() if data else None)


def set_readable(path, is_writable):
    """The whole tree below @path."""
    read_only, recursive = 1, 0x8000
    attributes = struct.pack("QQQQ", 0 if is_writable else read_only,
                             read_only if is_writable else 0, 0, 0)
    call(LIBC.syscall, 442, -100, path.encode(), recursive, attributes, len(attributes))


def set_mounts(state):
    new_namespace, new_network = 0x20000, 0x40000000
    bind, move, recursive, private = 0x1000, 0x2000, 0x4000, 1 << 18
    call(LIBC.unshare, new_namespace | new_network)
    mount(None, "/", None, recursive | private)
    mount(state, state, None, bind | recursive)
    mount("none", "/mnt", "tmpfs", data="mode=755")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        with open("/mnt/" + name, "wb"):
            pass
        mount("/dev/" + name, "/mnt/" + name, None, bind)
    mount("/mnt", "/dev", None, move)
    for hidden in ("/home", "/root", "/run/user"):
        if os.path.isdir(hidden):
            mount("none", hidden, "tmpfs", data="mode=000")
    set_readable("/", False)
    set_readable(state, True)
    if not state.startswith("/tmp/"):
        mount("none", "/tmp", "tmpfs", data="mode=1777")


def become(options, state):
    uid = pwd.getpwnam(options["User"][0]).pw_uid
    os.chown(state, uid, uid)
    for name, value in (("LimitNOFILE", resource.RLIMIT_NOFILE),
                        ("LimitCORE", resource.RLIMIT_CORE)):
        limit = int(options[name][0])
        resource.setrlimit(value, (limit, limit))
    os.umask(int(options["UMask"][0], 8))
    for capability in range(64):
        if LIBC.prctl(24, capability, 0, 0, 0) < 0:  # PR_CAPBSET_DROP; there are no more
            break
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def execute(filter_program, listener, executable, arguments):
    """Becomes @executable (a descriptor) behind the filter."""
    heard = install(filter_program)
    socket.send_fds(listener, [b"x"], [heard])
    os.close(heard)
    listener.close()
    os.set_inheritable(executable, False)
    os.execve(executable, arguments, os.environ)


def open_listener(report_path):
    report = os.open(report_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    listener = start_listener(report)
    os.close(report)
    return listener


def main():
    if sys.argv[1] == "--listen":
        hear(*map(int, sys.argv[2:]))
        return
    unit, report_path, state, program, *arguments = sys.argv[1:]
    options = read_unit(unit)
    filter_program = filter_of(options, report_path + ".filter")
    listener = open_listener(report_path)  # before its places are hidden
    # By descriptor: the place it lies in may be hidden from it.
    executable = os.open(program, os.O_RDONLY)
    set_mounts(state)
    os.chdir("/")
    become(options, state)
    execute(filter_program, listener, executable, [program, *arguments])


if __name__ == "__main__":
    main()
