#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how many rows a second the service stores from the recorders of ranks that have ended, of one tenant and of two
at once, in turns; and, for comparison, how much faster two busy loops are than one. Fails where a dispatch is lost.

usage: tenant_fill.py --build DIR [--turns N]
"""
import argparse
import contextlib
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

from neighbours import worker_of
from node import fail, reap, wait_for
from service import Service, User, enter

RANKS = 4  # of each tenant, in one session
DISPATCHES = 120_000  # of each rank: a recorder has room for 131,072 slots
RATE_HZ = 100_000  # of each rank: none of them has ended before their workers stand still
STORED = "SELECT count(*) FROM rocpd_op"
READ = "SELECT count(*) FROM rtl_process WHERE drained = 1"
DISPATCHED = "SELECT sum(dispatched) FROM rtl_account"
LOOP = "for i in range(20_000_000): pass"


def rows_a_second(build, tenants):
    service = Service(build)
    try:
        process = service.start()
        users = [User("tenant %d" % i, 62300 + i) for i in range(tenants)]
        shims = [service.spawn(user, "fill", dispatches=DISPATCHES, rate=RATE_HZ) for user in users for _ in range(RANKS)]
        paths = []

        def are_welcome():
            paths[:] = [s["database"] for user in users for s in service.sessions(user).get(user.uid, [])
                        if s["processes"] == RANKS and s["database"]]
            return len(paths) == tenants

        wait_for("all ranks to be welcomed", are_welcome)
        workers = [worker_of(process.pid, service.store, user) for user in users]
        with contextlib.ExitStack() as stack:
            databases = [stack.enter_context(contextlib.closing(sqlite3.connect(
                "file:%s?mode=ro" % path, uri=True, timeout=60))) for path in paths]

            def count(query):
                return sum(database.execute(query).fetchone()[0] for database in databases)

            count(STORED)
            for worker in workers:
                os.kill(worker, signal.SIGSTOP)
            # A rank prints what it has dispatched only when all of it is acknowledged.
            until = time.monotonic() + DISPATCHES / RATE_HZ + 1
            wait_for("all ranks to have dispatched", lambda: time.monotonic() > until)
            for shim in shims:
                reap(shim)
            before = count(STORED)
            begin = time.monotonic()
            for worker in workers:
                os.kill(worker, signal.SIGCONT)
            wait_for("all recorders to be read", lambda: count(READ) == len(shims), 0.02)
            seconds = time.monotonic() - begin
            stored, dispatched = count(STORED), count(DISPATCHED)
        if stored != dispatched or dispatched > len(shims) * DISPATCHES:
            fail("%d dispatched, %d stored" % (dispatched, stored))
        return (stored - before) / seconds
    finally:
        service.end(show=sys.exc_info()[0] is not None)


def loops_a_second(count):
    begin = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(count)]
    for loop in loops:
        loop.wait()
    return count / (time.monotonic() - begin)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    enter()
    rows = {1: [], 2: []}
    loops = []
    for _ in range(options.turns):
        for tenants, all_rows in rows.items():
            all_rows.append(rows_a_second(options.build, tenants))
        loops.append(loops_a_second(2) / loops_a_second(1))
    for tenants, all_rows in rows.items():
        print("%d: %.0f rows a second [%.0f-%.0f]" % (tenants, statistics.median(all_rows), min(all_rows), max(all_rows)))
    print("two tenants to one: %.2f; two loops to one: %.2f" % (
        statistics.median(two / one for one, two in zip(rows[1], rows[2])), statistics.median(loops)))


if __name__ == "__main__":
    main()
