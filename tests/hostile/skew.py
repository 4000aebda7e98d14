#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector and peers of other versions: it works, or there is one clear refusal, and programs
end as they would without us.

usage: skew.py --build DIR

Hellos and requests by hand; then a real program with the real shim, between which and the
collector a relay changes what they say to each other.
"""
import os
import signal
import socket
import subprocess
import time

import wire
from memfds import BOOT_ID, memfd
from neighbours import HOSTILE_UID, connect, environment, fail, libc, receive, run
from node import DEADLINE_S

PR_SET_PDEATHSIG = 1
OURS = 1  # proto/base/limits.h: PROTO_VERSION_MIN and _MAX
ANY = b"\x00\xff" * 500
# Fields that no version knows yet: of each wire type, and one that is there twice.
UNKNOWN = {100: 7, 101: b"later", 2047: ANY, 536870911: 1}
UNKNOWN_RAW = wire.encode("Frame", UNKNOWN) + wire.encode("Frame", {101: b"again"}) + \
    wire.varint(102 << 3 | wire.FIXED64) + bytes(8) + wire.varint(103 << 3 | wire.FIXED32) + bytes(4)
REFUSED = "the shim speaks protocol %d-%d, this collector %d-%d"


def framed(body):
    return len(body).to_bytes(4, "little") + body


def hello(path, fields, inside=b"", around=b""):
    """The answer to a Hello with these fields: its body, and its text or version."""
    token = os.urandom(16)
    fd = memfd(token)
    fields = {"token": token, "boot_id": BOOT_ID, "job": "skew",
              "recorder_bytes": os.fstat(fd).st_size, **fields}
    data = wire.encode("Hello", fields) + inside
    frame = framed(wire.varint(2 << 3 | wire.BYTES) + wire.varint(len(data)) + data + around)
    connection = connect(path)
    socket.send_fds(connection, [frame], [fd])
    os.close(fd)
    body, said = receive(connection)
    return connection, body, said


def hellos(_pipe, path):
    """Each in turn: what came of it."""
    most = (1 << 32) - 1
    results = []
    for low, high in ((1, 1), (0, 1), (1, 2), (0, most), (None, None), (None, 9), (1, None),
                      (0, 0), (2, 2), (2, 3), (most, most), (3, 2), (1, 0)):
        asked = {key: value for key, value in (("version_min", low), ("version_max", high))
                 if value is not None}
        connection, body, said = hello(path, asked)
        low, high = 1 if low is None else low, 1 if high is None else high
        if low <= OURS <= high:
            if body != "welcome" or said["version"] != OURS:
                fail("protocol %s-%s: %s %s" % (low, high, body, said))
        elif body != "refusal" or receive(connection)[0] is not None:
            fail("protocol %s-%s: %s %s" % (low, high, body, said))
        elif "%d-%d" % (OURS, OURS) not in said["text"].decode():
            fail("protocol %s-%s is refused with %s" % (low, high, said))
        results.append("%s-%s %s" % (low, high, body))
        connection.close()
    return results


def unknowns(_pipe, path):
    """Fields and values that are not known are passed over; a body that is not ends it."""
    gpu = {"gpu_id": 0, "tick_hz": 10 ** 9, **UNKNOWN}
    connection, body, said = hello(
        path, {"version_min": 1, "version_max": 1, "mode": "hyper", "front_end": "quantum",
               "launcher": "none yet", "gpus": [gpu, gpu], **UNKNOWN}, around=UNKNOWN_RAW)
    if body != "welcome":
        fail("unknown fields in Hello: %s %s" % (body, said))
    shape = {"id": 1, "gpu": 0, "queue": 0, "symbol": 1, "workgroup": [1, 1, 1],
             "grid": [1, 1, 1], **UNKNOWN}
    for frame in (
            wire.encode("Frame", {"defines": {"shapes": [shape], **UNKNOWN}}) + UNKNOWN_RAW,
            wire.encode("Frame", {"counters": {"process": list(range(200)), "queues": [
                {"queue": 0, "gpu": 0, "value": [1] * 200, **UNKNOWN}], **UNKNOWN}}),
            wire.encode("Frame", {"number": 1, "dispatches": {
                "n": 1, "shape": [1], "seq": [0], "start_tick": [1], "duration_ticks": [1],
                "submit_base_ns": 1, "submit_delta_ns": [0], "tid_from": [0], "tid": [1],
                **UNKNOWN}})):
        connection.sendall(framed(frame))
    body, said = receive(connection)
    while body not in ("ack", "refusal", None):
        body, said = receive(connection)
    if body != "ack" or said["frame"] != 1:
        fail("unknown fields in frames: %s %s" % (body, said))
    connection.sendall(framed(wire.encode("Frame", {77: b"a body that is not known"})))
    texts = [receive(connection) for _ in range(2)]
    if texts[0][0] != "refusal" or texts[1][0] is not None:
        fail("a body that is not known: %s" % texts)
    return texts[0][1]["text"].decode()


def tools(_pipe, path):
    texts = []
    for low, high in ((1, 1), (1, 7), (2, 2), (0, 0)):
        for name in ("stat_request", "sessions_request", "ctl_request"):
            with connect(path) as connection:
                request = {"version_min": low, "version_max": high, **UNKNOWN}
                if name == "ctl_request":
                    request["verb"] = "status"
                connection.sendall(wire.frame(**{name: request}))
                body, said = receive(connection)
            if low <= OURS <= high and body != name.replace("request", "reply"):
                fail("%s %d-%d: %s %s" % (name, low, high, body, said))
            if not low <= OURS <= high and body != "refusal":
                fail("%s %d-%d: %s %s" % (name, low, high, body, said))
            if body == "refusal":
                texts.append(said["text"].decode())
    return sorted(set(texts))


# ---- a relay in between -------------------------------------------------------------------------


def add_inside(frame, extra):
    """@frame with @extra behind the last field of its body."""
    key, at = wire.take_varint(frame, 4)
    size, at = wire.take_varint(frame, at)
    data = frame[at:at + size] + extra
    return framed(wire.varint(key) + wire.varint(len(data)) + data)


def between(_pipe, path, at, to_collector, to_shim):
    """Passes on what a shim and the collector say; what is said first, changed."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(at)
    server.listen()
    if child():
        return "there"
    while True:
        shim = server.accept()[0]
        if not child():
            server.close()
            pass_on(shim, path, to_collector, to_shim)
            os._exit(0)
        shim.close()


