#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_tool_traces.py KIND OUT: a small trace of two launches, a copy and a range, as other tools write it."""
import json
import sqlite3
import sys


def rocprofv3():
    def times(start, end, **more):
        return {"start_timestamp": start, "end_timestamp": end, **more}

    def process(pid, offset):
        gpu = {"handle": 77}
        kernels = [times(offset + 1000 + i * 100, offset + 1050 + i * 100, thread_id=pid,
                         correlation_id={"internal": i + 1, "external": 0}, stream_id={"handle": 0},
                         dispatch_info={"agent_id": gpu, "queue_id": {"handle": 4}, "kernel_id": 9, "dispatch_id": i,
                                        "group_segment_size": 16, "private_segment_size": 0,
                                        "workgroup_size": {"x": 64, "y": 1, "z": 1},
                                        "grid_size": {"x": 128, "y": 2, "z": 1}}) for i in range(2)]
        calls = [times(offset + 900 + i * 100, offset + 910 + i * 100, kind=1, operation=1, thread_id=pid,
                       correlation_id={"internal": i + 1, "external": 0}) for i in range(2)]
        return {
            # Before the tables that say what the numbers mean.
            "buffer_records": {
                "kernel_dispatch": kernels, "hip_api": calls,
                "memory_copy": [times(offset + 2000, offset + 2500, kind=2, operation=1, bytes=4096,
                                      src_agent_id={"handle": 5}, dst_agent_id=gpu,
                                      correlation_id={"internal": 3, "external": 0})],
                "marker_api": [times(offset + 800, offset + 3000, kind=3, operation=1, thread_id=pid,
                                     correlation_id={"internal": 50, "external": 0})]},
            "metadata": {"pid": pid, "init_time": offset, "fini_time": offset + 5000, "node": {"hostname": "n1"}},
            "agents": [{"id": {"handle": 5}, "type": 1, "name": "EPYC", "caches": [{"type": 9}]},
                       {"id": gpu, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"}],
            "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
                                           {"kind": "HIP", "operations": ["none", "hipLaunchKernel"]}],
                        "marker_api": [{"key": 50, "value": "step 1"}]},
            "kernel_symbols": [{"kernel_id": 9, "kernel_name": "_Z3addv.kd", "formatted_kernel_name": "add()",
                                "truncated_kernel_name": "add"}]}

    return json.dumps({"rocprofiler-sdk-tool": [process(41, 0), process(42, 7)]})


def trace_lite(path):
    db = sqlite3.connect(path)
    db.executescript("""
        CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT UNIQUE);
        CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER,
            completionSignal TEXT, start INTEGER, "end" INTEGER, description_id INTEGER, opType_id INTEGER,
            roctxId INTEGER);
        CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
        INSERT INTO rocpd_metadata VALUES (1, 'pid', '41');
        INSERT INTO rocpd_string VALUES (1, 'KernelExecution'), (2, 'UserMarker'), (3, 'add'), (4, 'step 1');
        INSERT INTO rocpd_op VALUES (1, -1, 0, 0, '', 800, 3000, 4, 2, 1),
            (2, 3, 0, 0, 'hwq=0x7f00 wg=64,1,1 grid=128,2,1', 1000, 1050, 3, 1, 1),
            (3, 3, 0, 0, 'hwq=0x7f00 wg=64,1,1 grid=128,2,1', 4000, 4050, 3, 1, 0);
    """)
    db.commit()


