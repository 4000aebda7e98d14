#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stop the collector, or ranks in the middle of a write: no other process waits for them.

usage: stops.py MODE --build DIR [--shims N] [--rate N] [--seconds S]
  collector  SIGSTOP for 2 s (10 with --long) under load: nothing is dropped, and in the shim no dispatching thread
             makes a system call that may wait
  rank       ranks stop themselves at fault points, in mid-slot, mid-frame and mid-send; the others'
             frames are acknowledged all the same; then the stopped ones go on, or are killed
"""
import argparse
import signal
import time

from node import FOR_EVER, STALL_S_MAX, fail, is_long, node_of, reap, said, told_to_end, wait_for
from oracle import Oracle

# Where a rank stops, and at which passing: records and marks come fast, frames do not.
POINTS = {"after_dispatched": 8_000, "after_submitted": 8_000, "after_done": 8_000,
          "mid_label": 10, "before_publish": 10, "mid_free": 10, "mid_send": 10}


def acks_of(words):
    """The worst of the ranks, in ms."""
    return tuple(max(w["acks"][name] for w in words) / 1000
                 for name in ("p50_us", "p99_us", "max_us"))


def has_stopped(process):
    with open("/proc/%d/stat" % process.pid, encoding="utf-8") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


def stop_collector(node, args):
    node.start()
    shims = [node.shim(rank, FOR_EVER, args.rate, extra=["--acks", "--calls"])
             for rank in range(args.shims)]
    for rank in range(args.shims):
        wait_for("rows of rank %d" % rank, lambda r=rank: node.has_rows(r))
    node.process.send_signal(signal.SIGSTOP)
    for shim in shims:
        shim.send_signal(signal.SIGUSR1)  # from here on at full rate, whatever fills up
    time.sleep(args.seconds)  # the fault itself
    frames = node.frames()
    # A machine that has too much to do might never catch up with the full rate.
    for shim in shims:
        shim.terminate()
    node.process.send_signal(signal.SIGCONT)
    begin = time.monotonic()
    wait_for("a commit", lambda: node.frames() > frames, 0.002)
    first = time.monotonic() - begin
    words = told_to_end(shims)
    expected = sum(w["dispatched"]["kernels"] for w in words)
    wait_for("every shim to be drained", lambda: node.drained(args.shims))
    Oracle(node).check_all_stored(expected)
    calls = {name: sum(w["calls"][name] for w in words) for name in ("futex", "others")}
    print("stopped for %d s: %d shims, %d dispatched, %d stored, 0 dropped; in the shim dispatching "
          "threads made %d futex calls, %d others that may wait; first commit after %.0f ms; the "
          "longest wait for an Ack %.1f s" %
          (args.seconds, args.shims, expected, expected, calls["futex"], calls["others"],
           1000 * first, acks_of(words)[2] / 1000))
    if calls["futex"] or calls["others"]:
        fail("dispatching threads waited: %s" % calls)
    if max(w["acks"]["max_us"] for w in words) < 0.9e6 * args.seconds:
        fail("no frame waited for the collector: it was not stopped")


def stop_ranks(node, args):
    node.start()
    oracle = Oracle(node)
    stopped = []
    for how in ("continue", "kill"):
        for point, count in POINTS.items():
            shim = node.shim(len(stopped), FOR_EVER, args.rate, "synthetic-shim-faults",
                             {"RTL_FAULT": "%s:%d:stop" % (point, count)})
            stopped.append((how, point, shim))
    for how, point, shim in stopped:
        wait_for("a rank to stop at " + point, lambda s=shim: has_stopped(s))
    others = [node.shim(len(stopped) + i, FOR_EVER, args.rate, extra=["--acks"])
              for i in range(args.shims)]
    for i in range(args.shims):
        wait_for("rows beside the stopped", lambda r=len(stopped) + i: node.has_rows(r))
    time.sleep(args.seconds)  # how long they stand still
    words = told_to_end(others)
    for how, _, shim in stopped:
        if how == "kill":
            reap(shim)
        else:
            # Else it would make up for all that it did not dispatch meanwhile, at once.
            shim.terminate()
            shim.send_signal(signal.SIGCONT)
    expected = sum(w["dispatched"]["kernels"] for w in words)
    expected += sum(said(shim)["dispatched"]["kernels"] for how, _, shim in stopped
                    if how == "continue")
    wait_for("all to be drained", lambda: node.drained(len(stopped) + args.shims))
    oracle.check_identity()
    lived = node.sql("""SELECT sum(dispatched), sum(stored) FROM rtl_account
        JOIN rtl_process p ON p.id = process_id WHERE ended <> 'killed'""")[0]
    if lived != (expected, expected):
        fail("surviving ranks dispatched %d, the database has %s" % (expected, lived))
    p50, p99, most = acks_of(words)
    print("%d ranks stopped in mid-write for %d s: the %d others' frames were acknowledged after "
          "p50 %.0f ms, p99 %.0f ms, max %.0f ms; then all is stored, or outstanding of the killed" %
          (len(stopped), args.seconds, args.shims, p50, p99, most))
    if most > 1000 * STALL_S_MAX:
        fail("a frame waited for %.1f s" % (most / 1000))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["collector", "rank"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--shims", type=int, default=8)
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--long", type=int, help="--seconds when RTL_TEST_LONG is set")
    args = parser.parse_args()
    if args.long and is_long():
        args.seconds = args.long
    with node_of(args.build, "stops") as node:
        {"collector": stop_collector, "rank": stop_ranks}[args.mode](node, args)


if __name__ == "__main__":
    main()