def child():
    """As fork(); it ends with its parent."""
    pid = os.fork()
    if not pid:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return pid


def pass_on(shim, path, to_collector, to_shim):
    first, fds, _, _ = socket.recv_fds(shim, 1 << 16, 1)
    if not first:
        return
    size = 4 + int.from_bytes(first[:4], "little")
    with connect(path) as collector:
        socket.send_fds(collector, [to_collector(first[:size]) + first[size:]], fds)
        is_first = True
        if not child():
            while data := shim.recv(1 << 16):
                collector.sendall(data)
            collector.shutdown(socket.SHUT_WR)
            os._exit(0)
        while data := collector.recv(1 << 16):
            shim.sendall(to_shim(data) if is_first else data)
            is_first = False
        shim.shutdown(socket.SHUT_RDWR)


def same(data):
    return data


def version(low, high):
    return lambda data: add_inside(
        data, wire.encode("Hello", {"version_min": low, "version_max": high}))


def welcomed_with(extra):
    """The collector's Welcome, its fields overwritten."""
    def change(data):
        size = 4 + int.from_bytes(data[:4], "little")
        return add_inside(data[:size], wire.encode("Welcome", extra)) + data[size:]
    return change


def before(frame):
    return lambda data: frame + data


# name: what the shim says, what the collector says, whether all is stored
BETWEEN = {
    "shim N": (same, same, True),
    "shim N-1..N": (version(0, 1), same, True),
    "shim N..N+1": (version(1, 2), same, True),
    "shim N+1": (version(2, 2), same, False),
    "shim N-1": (version(0, 0), same, False),
    "shim with unknown fields": (lambda data: add_inside(data, UNKNOWN_RAW), same, True),
    "collector N+1": (same, welcomed_with({"version": 2}), False),
    "collector with unknown fields": (same, welcomed_with(UNKNOWN), True),
    "collector says an unknown frame": (
        same, before(framed(wire.encode("Frame", {77: ANY}))), False),
    "collector says no frame": (same, before(b"\xff" * 64), False),
    "collector says an endless refusal": (
        same, before(wire.frame(refusal={"text": b"\x1b[2J no\n" * 400})), False),
}


