#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The processor time that the service takes for a row of one tenant, two and eight, in turns: they share eight ranks, or have
some each. Measures; fails where a dispatch is lost.

usage: tenant_cost.py --build DIR [--each RANKS] [--turns N] [--dispatches N] [--rate HZ]
"""
import argparse
import os
import signal
import statistics
import sys

from node import fail
from service import Service, User, enter
from tenants import check_stored

TENANTS = (1, 2, 8)
SHARED_RANKS = 8


def microseconds_a_row(build, tenants, ranks, dispatches, rate):
    service = Service(build)
    try:
        process = service.start()
        users = [User("tenant %d" % i, 62300 + i) for i in range(tenants)]
        jobs = [(users[i % tenants], "job %d" % i) for i in range(ranks)]
        shims = [service.spawn(user, job, "--polite", dispatches=dispatches, rate=rate) for user, job in jobs]
        rows = sum(check_stored(service, shim, user, job) for shim, (user, job) in zip(shims, jobs))
        process.send_signal(signal.SIGTERM)
        _, status, used = os.wait4(process.pid, 0)  # of the supervisor, and of the processes that it has waited for
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            fail("told to end, the collector ended with %d" % process.returncode)
        return (used.ru_utime + used.ru_stime) * 1e6 / rows
    finally:
        service.end(show=sys.exc_info()[0] is not None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--turns", type=int, default=5, help="with each number of tenants (5)")
    parser.add_argument("--each", type=int, help="ranks of each tenant (the tenants share %d)" % SHARED_RANKS)
    parser.add_argument("--dispatches", type=int, default=200_000, help="of each rank (200,000)")
    parser.add_argument("--rate", type=int, default=20_000, help="dispatches a second of each rank (20,000)")
    options = parser.parse_args()
    enter()
    taken = {tenants: [] for tenants in TENANTS}
    for _ in range(options.turns):
        for tenants, all_taken in taken.items():
            ranks = options.each * tenants if options.each else SHARED_RANKS
            all_taken.append(microseconds_a_row(options.build, tenants, ranks, options.dispatches, options.rate))
    print("| tenants | processor time a row | to one tenant |\n|---|---|---|")
    for tenants, all_taken in taken.items():
        print("| %d | %.2f us [%.2f-%.2f] | %.2f |" % (
            tenants, statistics.median(all_taken), min(all_taken), max(all_taken),
            statistics.median(a / one for a, one in zip(all_taken, taken[1]))))


if __name__ == "__main__":
    main()
