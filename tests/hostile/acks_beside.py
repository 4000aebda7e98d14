#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long four ranks of a user wait for their Acks beside each attack at their collector, and beside
the same attack at another collector of the machine, in turns. Measures; fails where a dispatch is lost.

usage: acks_beside.py --build DIR [--turns N] [--seconds S] [--rate HZ] [ATTACK ...]
"""
import argparse
import contextlib
import fcntl
import glob
import mmap
import os
import signal
import sqlite3
import statistics
import struct
import sys
import time

from neighbours import ACK, percentile
from node import DEADLINE_S, fail, reap, wait_for
from rank import Rank
from service import Service, User, enter
from stuck_files import FLUSH, READ, StuckFolder, lingering_socket
from symbols import bomb
from tenants import ATTACKER, bring_up_loopback, check_stored, hang_up_with

HONEST = User("honest", 62001)
FLOCK, RANKS = "hhqqi4x", 4
SHM_LOCK_AT, SHM_LOCKS = 120, 8  # of SQLite's wal-index


def in_group(what):
    """A process group of the attacker's: whatever it starts is ended with it."""
    ready, ok = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ok)
        with os.fdopen(ready, "rb") as pipe:
            if pipe.read(1) != b"x":
                fail("the attack does not begin")
        return pid
    try:
        os.setsid()
        os.setgroups([])
        os.setgid(ATTACKER.uid)
        os.setuid(ATTACKER.uid)
        what(lambda: os.write(ok, b"x"))
    except BaseException as error:  # pylint: disable=broad-except
        print("the attack ended: %r" % error, file=sys.stderr)
    finally:
        os._exit(1)


def spawn_rank(service, job, rate=2000):
    shim = service.spawn(ATTACKER, job, rate=rate)
    service.shims.append(shim)
    return shim


def database_of(service, suffix=""):
    pattern = os.path.join(service.store, str(ATTACKER.uid), "*.db" + suffix)
    wait_for("the attacker's " + pattern, lambda: any(map(os.path.getsize, glob.glob(pattern))))
    return glob.glob(pattern)[-1]


def linger(service, _stack):
    def attack(begun):
        begun()
        while True:
            held = [lingering_socket() for _ in range(4)]
            for sender, _ in held:
                hang_up_with(service, sender.fileno(), 250)
            for sender, _ in held:
                os.close(sender.detach())
    return attack


def stuck_folder(service, stack, *kinds):
    path = os.path.join(service.work, "stuck-%d" % time.monotonic_ns())
    folder = StuckFolder(path, *kinds)
    stack.callback(folder.release)
    return folder


def flush(service, stack):
    folder = stuck_folder(service, stack, FLUSH)

    def attack(begun):
        fd = os.open(folder.file(), os.O_RDWR)
        begun()
        while True:
            hang_up_with(service, fd, 250)
    return attack


def hold(folder, begun, call, fd):
    stuck = os.open(folder.file(), os.O_RDWR)
    begun()
    with mmap.mmap(stuck, 4096) as page:
        call(fd, [page], 0)


def log(service, stack):
    folder = stuck_folder(service, stack, READ)
    spawn_rank(service, "log")
    path = database_of(service, "-wal")
    return lambda begun: hold(folder, begun, os.preadv, os.open(path, os.O_RDONLY | os.O_DIRECT))


def recorder(service, stack):
    folder = stuck_folder(service, stack, READ)
    shim = spawn_rank(service, "recorder")

    def recorders():
        return [path for path in glob.glob("/proc/%d/fd/*" % shim.pid)
                if os.path.realpath(path).startswith("/memfd:")]
    wait_for("the recorder", recorders)
    path, = recorders()
    wait_for("the attacker's session", lambda: any(
        s["live_processes"] for s in service.sessions(ATTACKER).get(ATTACKER.uid, [])))

    def attack(begun):
        fd = os.open(path, os.O_RDWR)
        if os.fork():
            time.sleep(0.2)  # the other one writes: the next line ends what is written to
            os.kill(shim.pid, signal.SIGKILL)
            signal.pause()
        hold(folder, begun, os.pwritev, fd)
    return attack


def bombs(depth):
    def prepare(service, _stack):
        def attack(begun):
            rank, at = Rank(service.socket, "bombs"), 0
            begun()
            while True:
                rank.define(1 + at, [bomb(depth, at + i) for i in range(100)])
                rank.dispatch(range(1 + at, 101 + at))
                rank.wait_stored()
                at += 100
        return attack
    return prepare


def locks(service, _stack):
    spawn_rank(service, "locks", 60_000)
    database = database_of(service)

    def attack(begun):
        with open(os.path.join("/tmp", "locks-%d" % os.getpid()), "w+b") as own:
            os.unlink(own.name)
            for i in range(20_000):
                fcntl.fcntl(own, fcntl.F_SETLK, struct.pack(FLOCK, fcntl.F_WRLCK, 0, 2 * i, 1, 0))
            db = sqlite3.connect("file:%s?mode=ro" % database, uri=True, isolation_level=None, timeout=60)
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM rtl_process").fetchone()
            begun()
            signal.pause()
    return attack


