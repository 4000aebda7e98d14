#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes that fork without end, and pass their connections on: counts return to where they were.

usage: forks.py --build DIR [--processes N] [--forks N]
"""
import os
import signal
import socket
import sys
import time

import wire
from memfds import BOOT_ID, memfd
from neighbours import HOSTILE_UID, Database, connect, fail, receive, run, wait_for
from node import DEADLINE_S

STORM_UID, GIVER_UID, TAKER_UID = HOSTILE_UID, HOSTILE_UID + 1, HOSTILE_UID + 2
FORKERS = 4
# As long as all tests wait for something, for so many ranks of those that come one after the other.
RANKS_IN_TIME = 200
DEFINES = wire.frame(defines={"shapes": [{"id": 1, "gpu": 0, "queue": 0, "symbol": 1,
                                          "workgroup": [1, 1, 1], "grid": [1, 1, 1]}]})


def hello(path, job):
    """A connection that was welcomed as a rank, of this process. None: this user's too often."""
    token = os.urandom(16)
    fd = memfd(token)
    connection = connect(path)
    try:
        socket.send_fds(connection, [wire.frame(hello={
            "version_min": 1, "version_max": 1, "token": token, "boot_id": BOOT_ID, "job": job,
            "recorder_bytes": os.fstat(fd).st_size,
            "gpus": [{"gpu_id": 0, "tick_hz": 10 ** 9}]})], [fd])
        body, said = receive(connection)
    except (BrokenPipeError, ConnectionResetError):
        body, said = None, {}
    os.close(fd)
    if body is None:
        return None
    if body != "welcome":
        fail("not welcomed: %s %s" % (body, said))
    return connection


def dispatch(connection, number):
    """One dispatch, in a frame of its own; what was answered."""
    connection.sendall(DEFINES + wire.frame(number=number, dispatches={
        "n": 1, "shape": [1], "seq": [number - 1], "start_tick": [1], "duration_ticks": [1],
        "submit_base_ns": 1, "submit_delta_ns": [0], "tid_from": [0], "tid": [1]}))
    return receive(connection)[0]


def reap(pid):
    status = os.waitpid(pid, 0)[1]
    if status:
        fail("a child ended with %d" % status)


def in_child(work, *arguments):
    """fork() without exec: @work, and nothing of ours behind it."""
    pid = os.fork()
    if not pid:
        try:
            work(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            print("a child: %r" % error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return pid


def ranks(_pipe, path, count):
    """So many processes, one after the other, each a rank with one dispatch."""
    def rank():
        deadline = time.monotonic() + DEADLINE_S
        connection = hello(path, "storm")
        while not connection:  # as a shim does
            if time.monotonic() > deadline:
                os._exit(3)
            time.sleep(0.01)
            connection = hello(path, "storm")
        if dispatch(connection, 1) != "ack":
            os._exit(2)
    keeper = hello(path, "storm")  # one stays, or the session would end between two of them
    for _ in range(count):
        reap(in_child(rank))
    if dispatch(keeper, 1) != "ack":
        fail("the rank that stayed is not acknowledged")
    return count + 1


class Storm:
    """Ranks that fork @forks times in all, with their connections and recorders open."""

    def __init__(self, street, forks):
        self.process = street.popen(STORM_UID, [
            street.program("hostile-forks"), street.socket, str(forks), str(FORKERS),
            street.program("hostile-tiny")], job="storm")

    def result(self):
        """How many there were of each kind, and "ms"."""
        said, _ = self.process.communicate(timeout=3600)
        if self.process.returncode:
            fail("hostile-forks ended with %d" % self.process.returncode)
        counts = {name: int(value) for name, value in (pair.split("=") for pair in said.split())}
        if not all(counts.values()):
            fail("it tried too little: %s" % counts)
        return counts


def storms(street, forks, attack):
    """One after the other until it is seen; how many, and what became of them in words."""
    number, sums = 0, {}
    while not number or not attack.is_seen():
        number += 1
        for name, count in Storm(street, forks).result().items():
            sums[name] = sums.get(name, 0) + count
    ms = sums.pop("ms")
    return number, "%d forks, %.0f a second (%s)" % (
        sum(sums.values()), 1000 * sum(sums.values()) / ms,
        ", ".join("%d %s" % (sums[name], name) for name in sums))


def give(pipe, path):
    """Root in the guise of a user says Hello; a child of another user goes on in its place, also
    when the giver has died, and tells."""
    giver = os.fork()
    if giver:
        os.waitpid(giver, 0)
        return pipe.recv()  # never: we are ended
    os.setegid(GIVER_UID)
    os.seteuid(GIVER_UID)
    connection = hello(path, "given")
    os.seteuid(0)
    os.setegid(0)
    giver = os.getpid()
    if not os.fork():
        os.setresgid(TAKER_UID, TAKER_UID, TAKER_UID)
        os.setresuid(TAKER_UID, TAKER_UID, TAKER_UID)
        first = dispatch(connection, 1)
        os.write(go[1], b"x")
        pipe.send((giver, os.getpid(), first, receive(connection)[0]))
        os._exit(0)
    os.read(go[0], 1)  # the frame is acknowledged: now the giver may die
    os._exit(0)


go = os.pipe()


class Session(Database):
    def __init__(self, street, uid):
        self.street, self.uid = street, uid

    def is_closed(self, processes):
        found = self.street.databases(self.uid)
        self.database = found[0] if found else None
        return bool(found) and self.has(
            """SELECT 1 FROM rtl_session WHERE end_ns IS NOT NULL AND %d = (SELECT count(*) FROM
            rtl_process) AND NOT EXISTS (SELECT 1 FROM rtl_process WHERE NOT drained)""" % processes)


def test(street, arguments):
    street.start()
    street.honest()
    with street.attack("a storm of forks") as attack:
        one_by_one = street.neighbour(STORM_UID, ranks, arguments.processes)
        giving = street.neighbour(0, give)
        number, forks = storms(street, arguments.forks, attack)
        within_s = DEADLINE_S * max(1, arguments.processes / RANKS_IN_TIME)
        processes = one_by_one.result(within_s) + number * FORKERS
    giver, taker, first, last = giving.result()
    for one in one_by_one, giving:
        one.end()
    stormed, given = Session(street, STORM_UID), Session(street, GIVER_UID)
    wait_for("the storm's session to be closed", lambda: stormed.is_closed(processes))
    wait_for("the giver's session to be closed", lambda: given.is_closed(1))
    if (first, last) != ("ack", None):
        fail("in the taker's hands: %s, and after the giver's death %s" % (first, last))
    if given.sql("SELECT uid, pid FROM rtl_process") != [(GIVER_UID, giver)]:
        fail("given by pid %d to %d, stored as %s" %
             (giver, taker, given.sql("SELECT uid, pid FROM rtl_process")))
    if street.databases(TAKER_UID):
        fail("the taker has a database")
    rows = stormed.sql("SELECT process_id, count(*) FROM rocpd_op GROUP BY 1")
    if len(rows) != processes or any(count != 1 for _, count in rows):
        fail("%d processes with one dispatch each are stored as %s" % (processes, rows[:9]))
    words = street.check_honest()
    street.check_fds()
    print("%s beside open connections; %d ranks, one row each; a connection in the hands of "
          "another user stores what its giver said Hello for, and ends with it; %d descriptors, "
          "as before; %s" % (forks, processes, street.fds(), words))
    street.stop()


if __name__ == "__main__":
    run(test, processes=(100, 5_000), forks=(2_000, 300_000))
