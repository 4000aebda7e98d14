#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A database of rocmProfileData of a database of ours: check_rpd.py DATABASE RPD. Every row once, with what its tools
read; nothing that their JSON cannot hold."""
import collections
import json
import sqlite3
import sys

from check_rows import workgroups

TYPES = {b"h2d": "CopyHostToDevice", b"d2h": "CopyDeviceToHost", b"h2h": "CopyHostToHost"}


def plain(name):
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    return "".join("'" if c == '"' else "/" if c == "\\" else " " if c < " " else c for c in text)


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    rpd = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
    assert rpd.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not rpd.execute("PRAGMA foreign_key_check").fetchall()
    metadata = dict(rpd.execute("SELECT tag, value FROM rocpd_metadata"))
    assert (metadata["schema_version"], metadata["gpu_stride"], metadata["pid_stride"]) == ("3", "1000", "10000000")
    assert metadata["completeness"].startswith("SIMULATED ") == (metadata["simulated"] == "1")
    ops = rpd.execute("""SELECT o.id, gpuId, queueId, sequenceId, start, "end", d.string, t.string FROM rocpd_op o
        JOIN rocpd_string d ON d.id = description_id JOIN rocpd_string t ON t.id = opType_id""").fetchall()
    # rpd2tracing writes names as they are.
    for name, in rpd.execute("SELECT string FROM rocpd_string UNION ALL SELECT string FROM rocpd_ustring"):
        assert json.loads(f'"{name}"') == name
    kernels = sorted(row[:7] for row in ops if row[7] == "KernelExecution")
    assert kernels == sorted((*row[:6], plain(row[6])) for row in db.execute(
        """SELECT o.id, gpuId, queueId, sequenceId, o.start, o."end", s.string FROM rocpd_op o
           JOIN rocpd_string s ON s.id = o.description_id WHERE o.start IS NOT NULL"""))
    copies = sorted((row[1], *row[3:6], row[7]) for row in ops if row[7] != "KernelExecution")
    assert all(row[6] == "" for row in ops if row[7] != "KernelExecution")
    assert copies == sorted((*row[:4], TYPES.get(row[4], "CopyDeviceToDevice")) for row in db.execute(
        """SELECT coalesce(source_gpuId, target_gpuId, 0), copyId, start_ns, end_ns, direction FROM rtl_copy
           WHERE start_ns IS NOT NULL"""))
    api = rpd.execute("SELECT id, pid, tid, start, \"end\", domain, category, apiName, args FROM api").fetchall()
    assert len(api) == rpd.execute("SELECT count(*) FROM rocpd_api").fetchone()[0]
    calls = sorted((row[0], row[1], row[2], row[7], row[3], row[4]) for row in api if row[5])
    assert calls == sorted((*row[:3], plain(row[3]), *row[4:]) for row in db.execute(
        """SELECT c.id, p.pid, c.tid, c.api, c.start_ns, c.end_ns FROM rtl_host_call c
           JOIN rtl_process p ON p.id = c.process_id"""))
    assert all(row[5] == ("rccl" if row[7].startswith("nccl") else "hip") for row in api if row[5])
    # raptor.py reads what lies between the first and the last row of them.
    first, last = rpd.execute("SELECT min(start), max(\"end\") FROM rocpd_op").fetchone()
    assert first is None or min(row[3] for row in api) <= first <= last <= max(row[4] for row in api)
    processes = [row for row in api if row[8].endswith(": recorded")]
    assert sorted(row[1] for row in processes) == sorted(row[0] for row in db.execute("SELECT pid FROM rtl_process"))
    ranges = sorted((row[1], row[8], row[3], row[4]) for row in api
                    if row[7] == "UserMarker" and row not in processes)
    assert ranges == sorted((row[0], plain(row[1]), *row[2:]) for row in db.execute(
        """SELECT p.pid, m.text, m.start_ns, CASE kind WHEN 'mark' THEN m.start_ns ELSE m.end_ns END
           FROM rtl_marker m JOIN rtl_process p ON p.id = m.process_id WHERE m.end_ns IS NOT NULL OR kind = 'mark'"""))
    links = sorted(rpd.execute("""SELECT api_id, op_id FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id
        JOIN rocpd_string t ON t.id = o.opType_id WHERE t.string = 'KernelExecution'"""))
    assert links == sorted(db.execute("""SELECT api_id, o.id FROM rocpd_op o JOIN rtl_host_call c ON c.id = o.api_id
        WHERE o.start IS NOT NULL"""))
    # In what the function takes; of several kernels of a call one has a row.
    grids = collections.defaultdict(set)
    for name, *sides in db.execute("""SELECT s.string, gridX, gridY, gridZ, workgroupX, workgroupY, workgroupZ FROM rocpd_op o
            JOIN rocpd_string s ON s.id = o.description_id"""):
        grid, workgroup = tuple(sides[:3]), tuple(sides[3:])
        grids[plain(name), workgroup, True].add(grid)
        grids[plain(name), workgroup, False].add(workgroups(grid, workgroup))
    for api, name, *sides in rpd.execute("""SELECT n.string, s.string, gridX, gridY, gridZ, workgroupX, workgroupY,
            workgroupZ FROM rocpd_kernelapi k JOIN rocpd_string s ON s.id = kernelName_id
            JOIN rocpd_api a ON a.id = k.api_ptr_id JOIN rocpd_string n ON n.id = a.apiName_id"""):
        is_items = api.startswith(("hipExtModuleLaunch", "hipHccModuleLaunch"))
        assert tuple(sides[:3]) in grids[name, tuple(sides[3:]), is_items], (api, name, sides)
    assert rpd.execute("SELECT sum(TotalCalls) FROM top").fetchone()[0] == (len(ops) or None)
    assert rpd.execute("SELECT count(*) FROM kernel").fetchone()[0] == len(links)
    print(f"kernels {len(kernels)}, copies {len(copies)}, calls {len(calls)}, ranges {len(ranges)}, links {len(links)}")


main()
