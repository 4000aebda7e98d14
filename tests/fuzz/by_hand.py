#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs for what no captured traffic says and chance does not find: by_hand.py FOLDER. Words of
operators and files, tools that tell a job to start and stop, names and metrics in markers, copies in
a recorder, frames of each kind whole and in pieces."""
import hashlib
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../hostile"))
import wire  # noqa: E402

CORPUS = os.path.join(HERE, "corpus")
FIELDS = {"defines": 4, "dispatches": 5, "markers": 6, "counters": 7, "anchors": 8, "copies": 21,
          "host_calls": 22, "collectives": 23}
NUMBERED = {"dispatches", "markers", "copies", "host_calls", "collectives"}
CALL, MARKER = 5, 4  # of recorder.c
RUNNER, STAT, SESSIONS, CTL = range(4)  # of first.c
CLOSED, LEFT, INDEX, FILE_KINDS = range(4)  # of files.h
SQL = 5  # of files.c
VERBS = 14  # of readers.c
SCHEMAS = len(os.listdir(os.path.join(HERE, "../../collectord/db/schema")))


def put(folder, kind, data):
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    with open(os.path.join(folder, kind, hashlib.sha1(data).hexdigest()[:12]), "wb") as file:
        file.write(data)


def settings(folder):
    words = ["--quota-rows\n%d\n--quota-burst\n10" % n for n in (1, 1024, 1 << 40)]
    words += ["--%s\n%s" % (name, value) for value in ("7", "-1", "1x", "99999999999999999999")
              for name in ("quota-bytes", "quota-disk", "quota-memory", "quota-names", "keep-days",
                           "keep-bytes", "quota-burst")]
    for text in words:
        put(folder, "settings", b"\0" + text.encode())
    for count in (63, 64, 65):
        put(folder, "settings", b"\1" + b",".join(b"%d" % i for i in range(count)))
    for text in ("start 1 0 0-3\nstop 2 5\n", "start 1 0 1-1,2-9\n", "stop 18446744073709551615 1\n",
                 "start 1 0 3-2\n", "stopping 1 2\n", *("stop %d 0\n" % n * n for n in (15, 16, 17))):
        put(folder, "settings", b"\4" + text.encode())


def config(folder):
    good = "[run]\nmode = full\n; no\nstrict=yes\n[ stat ]\r\ninterval\t= 5 s\n[quota]\nquota-rows = 9\n"
    bad = ("[run", "[runs]", "mode = full", "[run]\nmode", "[run]\nmode =", "[run]\na = 1\na = 2", "[run]\n-o_ = x",
           "[metrics]\nport = 9", "[cluster]", "[retention]\n\n\nkeep-days = 1 # all")
    for text in (good, good + "\1[run]\nmode = hip\n", *bad, *(good + "\1" + text for text in bad)):
        put(folder, "config", text.encode())


def requests(folder):
    both = {"version_min": 1, "version_max": 1}
    for verb in (b"start", b"stop", b"status", b"flush"):
        for more in ({}, {"session": b"job"}, {"session": b"nobody's"}, {"ranks": b"0"},
                     {"ranks": b"7-9"}, {"ranks": b"x"}, {"duration_ns": 1},
                     {"duration_ns": (1 << 64) - 1}, {"session": b"job", "ranks": b"0-4294967294"}):
            put(folder, "requests", bytes([CTL]) +
                wire.encode("CtlRequest", {**both, "verb": verb, **more}))
    for rules in (b"", b"gemm\t\t*gemm*\n", b"a\tb\tc\nd\te\tf\n", b"\tb\tc\n", b"a\tb\tc"):
        put(folder, "requests", bytes([RUNNER]) + wire.encode("RunnerHello", {
            **both, "job": b"job", "command": b"true", "categories": rules}))
    for session in (b"job", b"nobody's"):
        put(folder, "requests", bytes([STAT]) + wire.encode("StatRequest", {**both, "session": session}))


def markers(folder):
    texts = [b"loss=1.5, lr=-2e3;step=7", b"a=" + b"9" * 70, b"=1 b= c=x d=inf e=0x1 f=1e999",
             b"thread \xff", b""]
    for kind in range(1, 10):
        for text in texts:
            put(folder, "markers", wire.encode("Markers", {
                "n": 1, "kind": [kind], "id": [5], "parent": [3], "tid": [7],
                "time_ns": [1_000_000_000_000], "text": [0xffffffff], "inline_text": [text]}))


def recorder(folder):
    """Entries of the rings, as recorder.c reads them: what follows turn and frame."""
    for kind, api in ((1, 0), (1, 1), (1, 60000), (2, 0), (2, 9), (2, 60000), (3, 0), (3, 3), (4, 4),
                      (5, 0)):
        for ids, start, end in ((1, 10**12, 10**12 + 5), (0, 0, 0), (1 << 63, 5, 4)):
            entry = struct.pack("<6QIiHB5x", ids, 0, start, end, 0, 0, 7, 0, api, kind)
            entry += struct.pack("<14Q", 64, 1, (1 << 64) - 1, 0, 3, *range(9))
            for ring in (0, 1):
                put(folder, "recorder", bytes([0, CALL, ring, 1, 0]) +
                    struct.pack("<H", len(entry)) + entry)
    for kind in range(1, 10):
        for count in (8, 1024, 1025, 65535):
            entry = struct.pack("<3QIHH", 4, 2, 10**12, 7, kind, count) + b"loss=1.5" * 8
            put(folder, "recorder", bytes([0, MARKER, 1, 0]) + struct.pack("<H", len(entry)) + entry)


def frames(folder):
    """Of each kind one, at each limit, whole and byte by byte; and lengths about the limits."""
    for kind, field in FIELDS.items():
        whole = [name for name in os.listdir(os.path.join(CORPUS, kind))
                 if 40 < os.path.getsize(os.path.join(CORPUS, kind, name)) < 1500]
        for name in sorted(whole)[:3]:
            with open(os.path.join(CORPUS, kind, name), "rb") as file:
                body = file.read()
            frame = (b"\x08\x01" if kind in NUMBERED else b"") + wire.varint(field << 3 | 2) + \
                wire.varint(len(body)) + body
            frame = struct.pack("<I", len(frame)) + frame
            for how in (1, 1 | 1 << 2, 1 | 7 << 2):
                put(folder, "frames", bytes([how]) + frame * 2)
    for how, limit in enumerate((16 << 10, 256 << 10, 4 << 10)):
        for length in (0, limit - 1, limit, limit + 1):
            put(folder, "frames", bytes([how]) + struct.pack("<I", length) + b"\x52\0" * 20)
    put(folder, "frames", b"\0" + struct.pack("<I", 4097) + b"\x52\0" * 2060)


def texts(folder):
    bomb = b"_Z1fIiEvT_"
    for _ in range(12):
        bomb += b"S_S0_S1_"
    for text in (bomb, b"_Z1fPFPFPFPFvSt6vectorIS_IS0_IS1_IS2_EEEEE", b"_ZN" + b"1a" * 400 + b"Ev",
                 b"_Z1fSt4pairIS_IS0_S0_ES1_IS1_S1_EE", b"_Z" + b"1fI" * 60 + b"i" + b"E" * 60,
                 b"</script><!--", b"\"'&<>\\", b"=1+1", b"+1", b"-1", b"@x", b"\xef\xbc\x9d1",
                 b"\"a\",\"b\"", b"\xed\xa0\x80", b"\xe2\x80\xae\xe2\x81\xa6\xc2\xad",
                 b"\xf4\x90\x80\x80", b"\xff" * 40, b"a\xff" * 40):
        put(folder, "texts", text)
    # Each level twice the one below: what it stands for is too long to be written out.
    nest = b"i"
    for _ in range(14):
        nest = b"St4pairI" + nest + b"S" + b"_E"
    put(folder, "texts", b"_Z1f" + nest)


def peers(folder):
    """A rank that comes again on a second connection before its first one ends; then two do."""
    for acts in (b"\x08\x04", b"\x08\x05\x07\x05\x01\x08\x05", b"\x08\x04\x05\x01\x08\x06\x06\x04"):
        for kind in ("peers", "sessions"):
            put(folder, kind, acts)


# What an owner has done to a file that is to be migrated: what a migration drops is not there, or is no
# table; what it makes is there; rows that no collector wrote.
OWNERS_SQL = (
    "DELETE FROM rtl_dispatch", "DROP TABLE rtl_dispatch",
    "DELETE FROM rtl_dispatch;CREATE TABLE rtl_loss_interval(x)",
    "DROP TABLE rtl_dispatch;CREATE VIEW rtl_dispatch AS SELECT 1 AS shape_id",
    "CREATE VIEW rtl_metric_base AS SELECT 1", "CREATE TABLE rtl_call_base(id)",
    "CREATE TABLE rtl_copy_base(id);CREATE TABLE rtl_category(id)", "DROP VIEW rocpd_op",
    "DROP VIEW rocpd_op;CREATE TABLE rocpd_op(id)", "DROP TABLE rtl_meta", "DROP TABLE rtl_session",
    "ALTER TABLE rtl_process ADD COLUMN launcher", "ALTER TABLE rtl_shape RENAME TO x",
    "CREATE TRIGGER t AFTER INSERT ON rtl_meta BEGIN DELETE FROM rtl_session;END",
    "PRAGMA user_version=-1", "PRAGMA user_version=1", "PRAGMA user_version=10", "PRAGMA user_version=0",
    "PRAGMA writable_schema=1;UPDATE sqlite_schema SET sql='CREATE TABLE rtl_dispatch(a' "
    "WHERE name='rtl_dispatch'",
    "PRAGMA writable_schema=1;UPDATE sqlite_schema SET rootpage=2 WHERE name='rtl_process'",
    "UPDATE rtl_process SET id=-1,rank='x'", "UPDATE rtl_session SET uid='x',name=x'00ff'")


def database(folder):
    """Of each schema one that was closed and one that was left, as it was written and as its owner made it."""
    for older in range(1, SCHEMAS):
        for kind in (CLOSED, LEFT):
            head = bytes([kind + FILE_KINDS * older])
            put(folder, "database", head)
            for sql in OWNERS_SQL:
                put(folder, "database", head + bytes([SQL]) + struct.pack("<H", len(sql)) + sql.encode())
    for older in (1, 2, 3):
        put(folder, "database", bytes([INDEX + FILE_KINDS * older]))
        for at in range(20, 100, 4):  # bytes of its head
            put(folder, "database", bytes([INDEX + FILE_KINDS * older, 0, at, 0, 0, 4]) + b"\xff" * 4)


def readers(folder):
    """Each verb on a file of each schema."""
    for older in range(1, SCHEMAS):
        for verb in range(VERBS):
            put(folder, "readers", bytes([verb % 2 + 2 * older, verb, 0]))


# One row of each kind that a file of a few dispatches lacks, and what a stranger makes of them.
ROWS_SQL = (
    "INSERT INTO rocpd_string VALUES(900,'step'),(901,'hipLaunchKernel'),(902,'loss'),(903,'[[8]]');"
    "INSERT INTO rtl_api VALUES(901,'');INSERT INTO rtl_marker_base VALUES(1,1,NULL,7,'push',900,5,900),"
    "(1,2,1,7,'push',900,6,800);INSERT INTO rtl_metric_base VALUES(1,3,1,7,8,902,0.5);"
    "INSERT INTO rtl_call_base(id,process_id,parent,tid,api_id,start_ns,end_ns,result) "
    "VALUES((1<<40)+1,1,NULL,7,901,5,50,0),((1<<40)+2,1,1,7,901,6,40,0);"
    "INSERT INTO rtl_op_base(id,parent,tid,name_id,kind,start_ns,end_ns,shapes_id) "
    "VALUES((1<<40)+1,NULL,7,900,'op',5,50,903),((1<<40)+2,1,7,900,'op',6,40,NULL);"
    "INSERT INTO rtl_collective_base(id,comm,comm_rank,comm_size,seq,count,bytes,launch_id) "
    "VALUES((1<<40)+2,5,0,2,0,4,16,(1<<40)+2)")
STRANGERS_SQL = (
    "", "UPDATE rtl_dispatch SET start='soon'", "UPDATE rtl_dispatch SET duration=-1", "DELETE FROM rtl_shape",
    "UPDATE rtl_dispatch SET shape_id=99", "UPDATE rtl_process SET id=9223372036854775807",
    "UPDATE rtl_process SET session_id=7", "UPDATE rtl_session SET id=9223372036854775807",
    "UPDATE rtl_session SET name='job-2'", "UPDATE rtl_marker_base SET parent=2 WHERE id=1",
    "UPDATE rtl_call_base SET parent=2 WHERE parent IS NULL", "UPDATE rtl_op_base SET parent=(id&3)",
    "UPDATE rtl_call_base SET id=id+(5<<40)", "UPDATE rtl_collective_base SET launch_id=5",
    "UPDATE rtl_queue SET process_id='x'", "UPDATE rtl_shape SET kernel_id=77", "DROP TABLE rtl_queue",
    "DROP TABLE rtl_clock;CREATE VIEW rtl_clock AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
    "SELECT i AS process_id,i AS gpuId,i AS tick,i AS tick_hz,i AS boottime_ns,i AS realtime_ns,i AS error_ns FROM n",
    "ALTER TABLE rtl_recording RENAME COLUMN why TO w;ALTER TABLE rtl_recording ADD COLUMN why AS (hex(zeroblob(9999)))",
    "CREATE TRIGGER t AFTER INSERT ON rtl_dispatch BEGIN DELETE FROM rtl_dispatch; END", "DELETE FROM rtl_process",
    "PRAGMA user_version=3", "UPDATE rocpd_string SET string=x'00ff'", "UPDATE rtl_metric_base SET value='much'",
    "INSERT INTO rtl_import VALUES(1,'f','torch','x','s',1,1,0,1);UPDATE rtl_process SET import_id=1",
    "UPDATE rtl_loss SET count=9223372036854775807,process_id=0")


def import_rtl(folder):
    """Files with rows of all kinds, alone and into another one, and of some schemas as they were written."""
    for older, how in ((0, 2), (1, 0), (4, 1), (8, 0), (10, 1), (SCHEMAS - 1, 0)):  # anew, added, left by its collector
        put(folder, "import_rtl", bytes([how + 4 * older]))
    for i, sql in enumerate(STRANGERS_SQL):
        sql = ROWS_SQL + ";" + sql
        put(folder, "import_rtl", bytes([i % 2, SQL]) + struct.pack("<H", len(sql)) + sql.encode())


def pages(folder):
    """Heads, places and beginnings of cells of an inner page, its first child, and leaves, and the file's head."""
    for page in (1, 2, 3, 40, 64):
        for at in (*range(16), 500, 508):
            for what in (b"\0", b"\5", b"\x0d", b"\x7f", b"\xff\xff"):
                put(folder, "pages", struct.pack("<BHB", page, at, len(what)) + what)
        for at in range(12):  # of a cell: its length, id, types
            for what in (0, 1, 6, 7, 8, 9, 10, 0x7f, 0x80, 0xff):
                put(folder, "pages", struct.pack("<BHBB", page, 0x8200 + at, 1, what))
        for other in (1, 2, 3, 41):
            put(folder, "pages", bytes([page, 0, 0, 0, other]))
    for at in (16, 17, 18, 19, 20, 24, 27, 28, 30, 31, 52, 92):
        for what in (b"\0", b"\1", b"\2", b"\x7f"):
            put(folder, "pages", struct.pack("<BHB", 0, at, len(what)) + what)


def main():
    folder = sys.argv[1]
    for make in (settings, config, requests, markers, recorder, frames, texts, peers, database, readers, import_rtl, pages):
        make(folder)


main()
