#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The n-th allocation of the whole daemon fails: it goes on, or ends in order with a line of why.

usage: memory.py --build DIR [--tries N] [--long N] [--seed N]

Each time a rank comes and goes, and a tool asks; then a collector with all its memory finishes
what is left. Nobody dies of a signal, the rank's exit status is its own, and "complete" is said only
of what is.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile

from node import DEADLINE_S, Node, fail, is_long, wait_for


def rank(node):
    return subprocess.Popen(
        [node.program("rtl"), "run", "--socket", node.socket, "--device", "soft", "--",
         node.program("rtl-demo"), "--ranks", "1", "--steps", "20"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def told(job):
    """What the rank says it dispatched; it never fails for our sake."""
    out, _ = job.communicate(timeout=DEADLINE_S)
    if job.returncode != 0:
        fail("the job ended with %d: %s" % (job.returncode, out))
    for line in out.splitlines():
        if line.startswith("dispatched "):
            return int(line.rsplit("=", 1)[1])
    fail("the job did not say what it dispatched: %s" % out)
    return 0


def ask(node):
    for words in (["ctl", "status"], ["stat", "-n", "1"], ["ls"]):
        done = subprocess.run([node.program("rtl"), *words, "--socket", node.socket],
                              capture_output=True, text=True, timeout=DEADLINE_S,
                              stdin=subprocess.DEVNULL)
        if done.returncode not in (0, 1):
            fail("rtl %s ended with %d: %s" % (words[0], done.returncode, done.stderr))


def stop(node, what):
    """It ends with 0, or had ended with 1 and has said why; never by a signal."""
    at_start = node.process.poll() is not None
    if not at_start:
        node.kill(signal.SIGTERM)
    if node.process.returncode not in ((0, 1) if at_start else (0,)):
        fail("%s: the collector ended with %d" % (what, node.process.returncode))
    return at_start


def lines(node):
    with open(node.log.name, "rb") as log:
        return log.read().count(b"listening on ")


def life(args, folder, at, so_many):
    """1: the collector had not even started."""
    os.mkdir(folder)
    node = Node(args.build, folder)
    what = "allocation %d (%d)" % (at, so_many)
    count = os.path.join(folder, "count")
    try:
        node.start("collectord-memory",
                   {"RTL_MALLOC": "%d,%d" % (at, so_many), "RTL_MALLOC_COUNT": count})
        job = rank(node)
        kernels = told(job)
        ask(node)
        ended = stop(node, what)
        before = lines(node)
        node.start()
        wait_for("it to be ready", lambda: lines(node) > before)
        stop(node, what)
        check(node, kernels, what)
        with open(count, encoding="ascii") as file:
            return ended, int(file.read())
    finally:
        node.end(sys.exc_info()[0])


def check(node, kernels, what):
    if not node.has("SELECT 1 FROM rtl_account"):
        return  # nobody was let in
    dispatched, stored, accounted = node.sql("""SELECT sum(dispatched), sum(stored),
        sum(skipped + stored + outstanding + dropped + torn + pending) FROM rtl_account""")[0]
    if stored != node.sql("SELECT count(*) FROM rocpd_op")[0][0] or dispatched != accounted or \
            node.sql("PRAGMA integrity_check") != [("ok",)]:
        fail("%s: %s in the books" % (what, (dispatched, stored, accounted)))
    is_complete = node.has("SELECT 1 FROM rtl_meta WHERE key = 'complete' AND value = 1")
    if stored > kernels or (is_complete and (dispatched, stored) != (kernels, kernels)):
        fail("%s: %d dispatched; in the books %d, %d stored, %s" %
             (what, kernels, dispatched, stored, "complete" if is_complete else "INCOMPLETE"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--tries", type=int, default=12)
    parser.add_argument("--long", type=int, help="tries when RTL_TEST_LONG is set")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    tries = args.long if args.long and is_long() else args.tries
    random.seed(args.seed)
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_RUNTIME_DIR"] = work
        os.environ["RTL_JOB_ID"] = "memory"
        _, count = life(args, os.path.join(work, "whole"), 0, 1)
        ended = 0
        for i in range(tries):
            # One from each part of its life, wherever in it.
            at = 1 + i * count // tries + random.randrange(max(1, count // tries))
            ended += life(args, os.path.join(work, str(i)), at, 3 if i % 2 else 1)[0]
        print("memory: %d of %d allocations, the collector did not start %d times" %
              (tries, count, ended))


if __name__ == "__main__":
    main()