def removal(service, stack):
    """Of the oldest of its closed sessions, of which one is kept."""
    folder = stuck_folder(service, stack, READ)
    service.spawn(ATTACKER, "one", dispatches=100, rate=1000).communicate(timeout=DEADLINE_S)
    path = database_of(service)
    wait_for("it to be closed", lambda: not os.path.exists(path + "-wal"))

    def attack(begun):
        if os.fork():
            while True:
                shim = service.spawn(User("attacker", ATTACKER.uid), "more", dispatches=100, rate=1000)
                shim.communicate()
        hold(folder, begun, os.preadv, os.open(path, os.O_RDONLY | os.O_DIRECT))
    return attack


def shm(service, _stack):
    def attack(begun):
        begun()
        while True:
            shim = service.spawn(ATTACKER, "shm", rate=2000)
            for _ in range(2000):
                found = glob.glob(os.path.join(service.store, str(ATTACKER.uid), "*.db-shm"))
                if found:
                    break
                time.sleep(0.001)
            held = []
            for path in found:
                held.append(open(path, "rb"))
                fcntl.fcntl(held[-1], fcntl.F_SETLK, struct.pack(
                    FLOCK, fcntl.F_RDLCK, 0, SHM_LOCK_AT, SHM_LOCKS, 0))
            time.sleep(0.3)  # it records meanwhile; then its recorder has to be drained
            shim.kill()
            shim.communicate()
    return attack


ATTACKS = {"linger": linger, "flush": flush, "log": log, "recorder": recorder, "symbols": bombs(39),
           "names": bombs(8), "locks": locks, "removal": removal, "shm": shm}


class Honest:
    def __init__(self, service, number, rate):
        self.acks = os.path.join(service.work, "acks-%d" % number)
        with open(self.acks, "wb"):
            os.chown(self.acks, HONEST.uid, HONEST.uid)
        self.job = "honest %d" % number
        self.process = service.spawn(HONEST, self.job, "--polite", "--acks-to", self.acks, rate=rate)

    def waited_ms(self, since_ns, until_ns):
        with open(self.acks, "rb") as file:
            data = file.read()
        return [waited / 1e6 for at, waited in ACK.iter_unpack(data[:len(data) // ACK.size * ACK.size])
                if since_ns <= at <= until_ns]


@contextlib.contextmanager
def attacked(service, prepare):
    with contextlib.ExitStack() as stack:
        group = in_group(prepare(service, stack))
        try:
            yield
        finally:
            os.killpg(group, signal.SIGKILL)
            stack.close()  # or what waits for its files could not end
            os.waitpid(group, 0)
            for shim in [s for s in service.shims if s.args[2:3] == [str(ATTACKER.uid)]]:
                reap(shim)
                service.shims.remove(shim)


def measure(honest, service, prepare, seconds):
    with attacked(service, prepare):
        since_ns = time.monotonic_ns()
        time.sleep(seconds)  # so long is measured
        until_ns = time.monotonic_ns()
    waited = sorted(ms for rank in honest for ms in rank.waited_ms(since_ns, until_ns))
    if not waited:
        fail("no frame was acknowledged in %d s" % seconds)
    return percentile(waited, 0.99), len(waited)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--turns", type=int, default=7, help="at each collector (7)")
    parser.add_argument("--seconds", type=int, default=3, help="of a turn (3)")
    parser.add_argument("--rate", type=int, default=2_000, help="dispatches a second of each rank (2,000)")
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS), metavar="ATTACK")
    options = parser.parse_args()
    enter()
    sys.stdout.reconfigure(line_buffering=True)
    bring_up_loopback()
    here, other = Service(options.build), Service(options.build)
    try:
        for service in (here, other):
            service.start(service.collector("--keep-sessions", "1"))
        honest = [Honest(here, i, options.rate) for i in range(RANKS)]
        wait_for("the honest ranks", lambda: sum(
            s["stored"] > 0 for s in here.sessions(HONEST).get(HONEST.uid, [])) == RANKS)
        print("| attack | p99 here | at another collector | ratio | Acks |\n|---|---|---|---|---|")
        for name in options.attacks:
            taken = {here: [], other: []}
            count = 0
            for _ in range(options.turns):
                for service in (here, other):
                    p99, n = measure(honest, service, ATTACKS[name], options.seconds)
                    taken[service].append(p99)
                    count += n
            ours, theirs = (statistics.median(taken[s]) for s in (here, other))
            print("| %s | %.1f ms [%.1f-%.1f] | %.1f ms [%.1f-%.1f] | %.2f | %d |" % (
                name, ours, min(taken[here]), max(taken[here]), theirs, min(taken[other]),
                max(taken[other]), ours / theirs, count))
        kernels = 0
        for rank in honest:  # one by one: of closed sessions one is kept
            rank.process.terminate()
            kernels += check_stored(here, rank.process, HONEST, rank.job)
        print("%d dispatches of the four ranks: all stored, once, none dropped" % kernels)
    finally:
        show = sys.exc_info()[0] is not None
        for service in (here, other):
            service.end(show)


if __name__ == "__main__":
    main()
