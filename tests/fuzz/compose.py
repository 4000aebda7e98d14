#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs of fuzz.peers, fuzz.sessions and fuzz.recorder out of what capture.py has kept:
compose.py FOLDER. The bytes are those that peers.c and recorder.c read."""
import hashlib
import os
import struct
import sys

FRAME, HELLO, RAW, CONNECT, CLOSE, SELECT, TURN, SETTLE, SHIM = range(9)
CELL, SLOT, MARKER, CALL, DEFINES = 2, 3, 4, 5, 6


def put(folder, kind, data):
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    with open(os.path.join(folder, kind, hashlib.sha1(data).hexdigest()[:12]), "wb") as file:
        file.write(data)


def kept(folder, kind):
    path = os.path.join(folder, kind)
    for name in sorted(os.listdir(path)) if os.path.isdir(path) else []:
        with open(os.path.join(path, name), "rb") as file:
            yield file.read()


def frames_of(stream):
    while len(stream) >= 4:
        length, = struct.unpack_from("<I", stream)
        yield stream[4:4 + length]
        stream = stream[4 + length:]


def say(action, frame):
    return bytes([action]) + struct.pack("<H", len(frame)) + frame


def main():
    folder = sys.argv[1]
    for kind in ("requests", "runner", "hello"):
        for frame in kept(folder, kind):
            first = HELLO if kind == "hello" else FRAME
            for target in ("peers", "sessions"):
                put(folder, target, say(first, frame))
                put(folder, target, bytes([SHIM, 1, SELECT, 1]) + say(first, frame) +
                    bytes([SETTLE]))
    for stream in kept(folder, "session"):
        frames = [f for f in frames_of(stream) if len(f) < 3000][1:]
        script = b"".join(say(FRAME, f) for f in frames[:12])
        for target in ("peers", "sessions"):
            put(folder, target, bytes([SHIM, 1]) + script + bytes([SETTLE, CLOSE]))
        for at in range(0, len(frames), 3):
            put(folder, "recorder", b"\0" + b"".join(
                bytes([CELL, 1 + i]) + struct.pack("<H", len(f)) + f + b"\4\0"
                for i, f in enumerate(frames[at:at + 3])))
    for defines in kept(folder, "defines"):
        frame = b"\x22" + (bytes([len(defines)]) if len(defines) < 128 else
                           bytes([len(defines) & 127 | 128, len(defines) >> 7])) + defines
        if len(defines) < 4000:
            put(folder, "recorder", b"\0" + bytes([DEFINES]) + struct.pack("<H", len(frame)) +
                frame)
    for flags in range(16):
        put(folder, "recorder", bytes([flags]) + bytes([SLOT, 0, 2, 0, 0, 0, 0, SLOT, 1, 1, 1, 0, 0, 0]))
        put(folder, "recorder", bytes([flags, MARKER, 0, 0, 40, 0]) + bytes(range(1, 41)) +
            bytes([CALL, 1, 1, 0, 40, 0]) + bytes(range(40)))
    for i, word in enumerate((b"--socket\n/x\n--db\nf", b"--keep-free\n99", b"--private-session\nn\n--db\nf",
                              b"--disk-wait\n30\n--db-dir\nd", b"--verbose\n--private")):
        put(folder, "settings", bytes([0]) + word)
    for i, word in enumerate((b"0,3-5", b"0-3", b"Cijk.*", b"loss.*", b"10", b"1.5", b"10:1:3:1",
                              b"^step", b"1")):
        put(folder, "settings", bytes([1 + 5 * i]) + word)
    put(folder, "settings", b"\2full")
    put(folder, "settings", b"\3gemm *Cijk*\ncommunication/allreduce *AllReduce*\n# none\n")
    put(folder, "settings", b"\0041 1 0 0-3\n2 0 5 \n")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hostile"))
    import hostile_names
    for name in hostile_names.NAMES:
        put(folder, "texts", name[:2000])


main()
