# SPDX-License-Identifier: MIT
"""The node's service as root starts it, honest ranks of several uids whose rows are checked
exactly, and neighbours of other uids beside them.

Honest ranks dispatch until the test ends; then every dispatch of theirs must be a row of their own
database, whatever was done beside them. What their frames waited for an Ack is reported, of each
attack apart, with what they waited before any other process came; it fails a test only where it is a
stall.
"""
import argparse
import contextlib
import ctypes
import glob
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import wire
from node import (DEADLINE_S, FOR_EVER, STALL_S_MAX, Database, Node, fail, is_long, prefix_for, said, told,
                  told_to_end, wait_for)
from oracle import Oracle
from service import enter

RSS_MIB_MAX = 256
HONEST_UIDS = (61001, 61002, 61003, 61004)
# Of an attack; with RTL_TEST_LONG=1 so many that a 99th percentile is of two or three.
ACKS_MIN = 250 if is_long() else 40
HOSTILE_UID = 61100  # and those behind it
# Dispatches a second, of an honest rank: as many frames at each rate. What else is left of two processors is the
# daemon's.
RATE, RATE_SANITIZED = 2_000 if is_long() else 250, 250
PR_SET_DUMPABLE = 4
ACK = struct.Struct("=QQ")  # struct ack_time of tests/shim/capture/ack_times.h
fork = multiprocessing.get_context("fork")
libc = ctypes.CDLL(None)


def environment():
    """What a program gets of ours."""
    return {name: value for name, value in os.environ.items()
            if name == "PATH" or name.endswith("SAN_OPTIONS")}


def is_sanitized(program):
    with open(program, "rb") as binary:
        data = binary.read()
    return any(name in data for name in (b"libasan.so", b"libtsan.so"))


def read_status(pid):
    """{field: text} of /proc/PID/status; {}: it is gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as status:
            return dict(line.split(":", 1) for line in status if ":" in line)
    except OSError:
        return {}


def workers_of(pid):
    """The children of @pid that store, which have a thread for it."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        status = read_status(int(os.path.basename(path)))
        if int(status.get("PPid", 0)) == pid and int(status.get("Threads", 0)) > 1:
            found.append(int(status["Pid"]))
    return found


def worker_of(pid, store, user):
    """The one that has this user's index open."""
    for worker in workers_of(pid):
        for fd in glob.glob("/proc/%d/fd/*" % worker):
            with contextlib.suppress(OSError):
                if os.readlink(fd) == "%s/.index-%d" % (store, user.uid):
                    return worker
    return None


def acceptor_of(pid):
    """The child of @pid that accepts connections."""
    for path in glob.glob("/proc/[0-9]*"):
        status = read_status(int(os.path.basename(path)))
        if int(status.get("PPid", 0)) != pid or status["Name"].strip() != "collectord" or \
                int(status["Threads"]) != 1:
            continue
        # The index writer has one thread, too.
        if not any(os.path.realpath(fd).endswith("/index.db") for fd in glob.glob(path + "/fd/*")):
            return int(status["Pid"])
    return None


