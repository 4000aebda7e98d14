#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Peers that pass descriptors unasked: the collector has as many at the end as before.

usage: descriptors.py --build DIR [--messages N]
"""
import array
import os
import socket

import wire
from neighbours import HOSTILE_UID, connect, fail, refusal, run

SCM_MAX_FD = 253
# The kernel counts what a user has on its way: no other test is of these, that would have no room.
STORM_UID, STORM_UIDS = HOSTILE_UID + 200, 4
TOOL = wire.frame(stat_request={"version_min": 1, "version_max": 1})
HELLO = wire.frame(hello={"version_min": 1, "version_max": 1, "token": bytes(16),
                          "boot_id": bytes(16), "recorder_bytes": 4096})


def pass_fds(connection, data, fds):
    """Bytes sent; 0: not with these; None: the collector has closed it."""
    try:
        return connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                            array.array("i", fds))])
    except (BrokenPipeError, ConnectionResetError):
        return None
    except OSError as error:
        # 6.16 returns EPERM if none may be passed; ETOOMANYREFS: the kernel's own limit in flight.
        if error.errno in (1, 109):
            return 0
        raise


def refused(path, data, count):
    """@data with @count descriptors as the first frame: the text of the refusal."""
    null = os.open("/dev/null", os.O_RDONLY)
    with connect(path) as connection:
        pass_fds(connection, data, [null] * count)
        text = refusal(connection)
    os.close(null)
    return text


def storm(pipe, path, messages):
    """So many messages and until told, each with as many as there may be; what was refused, how many
    messages there were, and how many descriptors arrived."""
    null = os.open("/dev/null", os.O_RDONLY)
    many = [null] * SCM_MAX_FD
    texts, passed = set(), 0
    texts.add(refused(path, HELLO, 0))
    texts.add(refused(path, HELLO, 2))
    texts.add(refused(path, HELLO, SCM_MAX_FD))
    texts.add(refused(path, TOOL, 1))
    passed += 2 + SCM_MAX_FD + 1
    connection, left, number, sent = None, HELLO, 0, 1
    pipe.send("there")
    while number < messages or not pipe.poll():
        if not connection:
            connection = connect(path)
            # In turns: a greeting byte by byte, a tool, one whose greeting never ends.
            left = (HELLO, TOOL, HELLO[:8])[number % 3]
            if left == TOOL:
                left = TOOL * 4
                sent = pass_fds(connection, TOOL, [])
        # One that was closed unread (it connects too often) was no message.
        sent = sent and pass_fds(connection, left[:1], many)
        number += sent is not None
        passed += SCM_MAX_FD * (sent or 0)
        left = left[1:]
        if not sent or not left:
            connection.close()
            connection, sent = None, 1
    if connection:
        connection.close()
    pipe.recv()
    return sorted(texts), number, passed


def test(street, arguments):
    street.start()
    street.honest()
    with street.attack("a storm of passed descriptors") as attack:
        storms = [street.neighbour(STORM_UID + i, storm, arguments.messages)
                  for i in range(STORM_UIDS)]
        for one in storms:
            if one.result() != "there":
                fail("a storm is not there")
        attack.go_on()
        for one in storms:
            one.tell()
        results = [one.result() for one in storms]
        for one in storms:
            one.end()
    for texts, _, _ in results:
        if texts != ["Hello must carry exactly one file descriptor, the recorder",
                     "only Hello may carry a file descriptor"]:
            fail("refused with other words: %s" % texts)
    words = street.check_honest()
    street.check_fds()
    print("%d messages with %d descriptors each passed %d; the collector has %d, as before; %s" %
          (sum(number for _, number, _ in results), SCM_MAX_FD,
           sum(passed for _, _, passed in results), street.fds(), words))
    street.stop()


if __name__ == "__main__":
    run(test, messages=(500, 10_000))
