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


def body_of(frame):
    """(field, body) of a frame that has no number."""
    field, at, length, shift = frame[0] >> 3, 2, 0, 0
    if frame[0] & 0x80:
        field, at = (frame[0] & 0x7f | frame[1] << 7) >> 3, 3
    while True:
        byte = frame[at - 1]
        length |= (byte & 0x7f) << shift
        if byte < 0x80:
            return field, frame[at:at + length]
        at, shift = at + 1, shift + 7


def first_words(folder):
    """For fuzz.hello and fuzz.requests: bodies, behind a byte of how (first.c)."""
    for kind in ("first_request", "first_runner", "first_done", "first_hello"):
        for frame in kept(folder, kind):
            field, content = body_of(frame)
            if field == 2:
                for how in (0, 7, 15, 31):
                    put(folder, "hello", bytes([how]) + content)
            elif field in FIRST_FIELDS:
                put(folder, "requests", bytes([FIRST_FIELDS.index(field)]) + content)


# What a tool, a runner or a file's owner does with a database.
SQL = """
UPDATE rtl_session SET name = NULL; UPDATE rtl_session SET end_ns = -1, start_ns = 1 << 62
DELETE FROM rtl_process; DROP TABLE rtl_dispatch; DROP VIEW rocpd_op; DELETE FROM rtl_meta
UPDATE rtl_meta SET value = zeroblob(70000); UPDATE rtl_meta SET value = -9223372036854775808
PRAGMA user_version = 1; PRAGMA user_version = 99999; PRAGMA application_id = 0
PRAGMA user_version = 5; PRAGMA user_version = 10; PRAGMA user_version = 0
INSERT INTO rtl_session SELECT id + 1, name || id, job, uid, start_ns, start_realtime_ns FROM rtl_session
CREATE TRIGGER t AFTER INSERT ON rtl_dispatch BEGIN DELETE FROM rtl_dispatch; END
CREATE TRIGGER t BEFORE UPDATE ON rtl_process BEGIN SELECT raise(ABORT, 'no'); END
CREATE VIEW v AS SELECT * FROM v; DROP TABLE rtl_session; CREATE VIEW rtl_session AS SELECT 1
UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'TEXT')
UPDATE sqlite_schema SET sql = 'CREATE TABLE x(a)' WHERE type = 'view'
UPDATE sqlite_schema SET rootpage = 2 WHERE rootpage > 2; DELETE FROM sqlite_schema
PRAGMA auto_vacuum = 2; VACUUM; PRAGMA encoding = 'UTF-16'; PRAGMA journal_mode = DELETE
UPDATE rtl_dispatch SET start = -start; UPDATE rtl_dispatch SET shape = 99
"""


def file_changes(folder):
    """For fuzz.database and fuzz.readers (files.c)."""
    changes = [b""]
    for line in SQL.strip().splitlines():
        changes += [bytes([5]) + struct.pack("<H", len(sql)) + sql
                    for sql in [line.encode()] + [part.encode() for part in line.split("; ")]]
    rows = [bytes([5]) + struct.pack("<H", len(sql)) + sql for sql in kept(folder, "sql")]
    changes += rows
    for verb in range(14):  # all of them, with rows of all kinds
        put(folder, "readers", bytes([0, verb, 0]) + b"".join(rows[:2]))
    for at in (0, 16, 18, 24, 28, 40, 56, 60, 68, 92, 100, 103, 105, 1024, 5000):
        changes.append(bytes([0]) + struct.pack("<I", at)[:3] + b"\4\xff\xff\0\1")
    for page in range(0, 60, 3):
        changes.append(bytes([1, page, 0, 8]) + b"\x05\0\1\xff\xff\0\x10\0")
    for at in (0, 4, 8, 12, 24, 32, 40, 1080, 2000, 60000):
        changes.append(bytes([2]) + struct.pack("<I", at)[:3] + b"\4\0\xff\1\2")
        changes.append(bytes([3]) + struct.pack("<I", at)[:3])
        changes.append(bytes([4]) + struct.pack("<I", at)[:3])
    changes.append(bytes([6]) + b"SQLite format 3\0\4\0\1\1\0@  ")
    for i, change in enumerate(changes):
        for kind in range(3):
            put(folder, "database", bytes([kind]) + change)
        for kind in range(2):
            put(folder, "readers", bytes([kind, i % 14, i % 3]) + change)


FIRST_FIELDS = (12, 14, 16, 18, 20, 9, 24)  # as in first.c


def main():
    folder = sys.argv[1]
    first_words(folder)
    file_changes(folder)
    for kind in ("first_request", "first_runner", "first_hello"):
        for frame in kept(folder, kind):
            first = HELLO if kind == "first_hello" else FRAME
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
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../hostile"))
    import hostile_names
    for name in hostile_names.NAMES:
        put(folder, "texts", name[:2000])


main()
