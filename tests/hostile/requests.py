#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A user whose tool asks without end: all is answered, later; others are answered at once. And one with
more rows than a reply holds, beside others whose jobs have its job's name: root sees theirs, as theirs.

usage: requests.py --build DIR
"""
import json
import os
import socket
import time

import wire
from memfds import BOOT_ID, SIZE, memfd
from neighbours import connect, receive
from node import DEADLINE_S, fail, is_long, wait_for
from service import User, run

BURST, PER_S = 200, 50  # proto/base/limits.h
REQUESTS = BURST + PER_S
ASKER = User("asker", 73000)
JOB = "a common name"
CROWD, GPUS = 300 if is_long() else 220, 64  # a row for each: with the longest of names more than fit
NEIGHBOURS = [User("neighbour %d" % i, 73001 + i) for i in range(3)]


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


def come(path, rank):
    """As a process with GPUs that all do something: of one that was there it is the next program."""
    token = os.urandom(16)
    recorder, connection = memfd(token), connect(path)
    hello = {"version_min": 1, "version_max": 1, "token": token, "boot_id": BOOT_ID, "job": JOB,
             "recorder_bytes": SIZE, "rank": rank, "exe": "/" + "x" * 254,
             "gpus": [{"gpu_id": gpu, "tick_hz": 10**9} for gpu in range(GPUS)]}
    socket.send_fds(connection, [wire.frame(hello=hello)], [recorder])
    os.close(recorder)
    body, fields = receive(connection)
    if body != "welcome":
        raise ValueError("no welcome but %s %s" % (body, fields))
    connection.sendall(wire.frame(counters={"queues": [
        {"queue": gpu, "gpu": gpu, "value": [1 << 39]} for gpu in range(GPUS)]}))
    return connection


def crowd(path, ready):
    last = None
    for rank in range(CROWD):
        last = come(path, rank)  # the one before is closed, as its program has ended
    os.write(ready, b"!")
    last.recv(1)  # until we are ended


def start(work, *arguments):
    """The pid of a child of that user; 0 is its exit status when it had all its replies."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setgroups([])
        os.setgid(ASKER.uid)
        os.setuid(ASKER.uid)
        work(*arguments)
        os._exit(0)
    except (OSError, EOFError, ValueError) as error:
        print("the asker: %s" % error, flush=True)
    os._exit(1)


def stat(service):
    said = service.rtl(None, "stat", "-n", "1", "--json", "--socket", service.socket)
    return json.loads(said.stdout) if said.returncode == 0 else {"ranks": [], "trouble": said.stderr}


def pids_of(reply, user):
    return [rank["pid"] for rank in reply["ranks"] if rank["uid"] == user.uid]


def check_rows(service):
    shims = [service.spawn(user, JOB) for user in NEIGHBOURS]
    ours, theirs = os.pipe()
    pid = start(crowd, service.socket, theirs)
    os.close(theirs)
    if os.read(ours, 1) != b"!":
        fail("the crowd has not come")
    os.close(ours)
    reply = None

    def are_shown():
        nonlocal reply
        reply = stat(service)
        rows = len(pids_of(reply, ASKER))
        left = str(CROWD - rows // GPUS) + " processes are not shown"
        # A process has one row until its Hello is stored.
        return rows and not rows % GPUS and left in str(reply["trouble"]) and all(
            pids_of(reply, user) == [shim.pid] for user, shim in zip(NEIGHBOURS, shims))
    wait_for("root to be shown the one rank of each neighbour, whole processes of the crowd, and how many are left out",
             are_shown, 0.1)
    rows = len(pids_of(reply, ASKER))
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    print("requests: %d of %d rows of one user's processes in a reply, and those of %d others" %
          (rows, CROWD * GPUS, len(NEIGHBOURS)))


def check(service, _options):
    service.start()
    check_rows(service)
    begin = time.monotonic()
    asker = start(flood, service.socket)
    asked, status = 0, (0, 0)

    def has_ended():
        nonlocal asked, status
        words = service.rtl(None, "ctl", "--socket", service.socket, "status")
        if words.returncode != 0:
            fail("root is not answered: " + words.stderr)
        asked += 1
        status = os.waitpid(asker, os.WNOHANG)
        return status[0] != 0

    wait_for("the asker to be answered", has_ended, 0.02)
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
