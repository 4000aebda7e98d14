# SPDX-License-Identifier: MIT
"""Mounts and processes that end with the test, however that ends.

A test that is killed from outside (by its time limit, say) ends nothing that it started, and a rank that
dispatches until it is told would run for ever. Of a pid namespace the kernel ends all processes
with the first one; that one ends with the process that was started as the test."""
import ctypes
import os
import signal
import subprocess
import sys

NEW_MOUNTS, NEW_PIDS = 0x20000, 0x20000000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def call(result):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def enter():
    """Returns in the test, which is the second process of its namespace; the others wait for it."""
    sys.stdout.flush()
    call(LIBC.unshare(NEW_MOUNTS | NEW_PIDS))
    outside = os.pipe()
    first = os.fork()
    if first:
        os.close(outside[0])
        leave_with(first)
    os.close(outside[1])
    call(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
    os.set_blocking(outside[0], False)
    if is_closed(outside[0]):
        os._exit(1)  # it died before we asked to be told
    os.close(outside[0])
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
    test = os.fork()
    if test:
        leave_with(test)


def is_closed(pipe):
    try:
        return os.read(pipe, 1) == b""
    except BlockingIOError:
        return False


def leave_with(wanted):
    """Reap whatever comes until @wanted ends, and end as it did."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the test has it from the terminal, too
    while True:
        pid, status = os.wait()
        if pid == wanted:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
