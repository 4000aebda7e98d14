#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One user holds what the collector looks at of its own: the others' ranks go on, and the end of the
service does not wait.

usage: held.py recorder|locks|removal --build DIR [--locks N]

recorder: ranks die whose recorders are being written to from a page that never comes.
locks: thousands of locks, and a reader that keeps the log from being written over.
removal: the lock of an own closed database, as retention removes it.
"""
import fcntl
import os
import sqlite3
import struct
import tempfile

from fuse import Fuse, hold_by_reading, hold_by_writing
from neighbours import HOSTILE_UID, Neighbour, fail, run, wait_for
from rank import Rank

RANKS = 8
WAL_BYTES_MAX = 64 << 20  # past it the collector looks for readers
FLOCK = "hhqqi4x"


# ---- recorders


def start(work, *arguments):
    """The process that does it."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work(*arguments)
    finally:
        os._exit(0)


def be_rank(path, job, said, told):
    """Until told; it says which descriptor is its recorder."""
    rank = Rank(path, job)
    rank.define(1, ["a kernel"])
    rank.dispatch([1])
    rank.wait_stored()
    os.write(said, b"%d" % rank.memfd)
    os.read(told, 1)


def die_written_to(pipe, path, page):
    """Ranks whose recorders another process writes to when they end."""
    holders = []
    for number in range(RANKS):
        said, told = os.pipe(), os.pipe()
        rank = start(be_rank, path, "held-%d" % number, said[1], told[0])
        memfd = os.open("/proc/%d/fd/%d" % (rank, int(os.read(said[0], 16))), os.O_RDWR)
        holders.append(start(hold_by_writing, memfd, page))
        pipe.send("held")
        pipe.recv()
        os.write(told[1], b"x")
        os.waitpid(rank, 0)
    pipe.send("dead")
    pipe.recv()
    for holder in holders:
        os.waitpid(holder, 0)
    return RANKS


def recorder(street, _arguments):
    street.start()
    street.honest()
    with Fuse(street.program("hostile-fuse"), HOSTILE_UID,
              os.path.join(street.work, "fuse")) as fuse:
        words = beside_held(street, fuse)
    print("%d ranks died whose recorders were being written to, and were drained; the collector "
          "ended; %s" % (RANKS, words))


def beside_held(street, fuse):
    with street.attack("recorders that are being written to") as attack:
        one = street.neighbour(HOSTILE_UID, die_written_to, fuse.path("read"))
        for number in range(RANKS):
            if one.result() != "held":
                fail("a rank has not come")
            # The kernel requests a page once, however many threads wait for it.
            fuse.wait_held("read")
            one.tell()
        if one.result() != "dead":
            fail("a rank has not died")
        wait_for("the dead to be drained", lambda: len(street.databases(HOSTILE_UID)) == RANKS and all(
            is_drained(path) for path in street.databases(HOSTILE_UID)))
        attack.go_on()
    words = street.check_honest()
    street.stop()
    one.tell()
    fuse.end()
    one.result()
    one.end()
    return words


def is_drained(database):
    """As its owner would see it: root may write its files, and is not to."""
    with sqlite3.connect("file:%s?mode=ro" % database, uri=True, timeout=30) as db:
        return db.execute("SELECT count(*) FROM rtl_process WHERE drained").fetchone() == (1,)


# ---- locks


def lock_much(pipe, path, database, count):
    """So many locks on a file of its own, and a snapshot of its database that is never let go."""
    with tempfile.TemporaryFile() as own:
        for i in range(count):
            fcntl.fcntl(own, fcntl.F_SETLK, struct.pack(FLOCK, fcntl.F_WRLCK, 0, 2 * i, 1, 0))
        db = sqlite3.connect("file:%s?mode=ro" % database, uri=True, isolation_level=None, timeout=60)
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM rtl_process").fetchone()
        pipe.send("there")
        pipe.recv()
    return count


def locks(street, arguments):
    street.start()
    street.honest()
    bulk = street.popen(HOSTILE_UID, [
        street.program("synthetic-shim"), "--socket", street.socket, "--rank", "0", "--dispatches",
        "100000000", "--rate", "120000", "--queues", "2"], job="locks")
    wait_for("its database", lambda: street.databases(HOSTILE_UID))
    database, = street.databases(HOSTILE_UID)
    with street.attack("%d locks and a reader" % arguments.locks) as attack:
        one = street.neighbour(HOSTILE_UID, lock_much, database, arguments.locks)
        if one.result() != "there":
            fail("the one with the locks is not there")
        wait_for("a long log", lambda: os.path.getsize(database + "-wal") > WAL_BYTES_MAX)
        wait_for("the reader to be named",
                 lambda: street.lines("a reader (pid %d" % one.process.pid))
        attack.go_on()
        one.tell()
        one.result()
        one.end()
    bulk.kill()
    bulk.wait()
    words = street.check_honest()
    street.stop()
    print("%d locks and a reader that holds the log is named; %s" % (arguments.locks, words))


# ---- removal


def session(street, uid, job):
    """A whole one, closed: its database."""
    before = street.databases(uid)
    street.popen(uid, [street.program("synthetic-shim"), "--socket", street.socket, "--rank", "0",
                       "--dispatches", "100", "--rate", "1000"], job=job).wait()
    wait_for("%s of uid %d" % (job, uid), lambda: len(street.databases(uid)) > len(before))
    database, = set(street.databases(uid)) - set(before)
    wait_for("%s of uid %d to be closed" % (job, uid), lambda: not os.path.exists(database + "-wal"))
    return database


def hold(pipe, database, page):
    pipe.send("there")
    hold_by_reading(database, page)
    return "let go"


def removal(street, _arguments):
    street.start(options=("--keep-sessions", "1"))
    street.honest()
    with Fuse(street.program("hostile-fuse"), HOSTILE_UID,
              os.path.join(street.work, "fuse")) as fuse:
        oldest = session(street, HOSTILE_UID, "first")
        one = Neighbour(HOSTILE_UID, hold, oldest, fuse.path("read"))
        street.others.append(one)
        if one.result() != "there":
            fail("the one that holds its database is not there")
        fuse.wait_held("read")
        with street.attack("a closed database whose owner holds its lock") as attack:
            session(street, HOSTILE_UID, "second")
            other = session(street, HOSTILE_UID + 1, "first")
            session(street, HOSTILE_UID + 1, "second")
            wait_for("the other's oldest session to go", lambda: not os.path.exists(other))
            attack.go_on()
        words = street.check_honest()
        street.stop()
    if one.result() != "let go":
        fail("the lock was let go before")
    print("a closed database was held while it was removed; another user's went; the collector ended; "
          "%s" % words)


if __name__ == "__main__":
    run({"recorder": recorder, "locks": locks, "removal": removal}, locks=(5_000, 150_000))
