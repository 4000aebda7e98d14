#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorders that are no recorders: refused, or they harm no other rank.

usage: memfds.py --build DIR [--rounds N]
"""
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import tempfile

import wire
from neighbours import HOSTILE_UID, connect, fail, receive, run

F_ADD_SEALS, SEAL, SHRINK, GROW, WRITE = 1033, 1, 2, 4, 8
SEALS = SEAL | SHRINK | GROW
SIZE = 1 << 20
PUNCH_HOLE, KEEP_SIZE = 2, 1
MFD_HUGETLB = 4
UNSEALED = "the recorder is not a sealed memfd"
SIZES = "the recorder has an impossible size"
LAYOUT = "the recorder has a layout that this collector does not know"
NOT_TMPFS = "the recorder is not on tmpfs"
OTHER_SIZE = "the recorder has not the size that Hello says"
WELCOME = "welcome"


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        return bytes.fromhex(file.read().decode().strip().replace("-", ""))


def layout():
    with open(os.path.join(os.path.dirname(wire.GRAMMAR), "..", "recorder", "layout.h"), encoding="utf-8") as text:
        return int(text.read().split("#define RECORDER_LAYOUT ")[1].split("u")[0])


BOOT_ID, LAYOUT_NUMBER = boot_id(), layout()
HEADER_BYTES = 24 + 9 * 16 + 32 + 16 + 32 + 8 * 8 + 64 * 8


def header(token, size):
    """A recorder without anything in it, with room for markers: proto/recorder/layout.h."""
    def region(count, stride):
        return struct.pack("<QII", 4096, count, stride)
    regions = (region(0, 96) + region(1, 4096) + region(0, 320) + region(0, 544) + region(0, 1) +
               region(64, 1088) + 2 * region(0, 192) + region(0, 1))
    fixed = (struct.pack("<QIIQ", 0x4352454c54525f5f, LAYOUT_NUMBER, HEADER_BYTES, size) + regions +
             BOOT_ID + token + struct.pack("<qQ", os.getpid(), 0) + bytes(32))
    return fixed + struct.pack("<Q", 1)


def memfd(token, size=SIZE, seals=SEALS, flags=0):
    fd = os.memfd_create("recorder", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING | flags)
    os.ftruncate(fd, size)
    if size:
        os.pwrite(fd, header(token, size), 0)
    if seals:
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


def punched(token):
    fd = memfd(token)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, ctypes.c_long(0), ctypes.c_long(SIZE)):
        raise OSError(ctypes.get_errno(), "fallocate")
    return fd


def shrunk(token):
    fd = memfd(token, seals=GROW)
    os.ftruncate(fd, 4096)
    return fd


def huge(token):
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create("recorder", flags | MFD_HUGETLB)
    except OSError:  # a kernel without: what libhugetlbfs would take then is a file
        return file_in("/dev/shm")(token)
    os.ftruncate(fd, 2 << 20)
    fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
    return fd


def file_in(folder):
    def make(token):
        with tempfile.TemporaryFile(dir=folder) as file:
            os.ftruncate(file.fileno(), SIZE)
            os.pwrite(file.fileno(), header(token, SIZE), 0)
            return os.dup(file.fileno())
    return make


def sparse(size):
    def make(_token):
        fd = os.memfd_create("recorder", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
        return fd
    return make


def reopened(how):
    def make(token):
        fd = memfd(token)
        other = os.open("/proc/self/fd/%d" % fd, how)
        os.close(fd)
        return other
    return make


def writing(token):
    """It is written for as long as it is looked at, by a child that ends with us."""
    fd = memfd(token)
    with mmap.mmap(fd, SIZE) as shared:
        if not os.fork():
            good = shared[:4096]
            while os.getppid() != 1:
                shared[:4096] = b"\xff" * 4096
                shared[:4096] = good
            os._exit(0)
    return fd


# name: how it is made; the size that Hello says (None: its own); what may be the answer
KINDS = {
    "unsealed": (lambda token: memfd(token, seals=0), None, {UNSEALED}),
    "sealed against writing only": (lambda token: memfd(token, seals=WRITE), None, {UNSEALED}),
    "shrunk before": (shrunk, None, {UNSEALED}),
    "may shrink after": (lambda token: memfd(token, seals=GROW | SEAL), None, {UNSEALED}),
    "smaller than it says": (memfd, 80 << 20, {OTHER_SIZE}),
    "all of it a hole": (punched, None, {LAYOUT}),
    "hugetlb": (huge, None, {NOT_TMPFS, UNSEALED}),
    "a file in /dev/shm": (file_in("/dev/shm"), None, {UNSEALED}),
    "a file on disk": (file_in("/var/tmp"), None, {UNSEALED}),
    "0 B": (lambda token: memfd(token, size=0), None, {SIZES}),
    "1 EiB": (sparse(1 << 60), None, {SIZES}),
    "8 EiB - 4 KiB": (sparse((1 << 63) - 4096), None, {SIZES}),
    "read only": (reopened(os.O_RDONLY), None, {WELCOME}),
    "write only": (reopened(os.O_WRONLY), None, {LAYOUT}),
    "a path only": (reopened(os.O_PATH), None, {UNSEALED}),
    "sealed against all": (lambda token: memfd(token, seals=SEALS | WRITE), None, {WELCOME}),
    "written all the time": (writing, None,
                             {WELCOME, LAYOUT, "the recorder is of another process"}),
    "a pipe": (lambda _: os.pipe()[0], SIZE, {UNSEALED}),
    "a directory": (lambda _: os.open("/", os.O_RDONLY | os.O_DIRECTORY), SIZE, {UNSEALED}),
    "a socket": (lambda _: socket.socket(socket.AF_UNIX).detach(), SIZE, {UNSEALED}),
    "/dev/zero": (lambda _: os.open("/dev/zero", os.O_RDONLY), SIZE, {UNSEALED}),
    "/proc/self/mem": (lambda _: os.open("/proc/self/mem", os.O_RDONLY), SIZE, {UNSEALED}),
    "a pidfd": (lambda _: os.pidfd_open(os.getpid()), SIZE, {UNSEALED}),
}
if os.path.exists("/dev/fuse") and os.stat("/dev/fuse").st_mode & 6 == 6:
    KINDS["/dev/fuse"] = (lambda _: os.open("/dev/fuse", os.O_RDWR), SIZE, {UNSEALED})


def offer(_pipe, path, kind):
    """What the collector answers to a Hello with such a recorder."""
    make, says, _ = KINDS[kind]
    token = os.urandom(16)
    fd = make(token)
    if says is None:
        says = os.fstat(fd).st_size
    hello = wire.frame(hello={"version_min": 1, "version_max": 1, "token": token,
                              "boot_id": BOOT_ID, "recorder_bytes": says, "job": "memfds"})
    with connect(path) as connection:
        socket.send_fds(connection, [hello], [fd])
        body, fields = receive(connection)
    return fields["text"].decode() if body == "refusal" else str(body)


def offer_all(street, answers):
    offers = {kind: street.neighbour(HOSTILE_UID, offer, kind) for kind in KINDS}
    for kind, one in offers.items():
        answers[kind] = one.result()
        if answers[kind] not in KINDS[kind][2]:
            fail("a recorder that is %s: %s" % (kind, answers[kind]))
    for one in offers.values():
        one.end()


def test(street, arguments):
    street.start()
    street.honest()
    answers, rounds = {}, 0
    with street.attack("%d kinds of recorders that are none" % len(KINDS)) as attack:
        while rounds < arguments.rounds or not attack.is_seen():
            offer_all(street, answers)
            rounds += 1
    words = street.check_honest()
    street.check_fds()
    for kind, answer in answers.items():
        print("%-28s %s" % (kind, answer))
    print("%d kinds x %d, each refused or harmless; %d descriptors, as before; %s" %
          (len(KINDS), rounds, street.fds(), words))
    street.stop()


if __name__ == "__main__":
    run(test, rounds=(2, 100))