class Tenant(Database):
    """One rank of @uid, in a session of its own."""

    def __init__(self, street, uid, dispatches=FOR_EVER):
        self.street, self.uid = street, uid
        self.database = None
        self.acks = os.path.join(street.work, "acks-%d" % uid)
        rate = RATE_SANITIZED if street.is_sanitized else RATE
        with open(self.acks, "wb"):
            os.chown(self.acks, uid, uid)
        self.process = street.popen(uid, [
            street.program("synthetic-shim"), "--socket", street.socket, "--rank", "0",
            "--dispatches", str(dispatches), "--rate", str(rate), "--queues", "2", "--polite",
            "--acks-to", self.acks], job="honest")

    def waited_ms(self, since_ns, until_ns=None):
        """For their Acks, the frames that were published from then on, as far as they have one."""
        with open(self.acks, "rb") as file:
            data = file.read()
        return [waited / 1e6 for at, waited in ACK.iter_unpack(data[:len(data) // ACK.size * ACK.size])
                if at >= since_ns and (until_ns is None or at <= until_ns)]

    def is_there(self):
        found = self.street.databases(self.uid)
        self.database = found[0] if found else None
        return bool(found) and self.has_rows(0)


class Attack:
    """While it goes on, what the frames of the honest wait for their Acks is put down to it."""

    def __init__(self, street, name):
        self.street, self.name = street, name
        self.since_ns, self.until_ns = time.monotonic_ns(), None

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        self.until_ns = time.monotonic_ns()

    def waited_ms(self):
        return sorted(ms for tenant in self.street.tenants
                      for ms in tenant.waited_ms(self.since_ns, self.until_ns))

    def is_seen(self):
        """By enough of them."""
        return len(self.waited_ms()) >= ACKS_MIN

    def go_on(self):
        """Until it is."""
        wait_for("%d Acks of honest ranks beside %s" % (ACKS_MIN, self.name), self.is_seen, 0.1)

    def says(self):
        waited = self.waited_ms()
        if not waited:
            return "it was over before a frame was sent"
        return "%d Acks, p50 %.1f ms, p99 %.1f ms, max %.0f ms" % (
            len(waited), percentile(waited, 0.5), percentile(waited, 0.99), waited[-1])


class Street(Node):
    """A collector that serves all: honest ranks and others."""

    def __init__(self, build, work):
        os.chmod(work, 0o755)  # other uids pass
        super().__init__(build, work)
        self.folder = os.path.join(work, "store")
        self.bin = os.path.join(work, "bin")
        os.mkdir(self.bin, 0o755)
        self.tenants = []
        self.attacks = []
        self.others = []
        self.is_sanitized = is_sanitized(super().program("collectord"))

    def program(self, name):
        """A copy: other uids may not be able to reach the folder where it was built."""
        copy = os.path.join(self.bin, name)
        if not os.path.exists(copy):
            shutil.copy(super().program(name), copy)
            os.chmod(copy, 0o755)
        return copy

    def start(self, program="collectord", env=None, options=()):
        self.process = subprocess.Popen(
            [*prefix_for(self.work), super().program(program), "--socket", self.socket, "--db-dir", self.folder,
             "--keep-free", "0", *options],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, **(env or {})})
        wait_for("the collector to listen", self.answers, 0.002)
        wait_for("its being ready", lambda: "listening on" in self.said())
        self.fds_at_start = self.fds()

    def popen(self, uid, command, job, **more):
        process = subprocess.Popen(
            command, user=uid, group=uid, extra_groups=[], cwd=self.work,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**environment(), "HOME": self.work, "RTL_JOB_ID": job}, **more)
        self.shims.append(process)
        return process

    def databases(self, uid):
        return sorted(glob.glob(os.path.join(self.folder, str(uid), "*.db")))

    # ---- the honest

    def honest(self):
        """They come, and for a while no other process does."""
        self.tenants = [Tenant(self, uid) for uid in HONEST_UIDS]
        for tenant in self.tenants:
            wait_for("rows of uid %d" % tenant.uid, tenant.is_there)
        with self.attack("no attack") as idle:
            idle.go_on()
        self.fds_with_honest = self.fds()

    def attack(self, name):
        attack = Attack(self, name)
        self.attacks.append(attack)
        return attack

    def check_honest(self):
        """They end: all is stored, nothing dropped, nothing of another user's is there. Words: what
        they waited for beside each attack is printed."""
        words = told_to_end([tenant.process for tenant in self.tenants])
        for tenant, one in zip(self.tenants, words):
            wait_for("uid %d to be drained" % tenant.uid, lambda t=tenant: t.drained(1))
            Oracle(tenant).check_all_stored(one["dispatched"]["kernels"])
            if self.databases(tenant.uid) != [tenant.database]:
                fail("uid %d has other databases: %s" % (tenant.uid, self.databases(tenant.uid)))
            if tenant.sql("SELECT DISTINCT uid FROM rtl_process") != [(tenant.uid,)]:
                fail("rows of another user in the database of uid %d" % tenant.uid)
        worst_us = max(one["acks"]["max_us"] for one in words)
        if worst_us > 1e6 * STALL_S_MAX:
            fail("a frame of an honest rank waited for %.1f s" % (worst_us / 1e6))
        for attack in self.attacks:
            print("%d honest ranks beside %s: 0 dropped, %s" %
                  (len(words), attack.name, attack.says()))
        return ("honest: %d of %d stored, 0 dropped, Acks after at most %.0f ms" %
                (2 * (sum(one["dispatched"]["kernels"] for one in words),) + (worst_us / 1e3,)))

    # ---- readings of the daemon

    def fds(self):
        """Of all processes of the service, but for what a worker has that has nothing open, and the
        supervisor for it: that worker leaves in a minute."""
        subprocess.run([super().program("rtl"), "ctl", "--socket", self.socket, "status"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)  # root's has none
        counts = []
        for pid in workers_of(self.process.pid):
            with contextlib.suppress(OSError):
                counts.append(len(os.listdir("/proc/%d/fd" % pid)))
        own = len(os.listdir("/proc/%d/fd" % self.process.pid)) - 3 * len(counts)
        return own + sum(count - min(counts) for count in counts)

    def rss_mib(self, key="VmRSS"):
        """Of its largest process."""
        return max(int(read_status(pid).get(key, "0").split()[0]) >> 10
                   for pid in [self.process.pid, *workers_of(self.process.pid)])

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as log:
            return log.read()

    def fewer(self, count):
        """Of processes: with a sanitizer each is twenty times as large."""
        return count // 10 if self.is_sanitized else count

    def check_rss(self, mib, what, most=RSS_MIB_MAX):
        if mib > most and not self.is_sanitized:
            fail("%d MiB with %s" % (mib, what))

    def lines(self, text):
        return [line for line in self.said().splitlines() if text in line]

    def check_alive(self):
        if self.process.poll() is not None:
            fail("the collector ended with %d" % self.process.returncode)

    def check_fds(self, what="the end", before=None):
        """As many as @before, or at the start, once what is connected has gone."""
        before = before or self.fds_at_start
        wait_for("%d descriptors at %s, as before" % (before, what),
                 lambda: self.process.poll() is not None or self.fds() <= before)
        self.check_alive()

    def stop(self):
        """It still works, and ends well."""
        self.check_alive()
        self.kill(signal.SIGTERM)
        if self.process.returncode:
            fail("the collector ended with %d" % self.process.returncode)

    # ---- neighbours

    def neighbour(self, uid, work, *arguments):
        """@work(socket path, *arguments) in a process of @uid; neighbour.result() is its answer."""
        neighbour = Neighbour(uid, work, self.socket, *arguments)
        self.others.append(neighbour)
        return neighbour

    def end(self, show):
        for other in self.others:
            other.end()
        super().end(show)


class Neighbour:
    def __init__(self, uid, work, *arguments):
        self.ours, theirs = fork.Pipe()
        self.process = fork.Process(target=become, args=(uid, work, theirs, arguments), daemon=True)
        self.process.start()
        theirs.close()

    def is_done(self):
        return self.ours.poll() or not self.process.is_alive()

    def result(self, within_s=DEADLINE_S):
        if not self.ours.poll(within_s):
            fail("a neighbour has no result after %d s" % within_s)
        try:
            answer = self.ours.recv()
        except EOFError:
            fail("a neighbour ended without a result: %s" % self.process.exitcode)
        if isinstance(answer, str) and answer.startswith("FAILED"):
            fail("a neighbour: " + answer)
        return answer

    def tell(self, word="go on"):
        self.ours.send(word)

    def end(self):
        self.process.kill()
        self.process.join()
        self.ours.close()


def become(uid, work, pipe, arguments):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(PR_SET_DUMPABLE, 1)  # else its /proc/self is root's
    try:
        pipe.send(work(pipe, *arguments))
        pipe.recv()  # what it holds open stays open until it is told, or ended
    except EOFError:
        pass
    except Exception as error:  # pylint: disable=broad-except
        pipe.send("FAILED %r" % error)


# ---- connections by hand -------------------------------------------------------------------


def connect(path):
    """As a shim does: while the backlog is full it tries again a moment later."""
    deadline = time.monotonic() + DEADLINE_S
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(DEADLINE_S)
    while True:
        try:
            connection.connect(path)
            return connection
        except BlockingIOError:
            if time.monotonic() > deadline:
                fail("the backlog is full for %d s" % DEADLINE_S)
            time.sleep(0.01)


def receive(connection):
    """The next frame, decoded: (body, fields). (None, {}): it was closed."""
    def exactly(count):
        data = b""
        while len(data) < count:
            try:
                more = connection.recv(count - len(data))
            except (ConnectionResetError, BrokenPipeError):
                return None
            if not more:
                return None
            data += more
        return data
    prefix = exactly(4)
    data = exactly(struct.unpack("<I", prefix)[0]) if prefix else None
    if data is None:
        return None, {}
    fields = wire.decode("Frame", data)
    body = next((name for name in fields if name != "number"), None)
    return body, fields.get(body, {})


def refusal(connection):
    """The text with which it was refused; "" if it was closed without; None: it was not."""
    body, fields = receive(connection)
    if body is None:
        return ""
    return fields["text"].decode() if body == "refusal" else None


def ask(path):
    """A tool's question on a connection of its own; how long the answer took, in seconds."""
    begin = time.monotonic()
    with connect(path) as connection:
        connection.sendall(wire.frame(sessions_request={"version_min": 1, "version_max": 1}))
        body, fields = receive(connection)
    if body != "sessions_reply":
        fail("no answer but %s %s" % (body, fields))
    return time.monotonic() - begin


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


# ---- a test ----------------------------------------------------------------------------------


def run(test, **options):
    """@test(street, arguments) as a program: --build DIR, and numbers NAME=(short, long). Of several it
    is a dict, and the first argument says which."""
    parser = argparse.ArgumentParser()
    if isinstance(test, dict):
        parser.add_argument("what", choices=test)
    parser.add_argument("--build", required=True)
    for name, (short, _) in options.items():
        parser.add_argument("--" + name, type=int, default=short)
    arguments = parser.parse_args()
    test = test[arguments.what] if isinstance(test, dict) else test
    if is_long():
        for name, (_, long) in options.items():
            setattr(arguments, name, long)
    enter()
    with tempfile.TemporaryDirectory() as work:
        street = Street(arguments.build, work)
        try:
            test(street, arguments)
        finally:
            street.end(sys.exc_info()[0])
