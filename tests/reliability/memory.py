#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An allocation of the whole daemon fails: it goes on, or ends in order with a line of why.

usage: memory.py --build DIR [--sites N] [--shard I/OF] [--seed N]

What is tried are sites, each a chain of callers that ends in an allocation: --sites of them, or with
RTL_TEST_LONG all that a first life without failures meets, or the I-th part of OF.
Each time a rank comes and goes, and a tool asks; then a collector with all its memory finishes
what is left. No process dies of a signal, the rank's exit status is its own, and "complete" is said only
of what is.
"""
import argparse
import os
import random
import shutil
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
    try:
        out, _ = job.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        job.kill()
        fail("the job did not end")
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


def life(args, folder, site, at, so_many):
    """What the collector said of its memory; the last word is whether it had not even started."""
    os.mkdir(folder)
    node = Node(args.build, folder)
    what = "site %d, time %d (%d)" % (site, at, so_many)
    sites = os.path.join(folder, "sites")
    try:
        node.start("collectord-memory",
                   {"RTL_MALLOC": "%d,%d,%d" % (site, at, so_many), "RTL_MALLOC_SITES": sites})
        job = rank(node)
        kernels = told(job)
        ask(node)
        ended = stop(node, what)
        before = lines(node)
        node.start()
        wait_for("it to be ready", lambda: lines(node) > before)
        stop(node, what)
        check(node, kernels, what)
        with open(sites, encoding="ascii") as file:
            has_failed = int(file.readline())
            return {int(s): int(n) for s, n in map(str.split, file)}, has_failed, ended
    finally:
        node.end(sys.exc_info()[0])
        shutil.rmtree(folder)


def check(node, kernels, what):
    if not node.has("SELECT 1 FROM rtl_account"):
        return  # no process was let in
    dispatched, stored, accounted = node.sql("""SELECT sum(dispatched), sum(stored),
        sum(skipped + stored + outstanding + dropped + torn + pending) FROM rtl_account""")[0]
    if stored != node.sql("SELECT count(*) FROM rocpd_op")[0][0] or dispatched != accounted or \
            node.sql("PRAGMA integrity_check") != [("ok",)]:
        fail("%s: %s in the books" % (what, (dispatched, stored, accounted)))
    is_complete = node.has("SELECT 1 FROM rtl_meta WHERE key = 'complete' AND value = 1")
    if stored > kernels or (is_complete and (dispatched, stored) != (kernels, kernels)):
        fail("%s: %d dispatched; in the books %d, %d stored, %s" %
             (what, kernels, dispatched, stored, "complete" if is_complete else "INCOMPLETE"))


def to_try(sites, args):
    """(site, which of its allocations), by name: shards know nothing of each other's first life."""
    for site in sorted(sites):
        if site % args.of == args.shard - 1:
            yield site, random.choice((1, sites[site]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--sites", type=int, default=12, help="to try, unless RTL_TEST_LONG is set")
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    args.shard, args.of = map(int, args.shard.split("/"))
    random.seed(args.seed)
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_RUNTIME_DIR"] = work
        os.environ["RTL_JOB_ID"] = "memory"
        sites, _, _ = life(args, os.path.join(work, "whole"), 0, 0, 1)
        if len(sites) < 1000:
            fail("only %d sites are known: the stacks can't be followed" % len(sites))
        chosen = list(to_try(sites, args))
        if not is_long():
            chosen = random.sample(chosen, args.sites)
        failed = ended = wrong = 0
        for i, (site, at) in enumerate(chosen):
            try:
                _, has_failed, has_ended = life(args, os.path.join(work, str(i)), site, at,
                                                3 if i % 2 else 1)
            except SystemExit:  # said; the others are tried all the same
                wrong += 1
                continue
            failed += has_failed
            ended += has_ended
        if wrong:
            fail("%d of %d sites" % (wrong, len(chosen)))
        # On a busy machine threads meet in another order, and fewer do.
        if failed < len(chosen) // 3:
            fail("only %d of %d sites came up again" % (failed, len(chosen)))
        print("memory: %d of %d sites with %d allocations tried, %d failed, the collector did not "
              "start %d times" % (len(chosen), len(sites), sum(sites.values()), failed, ended))


if __name__ == "__main__":
    main()