def rocpd(path):
    db = sqlite3.connect(path)
    tables = {
        "rocpd_string": "id INTEGER, guid TEXT, string TEXT",
        "rocpd_info_node": "id INTEGER, guid TEXT, hostname TEXT",
        "rocpd_info_process": "id INTEGER, guid TEXT, nid INTEGER, pid INTEGER, environment TEXT, extdata TEXT",
        "rocpd_info_thread": "id INTEGER, guid TEXT, tid INTEGER",
        "rocpd_info_agent": "id INTEGER, guid TEXT, type TEXT, type_index INTEGER, name TEXT, product_name TEXT",
        "rocpd_info_kernel_symbol": "id INTEGER, guid TEXT, kernel_name TEXT, display_name TEXT",
        "rocpd_event": "id INTEGER, guid TEXT, category_id INTEGER, stack_id INTEGER, extdata TEXT",
        "rocpd_region": 'id INTEGER, guid TEXT, pid INTEGER, tid INTEGER, start INTEGER, "end" INTEGER, '
                        "name_id INTEGER, event_id INTEGER",
        "rocpd_kernel_dispatch": 'id INTEGER, guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, '
                                 'kernel_id INTEGER, queue_id INTEGER, start INTEGER, "end" INTEGER, '
                                 "private_segment_size INTEGER, group_segment_size INTEGER, "
                                 "workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, "
                                 "grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER",
        "rocpd_memory_copy": 'id INTEGER, guid TEXT, pid INTEGER, start INTEGER, "end" INTEGER, src_agent_id INTEGER, '
                             "dst_agent_id INTEGER, size INTEGER, event_id INTEGER",
    }

    def put(table, *values):
        db.execute(f"INSERT INTO {table}_{guid} VALUES ({', '.join('?' * len(values))})", values)

    guids = ["a1", "b2"]
    for rank, guid in enumerate(guids):
        for table, columns in tables.items():
            db.execute(f"CREATE TABLE {table}_{guid} ({columns})")
        for at, text in enumerate(["KERNEL_DISPATCH", "HIP_RUNTIME_API", "MARKER_CORE_API", "hipLaunchKernel",
                                   "roctxRangePush"], 1):
            put("rocpd_string", at, guid, text)
        put("rocpd_info_node", 1, guid, "n1")
        put("rocpd_info_process", 1, guid, 1, 41 + rank, json.dumps({"RANK": str(rank)}), "{}")
        put("rocpd_info_thread", 1, guid, 41 + rank)
        put("rocpd_info_agent", 1, guid, "CPU", 0, "EPYC", "EPYC")
        put("rocpd_info_agent", 2, guid, "GPU", 0, "gfx942", "AMD Instinct MI300X")
        put("rocpd_info_kernel_symbol", 9, guid, "_Z3addv.kd", "add()")
        for event in ((1, 2, 1, None), (2, 2, 2, None), (3, 1, 1, None), (4, 1, 2, None),
                      (5, 3, 9, '{"message": "step 1"}'), (6, 1, 3, None)):
            put("rocpd_event", event[0], guid, *event[1:])
        put("rocpd_region", 1, guid, 1, 1, 900, 910, 4, 1)
        put("rocpd_region", 2, guid, 1, 1, 1000, 1010, 4, 2)
        put("rocpd_region", 3, guid, 1, 1, 800, 3000, 5, 5)
        for i in range(2):
            put("rocpd_kernel_dispatch", i + 1, guid, 1, 1, 2, 9, 4, 1000 + i * 100 + rank, 1050 + i * 100 + rank,
                0, 16, 64, 1, 1, 128, 2, 1, 3 + i)
        put("rocpd_memory_copy", 1, guid, 1, 2000, 2500, 1, 2, 4096, 6)
    for table in tables:
        db.execute(f"CREATE VIEW {table} AS " + " UNION ALL ".join(f"SELECT * FROM {table}_{g}" for g in guids))
    db.commit()


def aorta(path):
    with open(path, "w") as file:
        for step in range(3):
            file.write(json.dumps({
                "rank": 2, "world_size": 4, "epoch": 0, "step": step, "global_step": 100 + step,
                "loss": 2.5 - step, "grad_norm": None, "lr": 1e-4,
                "profile": {"index": step, "total_ms": 10.5, "ranges": [{"stream": "compute", "start_ms": 0}],
                            "overlap": {"per_stream_ms": {"compute": 7.25}, "overlap_ms": {"compute_comm": 1.5},
                                        "active_segments": [{"start_ms": 0, "end_ms": 1}],
                                        "utilization": {"compute": 0.69}}}}) + "\n")


def main():
    kind, path = sys.argv[1:]
    if kind == "rocprofv3":
        with open(path, "w") as file:
            file.write(rocprofv3())
    else:
        globals()[kind](path)


if __name__ == "__main__":
    main()
