#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Descriptors whose close waits for their sender: no other peer waits for it.

usage: passed.py --build DIR [--rounds N]

Sockets that linger for an hour with a byte that is never acknowledged, and files of a file system that does
not answer; in the first frame, in one behind it, in what the collector never reads.
"""
import os
import signal
import socket
import struct

from descriptors import HELLO, TOOL, pass_fds
from fuse import Fuse
from neighbours import HOSTILE_UID, ask, connect, fail, percentile, run, wait_for

LINGER_S = 3600
HOSTILE_UIDS = 3


def linger(connection, way, listener):
    """Passes a socket whose last close waits: what was sent is never taken, and the window is full."""
    with socket.create_connection(listener.getsockname()) as other:
        held.append(listener.accept())
        other.setblocking(False)
        try:
            while True:
                other.send(bytes(1 << 16))
        except BlockingIOError:
            pass
        is_passed = False
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
        try:
            is_passed = way(connection, other.fileno())
        finally:
            if not is_passed:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))


def first_frame(connection, fd):
    return pass_fds(connection, HELLO, [fd])


def first_byte(connection, fd):
    return pass_fds(connection, TOOL[:1], [fd, fd])


def later_frame(connection, fd):
    connection.sendall(TOOL)
    return pass_fds(connection, TOOL, [fd])


def never_read(connection, fd):
    """It is refused for its first bytes, and what comes behind them is not read."""
    connection.sendall(b"\xff" * 8)
    return pass_fds(connection, HELLO, [fd])


WAYS = (first_frame, first_byte, later_frame, never_read)


def hang(pipe, path, files, rounds):
    """Passes both kinds in each way, and hangs up, so often and until told; how often."""
    # Where the collector's process was faster, the last close is ours: a signal ends that.
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        count = 0
        pipe.send("there")
        while count < rounds or not pipe.poll():
            way = WAYS[count % len(WAYS)]
            with connect(path) as connection:
                try:
                    if count // len(WAYS) % 2:
                        # It stays open here: each close of one is asked about.
                        held.append(os.open(files, os.O_RDWR))
                        way(connection, held[-1])
                    else:
                        linger(connection, way, listener)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # it was refused, as what it passed before is not closed yet
                count += 1
        pipe.recv()
    return count


held = []


def test(street, arguments):
    street.start()
    street.honest()
    with Fuse(street.program("hostile-fuse"), HOSTILE_UID,
              os.path.join(street.work, "fuse")) as fuse:
        with street.attack("descriptors whose close waits") as attack:
            hangs = [street.neighbour(HOSTILE_UID + i, hang, fuse.path("flush"), arguments.rounds)
                     for i in range(HOSTILE_UIDS)]
            for one in hangs:
                if one.result() != "there":
                    fail("one that passes them is not there")
            wait_for("a close to wait", lambda: fuse.held("flush") or any(one.is_done() for one in hangs))
            for one in hangs:
                if one.is_done():
                    fail("one that passes them has ended: %s" % one.result())
            answers = [street.neighbour(HOSTILE_UID + 100, other).result() for _ in range(5)]
            attack.go_on()
            for one in hangs:
                one.tell()
            count = sum(one.result() for one in hangs)
        words = street.check_honest()
        street.stop()
        for one in hangs:
            one.process.kill()
    print("%d descriptors whose close waits, for %d s or for ever; another user is answered after at most "
          "%.0f ms; the collector ended; %s" %
          (count, LINGER_S, 1000 * percentile([ms for some in answers for ms in some], 1), words))


def other(_pipe, path):
    return [ask(path) for _ in range(5)]


if __name__ == "__main__":
    run(test, rounds=(40, 1000))