def start_relay(street, number, name):
    """The path of the relay that changes what a shim and the collector say."""
    to_collector, to_shim, _ = BETWEEN[name]
    at = os.path.join(street.work, "between.%d" % number)
    street.neighbour(0, between, at, to_collector, to_shim).result()
    return at


def program(street, at, name, steps):
    """The demo: how much it dispatched, and what it said of us."""
    library = os.path.join(street.build, "lib")
    done = subprocess.run(
        [os.path.join(street.build, "bin", "rtl-demo"), "--ranks", "1", "--steps", str(steps)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
        env={**environment(), "HOME": street.work, "RTL_SOCKET": at,
             "RTL_JOB_ID": name, "RTL_EXIT_MS": "60000",
             "HSA_TOOLS_LIB": os.path.join(library, "librtl-shim.so"), "LD_LIBRARY_PATH": os.path.join(library, "softgpu")})
    said = [line for line in done.stderr.splitlines() if line.startswith("rtl: ")]
    told = [line for line in done.stdout.splitlines() if line.startswith("dispatched ")]
    if done.returncode or len(told) != 1:
        fail("%s: the program ends with %d: %s" % (name, done.returncode, done.stderr))
    if len(said) > 1 or any(ord(c) < 32 for line in said for c in line):
        fail("%s: more than one line: %r" % (name, said))
    return int(told[0].rsplit("=", 1)[1]), said


def stored(street, name):
    for path in street.databases(0):
        street.database = path
        if street.has("SELECT 1 FROM rtl_session WHERE job = '%s'" % name):
            return street.sql("SELECT count(*) FROM rocpd_op")[0][0]
    return 0


def is_soon_stored(street, name, count):
    until = time.monotonic() + 5
    while stored(street, name) != count and time.monotonic() < until:
        time.sleep(0.05)  # the poll interval of a wait with a deadline
    return stored(street, name) == count


def programs(street):
    for number, (name, (_, _, is_stored)) in enumerate(BETWEEN.items()):
        at = start_relay(street, number, name)
        # One that ends before the collector has said its first word has nothing to say, and what it
        # left is of a process that still lives: of the relay. Then another one is run, for longer.
        for attempt in range(20):
            job = "%s %d" % (name, attempt)
            count, said = program(street, at, job, 10 << min(attempt, 8))
            if (is_soon_stored(street, job, count) if is_stored else said) or (is_stored and said):
                break
        if bool(said) == is_stored:
            fail("%s: it says %s" % (name, said))
        print("%-34s exit 0, %s" % (name, "%d of %d stored" % (stored(street, job), count)
                                    if is_stored else said[0]))
        if is_stored and stored(street, job) != count:
            fail("%s: not all is stored" % name)


def test(street, _arguments):
    street.start()
    street.honest()
    results = [street.neighbour(HOSTILE_UID, work) for work in (hellos, unknowns, tools)]
    for one in results:
        print(one.result())
        one.end()
    programs(street)
    print(street.check_honest())
    street.stop()


if __name__ == "__main__":
    run(test)
