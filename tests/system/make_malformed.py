#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_malformed.py FOLDER: files that a reader of other tools' files may meet, of each format, in FOLDER.

On stdout a line each: the file, "refused" or "taken", and the pattern of the reason of a refusal. What is refused names
the byte in the text, of a database the row."""
import gzip
import pathlib
import re
import sqlite3
import subprocess
import sys

import make_tool_traces
from make_torch_trace import trace

import json

BYTE = r"at byte [0-9]+: "
TEXT_BYTE = r"at byte [0-9]+ of its text: "
JSON = r"is no JSON: "
NAME = "x" * 10_000_000
# Rows without end, and what is said of them.
MORE_AND_MORE = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT r.* FROM n, {} r"
TOO_MUCH = "cannot be read: (has more rows than bytes|its views take more work than its size explains)"


class Files:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def say(self, name, verdict, why=""):
        print(f"{name}\t{verdict}\t{why}")

    def put(self, name, content, verdict, why=""):
        data = content if isinstance(content, bytes) else content.encode()
        (self.folder / name).write_bytes(data)
        self.say(name, verdict, why)

    def texts(self, form, text, time, length, name, nesting):
        """Of a format that is text: @time is a time in it, @length of an interval, @name a name, and @nesting what
        stands before a value of any kind."""
        end = form.rsplit(".", 1)[1]
        form = form.rsplit(".", 1)[0]

        def change(kind, pattern, to, verdict="refused", why=BYTE, count=1):
            changed, times = re.subn(pattern, lambda match: match.expand(to) if "\\" in to else to, text, count=count)
            assert times, (form, kind, pattern)
            self.put(f"{form}_{kind}.{end}", changed, verdict, why)

        packed = gzip.compress(text.encode(), mtime=0)
        self.put(f"{form}_cut.{end}.gz", packed[:len(packed) // 2], "refused", TEXT_BYTE + "the compressed file is cut short")
        spoiled = bytearray(packed)
        spoiled[-6] ^= 0xff  # of the checksum
        self.put(f"{form}_checksum.{end}.gz", bytes(spoiled), "refused", TEXT_BYTE + "the compressed file is damaged")
        self.put(f"{form}_cut.{end}", text[:len(text) * 2 // 3 - 9], "refused", BYTE + JSON + ".*premature EOF")
        change("nan", time, r"\1NaN", why=BYTE + JSON)
        change("infinity", time, r"\1Infinity", why=BYTE + JSON)
        change("huge", time, r"\g<1>1e300", why=BYTE)
        change("type", time, r'\1"soon"')
        change("negative", length[0], length[1])
        deep = "[" * 100 + "]" * 100
        self.put(f"{form}_deep.{end}", text.replace(nesting, f'{nesting}"deep": {deep}, ', 1), "refused",
                 BYTE + "is nested more than 64 deep")
        change("long", name, f'"{NAME}"', why=BYTE + "a (text|value) is longer than 1 MiB")
        self.put(f"{form}_trailing.{end}", text + " x", "refused", BYTE + JSON)
        self.put(f"{form}_nul.{end}", text.encode().replace(b'": ', b'":\0 ', 1), "refused", BYTE + JSON)
        self.put(f"{form}_control.{end}", text.replace('": ', '":\x01 ', 1), "refused", BYTE + JSON)
        # What is odd, and no mistake.
        self.put(f"{form}_mark.{end}", b"\xef\xbb\xbf" + text.encode(), "taken")
        self.put(f"{form}_packed.{end}.gz", packed, "taken")
        changed, times = re.subn(name, '"a\xff b"', text, count=1)
        assert times
        self.put(f"{form}_utf8.{end}", changed.encode("latin-1"), "taken")
        self.put(f"{form}_twice.{end}", text.replace(nesting, f'{nesting}"odd": 1, "odd": {{"odd": [2]}}, ', 1), "taken")

    def database(self, form, make, changes):
        """Of a format that is a database: statements, and what is refused of it."""
        path = self.folder / f"{form}.db"
        make(path)
        whole = path.read_bytes()
        path.unlink()
        self.put(f"{form}_cut.db", whole[:len(whole) // 2 + 100], "refused", r"(at byte [0-9]+: |cannot be read: )")
        self.put(f"{form}_head.db", whole[:100], "refused", r"(at byte [0-9]+: |cannot be read: )")
        pages = bytearray(whole)
        pages[100:] = bytes(len(whole) - 100)
        self.put(f"{form}_zeros.db", bytes(pages), "refused", r"(at byte [0-9]+: |cannot be read: )")
        packed = gzip.compress(whole, mtime=0)
        self.put(f"{form}_packed.db.gz", packed, "taken")
        self.put(f"{form}_cut.db.gz", packed[:len(packed) // 2], "refused", TEXT_BYTE + "the compressed file is cut short")
        for kind, sql, verdict, why in changes:
            path = self.folder / f"{form}_{kind}.db"
            path.write_bytes(whole)
            db = sqlite3.connect(path)
            for statement in sql.split(";"):
                db.execute(statement, {"name": NAME} if ":name" in statement else {})
            db.commit()
            db.close()
            self.say(path.name, verdict, why)


def rows(table, of_row, name):
    """The mistakes of a table with start and end, and what is no mistake."""
    row = r"row [0-9]+ of (rocpd_\w+): "
    return [
        ("type", f"UPDATE {table} SET start = 'soon' {of_row}", "refused", row),
        ("blob", f"UPDATE {table} SET start = x'00ff' {of_row}", "refused", row),
        ("null", f"UPDATE {table} SET \"end\" = NULL {of_row}", "refused", row),
        ("real", f"UPDATE {table} SET start = 9e300 {of_row}", "refused", row),
        ("negative", f"UPDATE {table} SET \"end\" = start - 1 {of_row}", "refused", row + "ends before it begins"),
        ("before", f"UPDATE {table} SET start = -5 {of_row}", "refused", row),
        ("missing", f"ALTER TABLE {table} RENAME COLUMN start TO begun", "refused", ""),
        ("endless", f"ALTER TABLE {table} RENAME TO rows_of_it; CREATE VIEW {table} AS " + MORE_AND_MORE.format("rows_of_it"),
         "refused", TOO_MUCH),
        ("long", name.format(":name"), "refused", "cannot be read: string or blob too big"),
        ("utf8", name.format("CAST(x'61ff62' AS TEXT)"), "taken", ""),
    ]


def rpd(path):
    db = sqlite3.connect(path)
    db.executescript("""
        CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);
        CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid, tid, start, "end", apiName_id, args_id);
        CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, start, "end", description_id, opType_id);
        CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id, op_id);
        CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER PRIMARY KEY, stream, gridX, gridY, gridZ, workgroupX, workgroupY,
            workgroupZ, kernelName_id);
        CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER PRIMARY KEY, stream, size);
        CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag, value);
        INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'CopyHostToDevice'), (3, 'add'), (4, 'hipLaunchKernel');
        INSERT INTO rocpd_api VALUES (1, 7, 7, 100, 200, 4, 4);
        INSERT INTO rocpd_op VALUES (1, 0, 0, 0, 300, 400, 3, 1), (2, 0, 1, 0, 500, 600, 4, 2);
        INSERT INTO rocpd_api_ops VALUES (1, 1, 1);
        INSERT INTO rocpd_kernelapi VALUES (1, 0, 2, 1, 1, 64, 1, 1, 3);""")
    db.commit()


# A view that never ends, in place of a table.
ENDLESS = """CREATE VIEW {0} AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT i AS process_id, i AS gpuId, i AS queueId, i AS name, i AS value, i AS tick, i AS tick_hz, i AS boottime_ns,
    i AS realtime_ns, i AS error_ns FROM n"""


def rtl(path):
    here = pathlib.Path(__file__).parent
    subprocess.run([sys.executable, here / "fixture_tree.py", "plain", here / "../../collectord/db/schema", path], check=True)


def rows_of_rtl():
    """What the owner of a database of rtl may have made of it."""
    row = r"row [0-9]+ of (rtl|rocpd)_\w+: "
    table = r"rtl_\w+ is no table as rtl makes it"
    return [
        ("type", "UPDATE rtl_dispatch SET start = 'soon' WHERE rowid = 3", "refused", row + "start is no number"),
        ("real", "UPDATE rtl_dispatch SET submit = 1e300 WHERE rowid = 3", "refused", row + "submit is no number"),
        ("blob", "UPDATE rocpd_string SET string = x'00ff' WHERE id = 3", "refused", row + "string is no text"),
        ("negative", "UPDATE rtl_dispatch SET duration = -1 WHERE rowid = 3", "refused", row + "ends before it begins"),
        ("itself", "UPDATE rtl_marker_base SET parent = id", "refused", row + "is within itself"),
        ("circle", "UPDATE rtl_call_base SET parent = id & 0xffffff", "refused", row + "is within itself"),
        ("process", "UPDATE rtl_process SET id = 9223372036854775807 WHERE id = 1", "refused", row + "its id is out of range"),
        ("session", "UPDATE rtl_session SET id = 9223372036854775807", "refused", row + "its id is out of range"),
        ("shape", "UPDATE rtl_dispatch SET shape_id = 999 WHERE rowid = 4", "refused", row + "its shape is missing"),
        ("import", "UPDATE rtl_process SET import_id = 5", "refused", row + "its import is missing"),
        ("missing", "DROP TABLE rtl_queue", "refused", "cannot be read: no such table: "),
        ("view", "DROP TABLE rtl_clock;" + ENDLESS.format("rtl_clock"), "refused", table),
        ("older", "PRAGMA user_version = 3; DROP TABLE rtl_counter_base;" + ENDLESS.format("rtl_counter_base"), "refused", table),
        ("computed", "ALTER TABLE rtl_recording RENAME COLUMN why TO other; ALTER TABLE rtl_recording ADD COLUMN why AS "
                     "(hex(zeroblob(9999)))", "refused", table),
        ("long", "UPDATE rocpd_string SET string = :name WHERE id = 3", "refused", ".*string or blob too big"),
        ("utf8", "UPDATE rocpd_string SET string = CAST(x'61ff62' AS TEXT) WHERE id = 3", "taken", ""),
        ("newer", "PRAGMA user_version = 9999", "refused", "was written by a newer rtl"),
    ]


def main():
    files = Files(sys.argv[1])
    files.put("nothing.json", "", "refused", "at byte 0: is empty")
    files.put("text.json", "hello\n", "refused", "at byte 0: is no trace that rtl import reads")
    files.put("nogzip.gz", b"\x1f\x8bnonsense", "refused", TEXT_BYTE + "the compressed file is damaged")

    text = json.dumps(trace(0, 1, 20))
    files.texts("torch.json", text, r'("ts": )1010\.0', (r'"dur": 50\.125', '"dur": -1'), r'"kernel_0_of_rank_0"',
                '"args": {')
    files.put("torch_array.json", '{"traceEvents": [[1]]}', "refused", BYTE + "an event is an array, and no object")
    files.put("torch_empty.json", '{"traceEvents": []}', "refused", "has no event of a GPU; ")
    files.put("torch_gpu.json", text.replace('"device": 0', '"device": -7', 1), "refused",
              BYTE + "the number of a GPU is out of range")
    files.put("torch_message.json", text.replace('"In msg nelems": 1024', '"In msg nelems": -5', 1), "refused",
              BYTE + "the size of a collective is negative")
    files.put("torch_same.json", text.replace('"correlation": 2,', '"correlation": 1,'), "taken")

    text = make_tool_traces.rocprofv3()
    files.texts("rocprofv3.json", text, r'("start_timestamp": )1000\b', (r'"end_timestamp": 1050', '"end_timestamp": 1'),
                r'"add\(\)"', '"dispatch_info": {')
    files.put("rocprofv3_agent.json", text.replace('"agent_id": {"handle": 77}', '"agent_id": {"handle": 5}', 1), "refused",
              BYTE + "a kernel ran on an agent that is not listed as a GPU")
    files.put("rocprofv3_empty.json", '{"rocprofiler-sdk-tool": []}', "refused", "has no event of a GPU; ")
    files.put("rocprofv3_bytes.json", text.replace('"bytes": 4096', '"bytes": -1', 1), "refused",
              BYTE + "the size of a copy is negative")
    files.put("rocprofv3_same.json", text.replace('"internal": 2', '"internal": 1'), "taken")

    path = files.folder / "aorta"
    make_tool_traces.aorta(path)
    text = path.read_text()
    path.unlink()
    files.texts("aorta.jsonl", text, r'("step": )1\b', (r'"total_ms": 10\.5', '"total_ms": -1'), r'"compute"', '"profile": {')
    files.put("aorta_rank.jsonl", text.replace('"rank": 2', '"rank": 2.5', 1), "refused",
              BYTE + "a rank or step is no whole number")
    files.put("aorta_negative_rank.jsonl", text.replace('"rank": 2', '"rank": -2', 1), "refused",
              BYTE + "a rank is out of range")
    files.put("aorta_array.jsonl", text + "[1]\n", "refused", BYTE + "a line is an array, and no object")

    files.database("rpd", rpd, rows("rocpd_op", "WHERE id = 1", "UPDATE rocpd_string SET string = {} WHERE id = 3"))
    files.database("trace_lite", make_tool_traces.trace_lite,
                   rows("rocpd_op", "WHERE id = 2", "UPDATE rocpd_string SET string = {} WHERE id = 3"))
    # What is read is the view over the tables of all processes.
    files.database("rocpd", make_tool_traces.rocpd,
                   [case for case in rows("rocpd_kernel_dispatch_a1", "WHERE id = 1",
                                          "UPDATE rocpd_info_kernel_symbol_a1 SET display_name = {}")
                    if case[0] not in ("missing", "endless")]
                   + [("endless", "DROP VIEW rocpd_kernel_dispatch; CREATE VIEW rocpd_kernel_dispatch AS "
                       + MORE_AND_MORE.format("rocpd_kernel_dispatch_a1"), "refused", TOO_MUCH)])
    files.database("rtl", rtl, rows_of_rtl())
    db = sqlite3.connect(files.folder / "other.db")
    db.execute("CREATE TABLE t (id)")
    db.commit()
    files.say("other.db", "refused", "at byte 0: is a database of no tool that rtl import reads")


main()
