#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Disks that are slow, or full: everything dispatched is stored, or counted.

usage: disk.py MODE --build DIR [--cycles N]
  slow   ten synthetic shims of 5,000 dispatches over a disk of 3.2, 0.4 and 0.1 MB/s, all at
         once; over the slowest 500, which keep it busy for as long, unless RTL_TEST_LONG is set
  full   a small tmpfs is filled and freed again under load (needs root)
  over   it stays full for longer than --disk-wait: what is given up is counted, no exit status
         changes, and what comes when it is freed is stored (needs root)
  start  a collector starts on a disk that has no more room than its reserve takes (needs root)
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time

from node import DEADLINE_S, Node, fail, is_long, told, wait_for
from oracle import Oracle

SHIMS, DISPATCHES, DISPATCHES_SHORT = 10, 5_000, 500
RATES = [3_200_000, 400_000, 100_000]  # bytes a second
DISK_BYTES = 64 << 20
RESERVE_BYTES = 16 << 20  # STORE_RESERVE_BYTES of proto/base/limits.h


def stop(node):
    if node.process and node.process.poll() is None:
        node.kill(signal.SIGTERM)


def slow(args, work):
    nodes = []
    try:
        for rate in RATES:
            folder = os.path.join(work, str(rate))
            os.mkdir(folder)
            node = Node(args.build, folder)
            nodes.append(node)
            node.start("collectord-faults", {"RTL_VFS": "bytes_per_second=%d" % rate})
            is_short = rate == RATES[-1] and not is_long()
            node.dispatches = DISPATCHES_SHORT if is_short else DISPATCHES
            node.shims = [node.shim(rank, node.dispatches, 0) for rank in range(SHIMS)]
        for rate, node in zip(RATES, nodes):
            expected = sum(told(shim) for shim in node.shims)
            wait_for("the end at %d B/s" % rate, lambda n=node: n.drained(SHIMS))
            dispatched, stored, _, dropped, _, _ = Oracle(node).check()
            if expected != SHIMS * node.dispatches or dispatched != expected or \
                    stored + dropped != expected:
                fail("%d B/s: %d dispatched, %d stored, %d dropped" %
                     (rate, expected, stored, dropped))
            print("slow: %.1f MB/s: %d dispatched, %d stored, %d dropped" %
                  (rate / 1e6, expected, stored, dropped), flush=True)
    finally:
        for node in nodes:
            stop(node)


def log_has(node, text, count):
    with open(node.log.name, "rb") as log:
        return log.read().count(text.encode()) >= count


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            return


def rows(node):
    return node.sql("SELECT count(*) FROM rtl_dispatch")[0][0]


def cycle(node, filler, number):
    """Seconds from room to rows."""
    fill(filler)
    wait_for("trouble", lambda: log_has(node, "degraded: the disk is full", number))
    wait_for("the state in rtl ctl status", lambda: "degraded" in status(node))
    before = rows(node)
    os.unlink(filler)
    start = time.monotonic()
    wait_for("rows again", lambda: rows(node) > before)
    seconds = time.monotonic() - start
    wait_for("the end of trouble", lambda: log_has(node, "storing again", number))
    return seconds


def status(node):
    return subprocess.run([node.program("rtl"), "ctl", "--socket", node.socket, "status"],
                          capture_output=True, text=True, timeout=DEADLINE_S).stdout


def mount(work):
    disk = os.path.join(work, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % DISK_BYTES, "rtl-test", disk],
                   check=True)
    return disk


def full(args, work):
    disk = mount(work)
    node = Node(args.build, work)
    node.database = os.path.join(disk, "all.db")
    filler = os.path.join(disk, "filler")
    shims = []
    try:
        node.start()
        shims = [node.shim(rank, 100_000_000, 2_000) for rank in range(2)]
        wait_for("rows", lambda: node.has_rows(1))
        took = [cycle(node, filler, i + 1) for i in range(args.cycles)]
        for shim in shims:
            shim.kill()
            shim.wait()
            shim.stdout.close()
        wait_for("the drain", lambda: node.drained(2))
        totals = Oracle(node).check()
        if totals[0] != sum(totals[1:]):
            fail("after %d cycles: %s" % (args.cycles, totals))
        print("full: %d cycles, %d dispatched, %d stored, %d dropped; rows again after at most "
              "%.2f s" % (args.cycles, totals[0], totals[1], totals[3], max(took)), flush=True)
    finally:
        for shim in shims:
            if shim.poll() is None:
                shim.kill()
                shim.wait()
        stop(node)
        subprocess.run(["umount", "-l", disk], check=False)
        if sys.exc_info()[0]:
            with open(node.log.name, "rb") as log:
                sys.stdout.write(log.read().decode(errors="replace")[-4000:])


EXIT_STATUS = 7  # of the program, which is not to change
RANKS = 2


