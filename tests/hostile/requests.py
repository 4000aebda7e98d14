#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A user whose tool asks without end: all is answered, later; others are answered at once.

usage: requests.py --build DIR
"""
import os
import socket
import time

import wire
from node import DEADLINE_S, fail, wait_for
from service import User, run

BURST, PER_S = 200, 50  # proto/limits.h
REQUESTS = BURST + PER_S
ASKER = User("asker", 73000)


def flood(path):
    """All requests at once on one connection, then all replies."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(DEADLINE_S)
        s.connect(path)
        request = wire.frame(sessions_request={"version_min": 1, "version_max": 1})
        s.sendall(request * REQUESTS)
        data, replies = b"", 0
        while replies < REQUESTS:
            got = s.recv(1 << 16)
            if not got:
                raise EOFError("closed after %d replies" % replies)
            data += got
            while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "little"):
                size = 4 + int.from_bytes(data[:4], "little")
                if "sessions_reply" not in wire.decode("Frame", data[4:size]):
                    raise ValueError("refused: %r" % data[4:size])
                data = data[size:]
                replies += 1


def start_asker(path):
    """The pid of a child of that user; 0 is its exit status when it had all its replies."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setgroups([])
        os.setgid(ASKER.uid)
        os.setuid(ASKER.uid)
        flood(path)
        os._exit(0)
    except (OSError, EOFError, ValueError) as error:
        print("the asker: %s" % error, flush=True)
    os._exit(1)


def check(service, _options):
    service.start()
    begin = time.monotonic()
    asker = start_asker(service.socket)
    asked, status = 0, (0, 0)
    while status[0] == 0:
        words = service.rtl(None, "ctl", "--socket", service.socket, "status")
        if words.returncode != 0:
            fail("root is not answered: " + words.stderr)
        asked += 1
        status = os.waitpid(asker, os.WNOHANG)
    seconds = time.monotonic() - begin
    if status[1] != 0:
        fail("the asker was not answered")
    if seconds < (REQUESTS - BURST - 1) / PER_S:
        fail("%d requests were answered in %.2f s" % (REQUESTS, seconds))
    wait_for("the asker to be answered again", lambda: service.rtl(
        ASKER, "ctl", "--socket", service.socket, "status").returncode == 0)
    print("requests: %d of one user answered in %.2f s, root's %d meanwhile" %
          (REQUESTS, seconds, asked))


if __name__ == "__main__":
    run(check)
