#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a file system of a user's own can hold up, whatever the collector does: the attacks that use it
rest on this, and would show nothing where it did not hold.

usage: fuse_holds.py --build DIR
"""
import argparse
import multiprocessing
import os
import tempfile

from fuse import Fuse, hold_by_reading, hold_by_writing
from node import fail, wait_for
from service import enter

UID = 61100
fork = multiprocessing.get_context("fork")


def start(work, *arguments, uid=0):
    def become():
        os.setresuid(uid, uid, uid)
        work(*arguments)
    process = fork.Process(target=become, daemon=True)
    process.start()
    return process


def waits_in_kernel(process):
    """Not to be killed."""
    with open("/proc/%d/stat" % process.pid, encoding="utf-8") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "D"


def check(fuse, what, holders, victim):
    """@victim waits as long as the request is held, and no longer."""
    wait_for(what + " to wait", lambda: waits_in_kernel(victim) or fuse.held("flush"))
    victim.kill()
    wait_for(what + " to wait past SIGKILL",
             lambda: waits_in_kernel(victim) or not victim.is_alive())
    if not victim.is_alive():
        fail("%s could be killed" % what)
    fuse.end()
    for process in holders + [victim]:
        wait_for(what + " to go on", lambda p=process: not p.is_alive())
    print("%s: waits for the file system, past SIGKILL" % what)


def write_of_a_file(fuse, work):
    path = os.path.join(work, "file")
    with open(path, "wb") as file:
        file.write(bytes(8192))
    holder = start(hold_by_reading, path, fuse.path("read"), uid=UID)
    fuse.wait_held("read")
    fd = os.open(path, os.O_WRONLY)
    check(fuse, "write() to a file that another user reads with O_DIRECT", [holder],
          start(os.pwrite, fd, b"x", 0))


def seek_in_a_memfd(fuse, _):
    fd = os.memfd_create("recorder", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 1 << 20)
    holder = start(hold_by_writing, fd, fuse.path("read"))
    fuse.wait_held("read")
    if len(os.pread(fd, 4096, 0)) != 4096:
        fail("pread() of such a memfd")
    check(fuse, "lseek(SEEK_DATA) in a memfd that another process writes to", [holder],
          start(os.lseek, fd, 0, os.SEEK_DATA))


def close_of_a_file(fuse, _):
    def close():
        os.close(os.open(fuse.path("flush"), os.O_RDWR))
    victim = start(close)
    fuse.wait_held("flush")
    check(fuse, "close() of a file of it", [], victim)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    program = os.path.join(os.path.abspath(parser.parse_args().build), "tests-bin/hostile-fuse")
    enter()
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        for number, case in enumerate((write_of_a_file, seek_in_a_memfd, close_of_a_file)):
            case(Fuse(program, UID, os.path.join(work, "mount-%d" % number)), work)


if __name__ == "__main__":
    main()
