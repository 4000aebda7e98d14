#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seeds of the fuzz targets, from real traffic: capture.py BUILD FOLDER

Stands between programs on the software GPU and a collector, hands on bytes and descriptors, and
keeps what passes: each kind of frame under FOLDER/<kind>/, the first frames of connections whole
under first_*/, connections under session/, and rows of what was stored, as SQL, under sql/.
tests/fuzz/seeds.sh makes the corpus of it.
"""
import array
import contextlib
import glob
import hashlib
import os
import selectors
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

KINDS = {2: "first_hello", 4: "defines", 5: "dispatches", 6: "markers", 7: "counters",
         8: "anchors", 12: "first_runner", 14: "first_request", 16: "first_request",
         18: "first_request", 20: "first_done", 21: "copies", 22: "host_calls",
         23: "collectives", 25: "control_done"}
SQL_BYTES = 3800
KEPT = 40  # of a kind: the first ones, then what is larger than all before
DEADLINE_S = 900


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def body(frame):
    """(field, bytes of the body) of a Frame."""
    at = 0
    while at < len(frame):
        tag, at = varint(frame, at)
        if tag & 7 == 0:
            _, at = varint(frame, at)
        else:
            length, at = varint(frame, at)
            return tag >> 3, frame[at:at + length]
    return 0, b""


class Keeper:
    """@places are of this machine: others of the same length stand for them."""

    def __init__(self, folder, places):
        self.folder, self.count, self.most = folder, {}, {}
        self.places = [(place.encode(), b"/" + b"x" * (len(place) - 1)) for place in places]

    def write(self, kind, data):
        for place, other in self.places:
            data = data.replace(place, other)
        count = self.count.get(kind, 0)
        if count >= KEPT and len(data) <= 2 * self.most.get(kind, 0):
            return
        self.count[kind] = count + 1
        self.most[kind] = max(self.most.get(kind, 0), len(data))
        os.makedirs(os.path.join(self.folder, kind), exist_ok=True)
        name = hashlib.sha1(data).hexdigest()[:12]
        with open(os.path.join(self.folder, kind, name), "wb") as file:
            file.write(data)

    def frame(self, frame):
        field, content = body(frame)
        kind = KINDS.get(field, "other")
        self.write(kind, frame if kind.startswith("first_") else content)


def connect_as_another(path):
    """(connection, pid): of a process of its own, since the collector asks the kernel for the peer's pid."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        os.dup2(theirs.fileno(), 0)
        os.closerange(3, 65536)  # else it would hold others' connections open
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        socket.send_fds(socket.socket(fileno=0), [b"x"], [connection.fileno()])
        connection.close()
        signal.pause()
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    ours.close()
    return socket.socket(fileno=fds[0]), pid


class Link:
    """One connection, both ways."""

    def __init__(self, client, path):
        self.client, self.fill, self.whole = client, b"", b""
        self.server, self.pid = connect_as_another(path)

    def up(self, keeper):
        """From the client. False: it has ended."""
        data, fds, _, _ = socket.recv_fds(self.client, 1 << 16, 4)
        if not data:
            return False
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.server.sendmsg([data], rights)
        self.server.sendall(data[sent:])
        for fd in fds:
            os.close(fd)
        self.fill += data
        while len(self.fill) >= 4:
            length, = struct.unpack_from("<I", self.fill)
            if len(self.fill) < 4 + length:
                break
            keeper.frame(self.fill[4:4 + length])
            self.whole += self.fill[:4 + length]
            self.fill = self.fill[4 + length:]
        return True

    def down(self):
        data = self.server.recv(1 << 16)
        if data:
            self.client.sendall(data)
        return bool(data)

    def close(self, keeper):
        if 0 < len(self.whole) < 16384:
            keeper.write("session", self.whole)
        self.client.close()
        self.server.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def pump(listener, path, keeper, processes):
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    deadline = time.monotonic() + DEADLINE_S
    links = 0
    while links or any(p.poll() is None for p in processes):
        if time.monotonic() > deadline:
            sys.exit("capture: the programs do not end")
        for key, _ in selector.select(0.1):
            if key.fileobj is listener:
                link = Link(listener.accept()[0], path)
                selector.register(link.client, selectors.EVENT_READ, (link, True))
                selector.register(link.server, selectors.EVENT_READ, (link, False))
                links += 1
                continue
            link, is_up = key.data
            if link.client.fileno() < 0:
                continue  # its other end was first
            try:
                alive = link.up(keeper) if is_up else link.down()
            except OSError:
                alive = False
            if not alive:
                selector.unregister(link.client)
                selector.unregister(link.server)
                link.close(keeper)
                links -= 1


