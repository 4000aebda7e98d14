#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bits of a database are flipped: no program crashes, and none calls complete what is not there.

usage: flips.py MODE --build DIR [--flips N] [--seed N]
  read   a closed database: every verb that reads it ends with one line and an error, or does not
         say "complete" of anything but the whole
  store  the database of a killed collector, or its log: the next collector goes on with it or sets
         it aside, ends, and says "complete" only of a file that holds everything
"""
import argparse
import contextlib
import glob
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess

from node import DEADLINE_S, fail, is_long, node_of, reap, told, wait_for

DISPATCHES = 5_000
PAGE_BYTES = 32768
COMPLETE = re.compile(r"complete: (\d+) dispatched, (\d+) stored")
VERBS = [["summary"], ["info"], ["diagnose"], ["query"]]


def offsets(size, count):
    """Where it hurts: the header of the file, the headers of its pages; and anywhere."""
    for i in range(count):
        kind = i % 4
        if kind == 0:
            yield random.randrange(100)
        elif kind == 1:
            at = random.randrange(0, size, PAGE_BYTES) + random.randrange(12)
            yield min(at + (100 if at < 12 else 0), size - 1)
        else:
            yield random.randrange(size)


def flip(path, at, whole_byte):
    with open(path, "r+b") as file:
        file.seek(at)
        old = file.read(1)[0]
        file.seek(at)
        file.write(bytes([old ^ (0xff if whole_byte else 1 << random.randrange(8))]))


def check_words(what, out):
    """The verdict of what has lost something is not that it is complete."""
    for line in out.splitlines():
        found = COMPLETE.search(line)
        if found and "INCOMPLETE" not in line and found.groups() != (str(DISPATCHES),) * 2:
            fail("%s: %s" % (what, line))


def read_one(node, path, what):
    refused = 0
    for verb in VERBS:
        extra = ["SELECT count(*) FROM rocpd_op"] if verb == ["query"] else []
        done = subprocess.run([node.program("rtl"), *verb, path, *extra], capture_output=True,
                              timeout=DEADLINE_S, stdin=subprocess.DEVNULL)
        err = "".join(line for line in done.stderr.decode(errors="replace").splitlines(True)
                      if "SIMULATED" not in line)
        if done.returncode < 0 or done.returncode > 5:
            fail("%s: rtl %s ended with %d: %s" % (what, verb[0], done.returncode, err))
        if done.returncode == 1 and (len(err.splitlines()) != 1 or not err.startswith("rtl: ")):
            fail("%s: rtl %s: %r" % (what, verb[0], err))
        refused += done.returncode == 1
        if verb == ["summary"] and done.returncode == 0:
            check_words(what, done.stdout.decode(errors="replace"))
    return refused


def read(args, node):
    node.start()
    told(node.shim(0, DISPATCHES, 0))
    wait_for("the end", lambda: " closed: " in log_since(node, 0))
    stop(node)
    whole = node.database
    refused = 0
    for i, at in enumerate(offsets(os.path.getsize(whole), args.flips)):
        path = os.path.join(node.work, "flipped.db")
        shutil.copyfile(whole, path)
        flip(path, at, i % 8 == 7)
        refused += read_one(node, path, "byte %d" % at)
    print("read: %d flips in %d bytes, %d reads, %d refused" %
          (args.flips, os.path.getsize(whole), args.flips * len(VERBS), refused))


def copy_to(node, kept, database):
    for old in glob.glob(database + "*"):
        os.unlink(old)
    for suffix in ("", "-wal"):
        if os.path.exists(kept + suffix):
            shutil.copyfile(kept + suffix, database + suffix)


def rows(path):
    try:
        with contextlib.closing(
                sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=30)) as db:
            return db.execute("SELECT count(*) FROM rocpd_op").fetchone()[0]
    except sqlite3.Error:
        return -1


def verdict(path):
    try:
        with contextlib.closing(
                sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=30)) as db:
            return db.execute("SELECT value FROM rtl_meta WHERE key = 'completeness'").fetchone()[0]
    except (sqlite3.Error, TypeError):
        return ""


def log_size(node):
    return os.path.getsize(node.log.name)


def log_since(node, at):
    with open(node.log.name, "rb") as log:
        log.seek(at)
        return log.read().decode(errors="replace")


def store_one(node, what):
    """The collector comes again, ends what was left, and another session is stored all the same."""
    at = log_size(node)
    node.start()
    if node.process.poll() is not None:
        fail("%s: the collector ended with %d" % (what, node.process.returncode))
    shim = node.shim(1, 100, 0)
    if shim.wait(timeout=DEADLINE_S) != 0:
        fail("%s: a shim ended with %d" % (what, shim.returncode))
    shim.stdout.close()
    wait_for("the end of " + what, lambda: "left alone" in log_since(node, at) or
             " closed: " in log_since(node, at))
    stop(node)
    if node.process.returncode != 0:
        fail("%s: the collector ended with %d: %s" %
             (what, node.process.returncode, log_since(node, at)))
    said = log_since(node, at)
    line = verdict(node.database)
    if line and line.replace("SIMULATED ", "").startswith("complete"):
        stored = int(COMPLETE.search(line).group(2))
        if stored != rows(node.database) or stored < DISPATCHES:  # there was no other rank
            fail("%s: %s, with %d rows" % (what, line, rows(node.database)))
    return "set aside" in said, "left alone" in said


def store(args, node):
    node.start()
    # The rank lives on, and all it sent is acknowledged: what the file loses is nowhere else.
    shim = node.shim(0, 100 * DISPATCHES, 20_000)
    wait_for("rows", lambda: rows(node.database) >= DISPATCHES)
    node.kill()
    reap(shim)
    kept = os.path.join(node.work, "kept.db")
    for suffix in ("", "-wal"):
        shutil.copyfile(node.database + suffix, kept + suffix)
    aside = alone = 0
    for i in range(args.flips):
        target = "-wal" if i % 2 else ""
        size = os.path.getsize(kept + target)
        at = random.randrange(32) if target and i % 8 == 1 else list(offsets(size, i % 4 + 1))[-1]
        copy_to(node, kept, node.database)
        flip(node.database + target, at, i % 8 == 7)
        went, stayed = store_one(node, "byte %d of the %s" % (at, "log" if target else "database"))
        aside += went
        alone += stayed
    print("store: %d flips in %d and %d bytes, %d times set aside, %d times left alone" %
          (args.flips, os.path.getsize(kept), os.path.getsize(kept + "-wal"), aside, alone))


def stop(node):
    if node.process and node.process.poll() is None:
        node.kill(signal.SIGTERM)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["read", "store"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--flips", type=int, default=20)
    parser.add_argument("--long", type=int, help="flips when RTL_TEST_LONG is set")
    parser.add_argument("--seed", type=int, default=4)
    args = parser.parse_args()
    if args.long and is_long():
        args.flips = args.long
    random.seed(args.seed)
    with node_of(args.build, "flips") as node:
        {"read": read, "store": store}[args.mode](args, node)


if __name__ == "__main__":
    main()
