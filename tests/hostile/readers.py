#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients that ask without end, and clients that do not read the answers: commits go on, memory is bounded.

usage: readers.py --build DIR [--askers N] [--rows N]

Some hundred watchers of one user with many ranks, most of which never read what they are told,
`rtl stat` beside them, and long questions to the databases while they are written.
"""
import socket
import subprocess
import socket
import sys
import time

import wire
from neighbours import (HOSTILE_UID, ask, connect, fail, run, wait_for)

RANKS = 200
TOOLS = 5
QUESTION = wire.frame(stat_request={"version_min": 1, "version_max": 1})


def never_read(pipe, path, count):
    """Asks on so many connections for as long as they take it; how often they were asked."""
    held, asked = [], 0
    for _ in range(count):
        held.append(connect(path))
        held[-1].sendall(QUESTION)
        held[-1].setblocking(False)
    pipe.send("there")
    while not pipe.poll():
        for connection in held:
            try:
                asked += connection.send(QUESTION * 500) // len(QUESTION)
            except OSError:  # it takes no more, or has hung up
                pass
        time.sleep(0.001)  # the pace of a client that has time
    pipe.recv()
    return asked


def read_some(pipe, path):
    """Asks faster than it reads: how much it has read until it was sent away."""
    count = 0
    with connect(path) as connection:
        connection.settimeout(None)  # else Python waits before it sends
        pipe.send("there")
        try:
            while not pipe.poll():
                try:
                    connection.send(QUESTION, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
                count += len(connection.recv(64))
                time.sleep(0.001)
        except (BrokenPipeError, ConnectionResetError):
            pass
    return count


def other(_pipe, path):
    return [ask(path) for _ in range(20)]


LONG = """
import sqlite3, sys, time
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True, isolation_level=None, timeout=60)
db.execute("BEGIN")
while True:
    print(*db.execute("SELECT count(*), sum(end - start) FROM rocpd_op a").fetchone(), flush=True)
    time.sleep(0.05)  # its snapshot stays
"""


def commits_go_on(tenant, rows):
    before = tenant.open_sql("SELECT max(rowid) FROM rtl_dispatch")[0][0]
    wait_for("%d rows more of uid %d" % (rows, tenant.uid), lambda: tenant.open_sql(
        "SELECT max(rowid) FROM rtl_dispatch")[0][0] - before >= rows)


def test(street, arguments):
    street.start()
    street.honest()
    count = street.fewer(RANKS)
    crowd = street.popen(HOSTILE_UID, [street.program("liar"), street.socket, "none", "0",
                                       str(count)], job="watched")
    for _ in range(count):
        if crowd.stdout.readline() != "welcomed\n":
            fail("a rank that is to be watched is not welcomed")
    with street.attack("%d that ask and do not read" % arguments.askers) as attack:
        askers = [street.neighbour(HOSTILE_UID, never_read, arguments.askers)]
        askers += [street.neighbour(HOSTILE_UID, read_some) for _ in range(2)]
        for one in askers:
            if one.result() != "there":
                fail("an asker is not there")
        tools = [street.popen(HOSTILE_UID, [street.program("rtl"), "stat", "--socket",
                                            street.socket], job="watched") for _ in range(TOOLS)]
        readers = [street.popen(uid, [sys.executable, "-c", LONG, tenant.database], job="honest")
                   for uid, tenant in zip((0, 0), street.tenants)]
        for reader in readers:
            if not reader.stdout.readline():
                fail("a long question has no answer")
        for tenant in street.tenants:
            commits_go_on(tenant, arguments.rows)
        answers = street.neighbour(HOSTILE_UID + 1, other).result()
        attack.go_on()
        rss = street.rss_mib("VmHWM")
        asked = 0
        for one in askers:
            one.tell()
            asked += one.result()
            one.end()
    for process in tools + readers + [crowd]:
        process.kill()
        process.wait()
    words = street.check_honest()
    street.check_fds()
    street.check_rss(rss, "%d that do not read" % arguments.askers)
    print("%d watchers of %d ranks that do not read, asked for %d times; 2 that read slowly; %d "
          "rtl stat; a long question to each of %d databases: RSS at most %d MiB; %d rows more of "
          "each honest rank meanwhile; another uid is answered after at most %.0f ms; %s" %
          (arguments.askers, count, asked, TOOLS, len(readers), rss, arguments.rows,
           1000 * max(answers), words))
    street.stop()


if __name__ == "__main__":
    run(test, askers=(100, 800), rows=(250, 100_000))