def scenes(build, work, front):
    """What is run, one after the other."""
    rtl = os.path.join(build, "bin/rtl")
    run = [rtl, "run", "--socket", front, "--device", "soft"]
    demo = os.path.join(build, "bin/rtl-demo")
    bins = os.path.join(build, "tests-bin")
    rules = os.path.join(work, "rules")
    with open(rules, "w") as file:
        file.write("gemm *Cijk*\ncommunication/allreduce *AllReduce*\n")
    yield [run + ["--mode", "full", "--", demo, "--steps", "3", "--ranks", "2"],
           [rtl, "stat", "--socket", front, "-n", "1", "--json"],
           [rtl, "ctl", "--socket", front, "status"]]
    yield [run + ["--steps", "1:1:1:2", "--categories", rules, "--", demo, "--steps", "6"]]
    calls = os.path.join(bins, "hip-calls")
    yield [run + ["--mode", "hip", "--", calls, "2", "3"],
           [rtl, "ctl", "--socket", front, "stop", "--duration", "10ms", "--ranks", "0,3-5"]]
    unique = os.path.join(work, "id")
    with open(unique, "wb") as file:
        file.write(os.urandom(128))
    ranks = "for r in 0 1; do RTL_RANK=$r '%s' $r 2 '%s' & done; wait" % (
        os.path.join(bins, "rccl-calls"), unique)
    yield [run + ["--mode", "hip", "--", "sh", "-c", ranks],
           [rtl, "ctl", "--socket", front, "flush"]]
    for scene in ("graph", "captured", "streams"):
        yield [run + ["--mode", "hip", "--", os.path.join(bins, "hip-scenes"), scene, "3", "4"]]


def keep_rows(keeper, work):
    """Some rows of every table of every database, a statement a row."""
    for path in glob.glob(os.path.join(work, "*", "*.db")):
        with contextlib.closing(sqlite3.connect(path)) as db:
            text = b""
            for table, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' "
                                     "AND name NOT IN ('rtl_category', 'rtl_meta')").fetchall():
                columns = [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
                for row in db.execute("SELECT %s FROM %s LIMIT 3" % (
                        ", ".join('quote("%s")' % column for column in columns), table)):
                    line = ("INSERT OR REPLACE INTO %s VALUES (%s);\n" % (
                        table, ", ".join(row))).encode()
                    if len(text + line) > SQL_BYTES:
                        keeper.write("sql", text)
                        text = b""
                    text += line if len(line) <= SQL_BYTES else b""
            keeper.write("sql", text)


def main():
    build, folder = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        keeper = Keeper(folder, (build, work))
        path, front = os.path.join(work, "c.sock"), os.path.join(work, "front.sock")
        collector = subprocess.Popen(
            [os.path.join(build, "bin/collectord"), "--socket", path, "--db-dir", work])
        deadline = time.monotonic() + DEADLINE_S
        while not os.path.exists(path):
            if collector.poll() is not None or time.monotonic() > deadline:
                sys.exit("capture: the collector does not start")
            time.sleep(0.01)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(front)
        listener.listen(64)
        env = {**os.environ, "RTL_SOCKET": front, "LD_LIBRARY_PATH": ":".join(
            [os.path.join(build, "lib/softgpu"), os.path.join(build, "tests-bin")])}
        try:
            for commands in scenes(build, work, front):
                pump(listener, path, keeper, [subprocess.Popen(
                    c, env=env, stdout=subprocess.DEVNULL) for c in commands])
        finally:
            collector.terminate()
            collector.wait()
        keep_rows(keeper, work)
    print(", ".join("%s %d" % kind for kind in sorted(keeper.count.items())))


main()
