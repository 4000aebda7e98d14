#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rocprofv3's JSON of a database, a file a rank: check_rocprofv3.py DATABASE FOLDER.

Every field that TraceLens's RocprofParser reads, compared with the rows. Says how many there are."""
import json
import pathlib
import sqlite3
import sys


def plain(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def sizes(of):
    return of["x"], of["y"], of["z"]


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    kernels, copies, calls = {}, set(), set()
    for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
        document = json.loads(path.read_text(encoding="utf-8"))
        tool, = document["rocprofiler-sdk-tool"]
        pid = tool["metadata"]["pid"]
        process, host, start, end = db.execute(
            "SELECT id, host, start_ns, end_ns FROM rtl_process WHERE pid = ?", (pid,)).fetchone()
        assert tool["metadata"]["node"]["hostname"] == (plain(host) or "")
        assert tool["metadata"]["init_time"] == start and (not end or tool["metadata"]["fini_time"] == end)
        assert isinstance(tool["metadata"]["command"], list)
        agents = {a["id"]["handle"]: a["logical_node_type_id"] for a in tool["agents"] if a["type"] == 2}
        symbols = {s["kernel_id"]: s for s in tool["kernel_symbols"]}
        records = tool["buffer_records"]
        assert set(records) == {"kernel_dispatch", "memory_copy", "hip_api", "hsa_api"} and records["hsa_api"] == []
        for record in records["kernel_dispatch"]:
            assert (record["size"], record["kind"], record["operation"]) == (184, 11, 2)
            assert record["correlation_id"]["external"] == 0 and record["thread_id"] > 0
            info = record["dispatch_info"]
            assert record["stream_id"]["handle"] == info["queue_id"]["handle"]
            symbol = symbols[info["kernel_id"]]
            assert symbol["truncated_kernel_name"] == symbol["formatted_kernel_name"] == symbol["demangled_kernel_name"]
            assert info["dispatch_id"] not in kernels
            kernels[info["dispatch_id"]] = (
                process, agents[info["agent_id"]["handle"]], info["queue_id"]["handle"], symbol["truncated_kernel_name"],
                symbol["kernel_name"], record["start_timestamp"], record["end_timestamp"],
                record["correlation_id"]["internal"], *sizes(info["workgroup_size"]), *sizes(info["grid_size"]))
        for record in records["memory_copy"]:
            assert record["kind"] == 10 and record["stream_id"]["handle"] == 0
            copies.add((process, record["start_timestamp"], record["end_timestamp"], record["bytes"],
                        agents.get(record["src_agent_id"]["handle"]), agents.get(record["dst_agent_id"]["handle"]),
                        record["operation"]))
        for record in records["hip_api"]:
            calls.add((process, record["correlation_id"]["internal"], record["thread_id"], record["name"],
                       record["start_timestamp"], record["end_timestamp"]))
    assert kernels == {row[0]: (*row[1:4], plain(row[4]), plain(row[5]), *row[6:]) for row in db.execute(
        """SELECT o.id, process_id, gpuId, queueId, k.name, k.symbol, o.start, o."end", coalesce(correlation_id, 0),
           workgroupX, workgroupY, workgroupZ, gridX, gridY, gridZ FROM rocpd_op o JOIN rtl_kernel k
           ON k.id = o.description_id WHERE o.start IS NOT NULL""")}
    operations = {b"h2h": 1, b"h2d": 2, b"d2h": 3, b"d2d": 4, b"p2p": 4}
    assert copies == {(*row[:6], operations.get(row[6], 0)) for row in db.execute(
        """SELECT process_id, start_ns, end_ns, bytes, source_gpuId, target_gpuId, direction FROM rtl_copy
           WHERE start_ns IS NOT NULL""")}
    assert calls == {(*row[:3], plain(row[3]), *row[4:]) for row in db.execute(
        """SELECT process_id, correlation_id, tid, api, start_ns, end_ns FROM rtl_host_call
           WHERE api NOT GLOB 'nccl*'""")}
    print(f"kernels {len(kernels)}, copies {len(copies)}, calls {len(calls)}")


main()
