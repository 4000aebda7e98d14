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


def main():
    kind, path = sys.argv[1:]
    if kind == "rocprofv3":
        with open(path, "w") as file:
            file.write(rocprofv3())
    else:
        globals()[kind](path)


if __name__ == "__main__":
    main()