def run_job(node, steps):
    """rtl run of real ranks, by way of a shell that ends with a status of its own."""
    line = "%s --ranks %d --steps %d; test $? = 0 && exit %d" % (
        node.program("rtl-demo"), RANKS, steps, EXIT_STATUS)
    return subprocess.Popen(
        [node.program("rtl"), "run", "--socket", node.socket, "--device", "soft", "--", "sh", "-c",
         line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(job):
    """What each rank dispatched, and the last words of rtl run."""
    out, err = job.communicate(timeout=DEADLINE_S)
    if job.returncode != EXIT_STATUS:
        fail("rtl run ended with %d, not %d: %s" % (job.returncode, EXIT_STATUS, err))
    told_by = {}
    for line in out.splitlines():
        if line.startswith("dispatched "):
            word = dict(pair.split("=") for pair in line.split()[1:])
            told_by[int(word["rank"])] = int(word["kernels"])
    return told_by, err.splitlines()[-1]


def books(node, first):
    """Of processes from @first on, by rank: dispatched, stored, dropped, of that for want of room
    on the disk, and of it in the recorder."""
    return {row[0]: row[1:] for row in node.sql("""SELECT rank, sum(dispatched), sum(stored),
        sum(dropped), %s, %s FROM rtl_account a JOIN rtl_process p ON p.id = process_id
        WHERE p.id >= %d GROUP BY process_id""" % (*(
            """coalesce((SELECT sum(count) FROM rtl_loss l WHERE l.process_id = a.process_id
            AND reason = 'dropped_%s'), 0)""" % why for why in ("disk_full", "recorder_full")),
                                                   first))}


def check_given_up(node, told_by, line):
    """How much of it all."""
    lost = 0
    for rank, (dispatched, stored, dropped, disk, recorder) in books(node, 1).items():
        if dispatched != told_by[rank] or stored + dropped != dispatched or \
                disk + recorder != dropped or not disk:
            fail("rank %d: %d dispatched; in the books %s" %
                 (rank, told_by[rank], books(node, 1)[rank]))
        lost += disk
    if "INCOMPLETE: %d dispatched" % sum(told_by.values()) not in line or \
            "disk_full %d" % lost not in line:
        fail("%d of %s lost, and the last words are %r" % (lost, told_by, line))
    if node.sql("PRAGMA integrity_check") != [("ok",)]:
        fail("integrity_check")
    return lost


def over(args, work):
    disk = mount(work)
    node = Node(args.build, work)
    node.database = os.path.join(disk, "all.db")
    filler = os.path.join(disk, "filler")
    jobs = []
    try:
        node.start(options=["--disk-wait", "2"])
        jobs.append(run_job(node, 3_000))
        wait_for("rows", lambda: node.has_rows(0) and node.has_rows(1))
        fill(filler)
        told_by, line = finished(jobs[0])
        lost = check_given_up(node, told_by, line)
        os.unlink(filler)
        wait_for("room", lambda: "degraded" not in status(node))
        os.environ["RTL_JOB_ID"] = "later"
        jobs.append(run_job(node, 50))
        later, _ = finished(jobs[1])
        for rank, row in books(node, RANKS + 1).items():
            if row != (later[rank], later[rank], 0, 0, 0):
                fail("after it was freed: %d dispatched; %s" % (later[rank], row))
        print("over: %d dispatched, %d of them counted as disk_full; after that %d, all stored" %
              (sum(told_by.values()), lost, sum(later.values())), flush=True)
    finally:
        for job in jobs:
            if job.poll() is None:
                job.kill()
                job.wait()
        node.end(sys.exc_info()[0])
        subprocess.run(["umount", "-l", disk], check=False)


def starts_and_stops(node, store):
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([node.program("collectord"), "--private", "--socket", node.socket, "--db-dir", store],
                                   stderr=log)
        wait_for("the collector", lambda: process.poll() is not None or b"listening on" in os.pread(log.fileno(), 4096, 0))
        process.terminate()
        return process.wait() == 0


def start(args, work):
    disk = mount(work)
    node = Node(args.build, work)
    store, filler = os.path.join(disk, "store"), os.path.join(disk, "filler")
    os.mkdir(store)
    try:
        if not starts_and_stops(node, store):
            fail("no collector starts on an empty disk")
        for spare_bytes in (0, 4096):
            free = os.statvfs(disk)
            with open(filler, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize - RESERVE_BYTES - spare_bytes)
            if not starts_and_stops(node, store):
                fail("no collector starts where %d bytes are free beside its reserve" % spare_bytes)
            os.unlink(filler)
        print("start: a collector starts where its reserve takes all that is free", flush=True)
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["slow", "full", "over", "start"])
    parser.add_argument("--build", required=True)
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--long", type=int, help="cycles when RTL_TEST_LONG is set")
    args = parser.parse_args()
    if args.long and is_long():
        args.cycles = args.long
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o711)  # what a collector is started by may give it a user of its own
        os.environ["XDG_RUNTIME_DIR"] = work
        os.environ["RTL_JOB_ID"] = "disk"
        {"slow": slow, "full": full, "over": over, "start": start}[args.mode](args, work)


if __name__ == "__main__":
    main()
