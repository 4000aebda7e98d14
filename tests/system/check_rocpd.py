#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rocpd of rocprofiler-sdk of a database of ours: check_rocpd.py DATABASE ROCPD. Every row once, by the views that
its tools have; a view that joins loses no row; tables of each process are named by its guid."""
import json
import re
import sqlite3
import sys

COPY_NAMES = {b"h2d": "HOST_TO_DEVICE", b"d2h": "DEVICE_TO_HOST", b"d2d": "DEVICE_TO_DEVICE", b"p2p": "DEVICE_TO_DEVICE",
              b"h2h": "HOST_TO_HOST"}


def plain(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def check_tables(rocpd, processes):
    guids = {row[0]: row[1] for row in rocpd.execute("SELECT guid, pid FROM rocpd_info_process")}
    assert sorted(guids.values()) == sorted(processes) and len(guids) == len(processes)
    names = {row[0] for row in rocpd.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    kinds = None
    for guid in guids:
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", guid)
        suffix = "_" + guid.replace("-", "_")
        own = {name[:-len(suffix)] for name in names if name.endswith(suffix)}
        assert kinds in (None, own), "two processes have different tables"
        kinds = own
        metadata = dict(rocpd.execute(f'SELECT tag, value FROM "rocpd_metadata{suffix}"'))
        assert metadata["schema_version"] == "3.0.2" and metadata["guid"] == guid and metadata["uuid"] == suffix
        assert metadata["completeness"].startswith("SIMULATED ") == (metadata["simulated"] == "1")
    assert len(kinds) == 21 and len(names) == 21 * len(guids)
    for kind in kinds:
        columns = {row[1] for row in rocpd.execute(f'PRAGMA table_info("{kind}")')}
        assert "guid" in columns or kind == "rocpd_metadata"
    for table in ("rocpd_kernel_dispatch", "rocpd_memory_copy"):
        assert {"graph_exec_id", "graph_node_id"} <= {r[1] for r in rocpd.execute(f'PRAGMA table_info("{table}")')}


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    rocpd = sqlite3.connect(f"file:{sys.argv[2]}?mode=ro", uri=True)
    assert rocpd.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check_tables(rocpd, [row[0] for row in db.execute("SELECT pid FROM rtl_process")])
    for row in rocpd.execute("SELECT pid, environment, extdata FROM rocpd_info_process"):
        rank, = db.execute("SELECT rank FROM rtl_process WHERE pid = ?", (row[0],)).fetchone()
        assert json.loads(row[1]) == ({} if rank is None else {"RANK": str(rank)})
        assert json.loads(row[2])["rank"] == rank
    kernels = sorted(rocpd.execute("""SELECT dispatch_id, pid, agent_log_index, queue_id, name, start, "end", stack_id,
        grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z, category, region FROM kernels"""))
    assert kernels == sorted((*row[:4], plain(row[4]), *row[5:], "KERNEL_DISPATCH", "") for row in db.execute(
        """SELECT o.id, p.pid, gpuId, queueId, s.string, o.start, o."end", coalesce(correlation_id, 0), gridX, gridY,
           gridZ, workgroupX, workgroupY, workgroupZ FROM rocpd_op o JOIN rtl_process p ON p.id = o.process_id
           JOIN rocpd_string s ON s.id = o.description_id WHERE o.start IS NOT NULL"""))
    copies = sorted(rocpd.execute("""SELECT pid, tid, start, "end", size, name, CASE src_agent_type WHEN 'GPU' THEN
        src_agent_log_index END, CASE dst_agent_type WHEN 'GPU' THEN dst_agent_log_index END FROM memory_copies"""),
                    key=str)
    assert copies == sorted(((*row[:5], "MEMORY_COPY_" + COPY_NAMES.get(row[5], "UNKNOWN"), *row[6:])
                             for row in db.execute(
        """SELECT p.pid, c.tid, c.start_ns, c.end_ns, bytes, direction, source_gpuId, target_gpuId FROM rtl_copy c
           JOIN rtl_process p ON p.id = c.process_id WHERE c.start_ns IS NOT NULL""")), key=str)
    calls = sorted(rocpd.execute("""SELECT pid, stack_id, tid, name, start, "end" FROM regions
        WHERE category <> 'MARKER_CORE_API'"""))
    assert calls == sorted((*row[:3], plain(row[3]), *row[4:]) for row in db.execute(
        """SELECT p.pid, c.correlation_id, c.tid, c.api, c.start_ns, c.end_ns FROM rtl_host_call c
           JOIN rtl_process p ON p.id = c.process_id"""))
    for name, category in rocpd.execute("SELECT name, category FROM regions WHERE category <> 'MARKER_CORE_API'"):
        assert category == ("RCCL_API" if name.startswith("nccl") else "HIP_RUNTIME_API")
    ranges = sorted((row[0], row[1], json.loads(row[2])["message"], row[3], row[4], row[5]) for row in rocpd.execute(
        """SELECT pid, stack_id, extdata, start, "end", name FROM regions_and_samples
           WHERE category = 'MARKER_CORE_API'"""))
    names = {b"push": "roctxRangePush", b"start": "roctxRangeStart", b"mark": "roctxMark"}
    assert ranges == sorted((*row[:2], plain(row[2]), *row[3:5], names[row[5]]) for row in db.execute(
        """SELECT p.pid, m.roctxId, m.text, m.start_ns, CASE kind WHEN 'mark' THEN m.start_ns ELSE m.end_ns END, kind
           FROM rtl_marker m JOIN rtl_process p ON p.id = m.process_id WHERE m.end_ns IS NOT NULL OR kind = 'mark'"""))
    collectives = rocpd.execute("SELECT count(*) FROM region_args WHERE name = 'bytes'").fetchone()[0]
    assert collectives == db.execute("SELECT count(*) FROM rtl_collective_base").fetchone()[0]
    total = rocpd.execute("SELECT sum(total_calls) FROM top_kernels").fetchone()[0]
    assert total == (len(kernels) or None)
    print(f"kernels {len(kernels)}, copies {len(copies)}, calls {len(calls)}, ranges {len(ranges)}, "
          f"collectives {collectives}")


main()
