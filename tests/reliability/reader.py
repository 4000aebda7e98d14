#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reader keeps its snapshot while the collector writes, and is killed, and comes again.

usage: reader.py --build DIR [--rows N] [--kills N]

The log grows, which is said with the reader's pid; nothing is lost; the reader sees what it saw;
a killed collector recovers beside it; and once it lets go the log is short again.
"""
import argparse
import os
import re
import subprocess
import sys

from node import DEADLINE_S, FOR_EVER, fail, is_long, node_of, told_to_end, wait_for
from oracle import Oracle

WAL_BYTES_MAX = 64 << 20  # proto/base/limits.h
SHIMS = 4
COUNT = "SELECT count(*), coalesce(sum(rowid), 0) FROM rtl_dispatch"


class Reader:
    """A process of its own, so that the collector can name it; it counts when it is told to."""

    PROGRAM = """
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True, isolation_level=None, timeout=60)
db.execute("BEGIN")
for line in sys.stdin:
    print(*db.execute(sys.argv[2]).fetchone(), flush=True)
db.execute("COMMIT")
"""

    def __init__(self, database):
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, database, COUNT], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.first = self.count()

    def count(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def check(self):
        if self.count() != self.first:
            fail("the reader's snapshot has changed")

    def let_go(self):
        self.process.stdin.close()
        self.process.stdout.read()
        if self.process.wait() != 0:
            fail("the reader ended with %d" % self.process.returncode)
        self.process.stdout.close()


def wal_bytes(node):
    try:
        return os.path.getsize(node.database + "-wal")
    except FileNotFoundError:
        return 0


def rows(node):
    return node.sql("SELECT count(*) FROM rtl_dispatch")[0][0]


def ask(node, *words):
    done = subprocess.run([node.program("rtl"), *words, "--socket", node.socket],
                          capture_output=True, text=True, timeout=DEADLINE_S, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


def log_text(node):
    with open(node.log.name, encoding="utf-8", errors="replace") as log:
        return log.read()


def names(text, reader):
    """The reader, or one of several: this test also reads for a moment when it counts rows."""
    return any(int(pid) == reader.process.pid or more for pid, more in
               re.findall(r"a reader \(pid (\d+)(, or one of \d+ more)?\)", text))


def hold(node, args, reader):
    """Until so many rows lie behind the snapshot, and the log is longer than it may be else."""
    start = rows(node)
    wait_for("%d rows" % args.rows, lambda: rows(node) - start >= args.rows)
    wait_for("a long log", lambda: wal_bytes(node) > WAL_BYTES_MAX)
    wait_for("its being said", lambda: names(log_text(node), reader))
    for words in (["ctl", "status"], ["stat", "-n", "1"]):
        wait_for("rtl " + " ".join(words), lambda w=words: names(ask(node, *w), reader))
    reader.check()
    return rows(node) - start


def kill_beside(node, reader):
    node.kill()
    reader.check()
    node.start()
    before = rows(node)
    wait_for("rows after a kill", lambda: rows(node) > before)
    reader.check()


def run(args, node):
    node.start()
    shims = [node.shim(rank, FOR_EVER, 40_000) for rank in range(SHIMS)]
    wait_for("rows", lambda: all(node.has_rows(rank) for rank in range(SHIMS)))
    reader = Reader(node.database)
    held = hold(node, args, reader)
    longest = wal_bytes(node)
    for _ in range(args.kills):
        kill_beside(node, reader)
    longest = max(longest, wal_bytes(node))
    reader.let_go()
    wait_for("a short log", lambda: wal_bytes(node) <= WAL_BYTES_MAX)
    wait_for("the warning to end", lambda: "holds the log" not in ask(node, "ctl", "status"))
    expected = sum(said["dispatched"]["kernels"] for said in told_to_end(shims))
    wait_for("the drain", lambda: node.drained(SHIMS))
    dispatched, stored = Oracle(node).check()[:2]
    if dispatched != expected or stored != expected:
        fail("%d dispatched, %d in the books, %d stored" % (expected, dispatched, stored))
    print("reader: %d rows behind a snapshot, log up to %d MiB and %d MiB after, %d kills beside "
          "it, %d of %d stored" % (held, longest >> 20, wal_bytes(node) >> 20, args.kills,
                                   stored, dispatched))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--long", type=int, help="kills when RTL_TEST_LONG is set")
    args = parser.parse_args()
    if args.long and is_long():
        args.kills, args.rows = args.long, 10 * args.rows
    with node_of(args.build, "reader") as node:
        run(args, node)


if __name__ == "__main__":
    main()
