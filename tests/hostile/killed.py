#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A test that is killed from outside leaves nothing running: no child, none that has a session and
a user of its own, no orphan.

usage: killed.py --build DIR
"""
import os
import select
import signal
import subprocess

import jail
from node import DEADLINE_S, fail
from service import User, run

A = User("A", 61901)


def be_orphan():
    if os.fork():
        os._exit(0)
    os.setsid()
    os.setresuid(A.uid, A.uid, A.uid)
    signal.pause()


def be_test(alive):
    """Starts what tests start; all of it holds @alive open."""
    jail.enter()
    subprocess.Popen(A.command(["sleep", "infinity"]), pass_fds=[alive], start_new_session=True)
    if not os.fork():
        be_orphan()
    os.wait()
    os.write(alive, b"x")
    signal.pause()


def check(_service, _options):
    alive, theirs = os.pipe()
    test = os.fork()
    if not test:
        os.close(alive)
        be_test(theirs)
    os.close(theirs)
    if os.read(alive, 1) != b"x":
        fail("the test did not start")
    os.kill(test, signal.SIGKILL)
    os.waitpid(test, 0)
    if not select.select([alive], [], [], DEADLINE_S)[0] or os.read(alive, 1) != b"":
        fail("what a killed test started runs on")
    print("killed: nothing of it is left")


if __name__ == "__main__":
    run(check)
