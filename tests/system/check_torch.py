#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch profiler files of a database, a file a rank: check_torch.py DATABASE FOLDER.

Compares every event with its row, to the ns, and holds to what TraceLens and HTA look for: the text that HTA searches,
the link from a runtime event with "launch" in a name to each GPU event, one GPU event a correlation but for graphs,
streams without overlap, small times. Says how many events of each kind there are."""
import collections
import decimal
import json
import pathlib
import re
import sqlite3
import sys

from check_rows import gpus, workgroups

COPY_NAMES = {"h2d": "Memcpy HtoD (Host -> Device)", "d2h": "Memcpy DtoH (Device -> Host)",
              "d2d": "Memcpy DtoD (Device -> Device)", "p2p": "Memcpy PtoP (Device -> Device)"}
COLLECTIVES = {"ncclAllReduce": "allreduce", "ncclReduceScatter": "_reduce_scatter_base", "ncclBcast": "broadcast",
               "ncclAllGather": "_allgather_base", "ncclAllToAll": "all_to_all", "ncclAlltoAll": "all_to_all",
               "ncclAllToAllv": "all_to_allv", "ncclBroadcast": "broadcast", "ncclReduce": "reduce", "ncclSend": "send",
               "ncclRecv": "recv", "ncclGather": "gather", "ncclScatter": "scatter"}
TYPES = {"float32": "Float", "float16": "Half", "bfloat16": "BFloat16", "float64": "Double", "int32": "Int",
         "int64": "Long", "int8": "Byte", "uint8": "Byte"}


def ns(value):
    whole = decimal.Decimal(value) * 1000
    assert whole == int(whole), value
    return int(whole)


def plain(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


class File:
    def __init__(self, path, db):
        self.text = path.read_text(encoding="utf-8")
        document = json.loads(self.text, parse_float=str)
        self.document = document
        keys = list(document)
        assert keys[0] == "schemaVersion" and keys[-2:] == ["traceEvents", "rtlLeftOut"]
        assert document["schemaVersion"] == 1 and document["displayTimeUnit"] == "ms"
        offset, = db.execute("SELECT iif(start_realtime_ns, start_realtime_ns - start_ns, 0) FROM rtl_session").fetchone()
        self.base = document["baseTimeNanoseconds"] - offset
        assert self.base % 1000 == 0
        self.events = document["traceEvents"]
        self.of = collections.defaultdict(list)
        for event in self.events:
            self.of[event.get("cat", "metadata")].append(event)

    def check_rank(self, db):
        assert [(d["id"], d["name"]) for d in self.document["deviceProperties"]] == [
            (number, plain(row[1]) or "") for number, row in sorted(gpus(db).items())]
        found = re.search(r'"rank":\s+(\d+)', self.text)
        if "distributedInfo" not in self.document:
            assert not found
            return None
        info = self.document["distributedInfo"]
        assert info["backend"] == "nccl" and int(found[1]) == info["rank"]
        return info["rank"]

    def span(self, event):
        start = ns(event["ts"]) + self.base
        assert ns(event["ts"]) >= 0
        return start, start + ns(event["dur"])

    def check_links(self):
        """TraceLens: the start is looked up by id alone, the end by (pid, tid, id)."""
        starts = {e["id"]: e for e in self.of["ac2g"] if e["ph"] == "s"}
        ends = {(e["pid"], e["tid"], e["id"], e["ts"]): e for e in self.of["ac2g"] if e["ph"] == "f"}
        assert all(e["bp"] == "e" for e in ends.values())
        runtime = collections.defaultdict(list)
        for event in self.of["cuda_runtime"]:
            args = event["args"]
            assert args["correlation"] == args["External id"]
            runtime[event["pid"], event["tid"], event["ts"]].append(args["correlation"])
        gpu = self.of["kernel"] + self.of["gpu_memcpy"]
        users = collections.Counter()
        for event in gpu:
            args = event["args"]
            number = args["correlation"]
            assert number == args["External id"] and number < 1 << 53
            assert (event["pid"], event["tid"], number, event["ts"]) in ends, "a GPU event that nothing reaches"
            start = starts[number]
            assert number in runtime[start["pid"], start["tid"], start["ts"]], "an arrow from nowhere"
            users[number] += "graph id" not in args
        assert all(count <= 1 for count in users.values()), "two GPU events of one call"
        assert len(ends) == len(gpu)
        if gpu:
            assert any("launch" in e["name"].lower() for e in self.of["cuda_runtime"])

    def check_streams(self):
        streams = collections.defaultdict(list)
        for event in self.of["kernel"] + self.of["gpu_memcpy"]:
            assert event["args"]["stream"] == event["tid"] and event["args"]["device"] == event["pid"]
            assert event["args"]["context"] == 0
            streams[event["pid"], event["tid"]].append(self.span(event))
        for spans in streams.values():
            spans.sort()
            assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), "events overlap on a stream"
        named = {(e["pid"], e["tid"]) for e in self.of["metadata"] if e["name"] == "thread_name"}
        assert named >= set(streams)
        labels = {e["pid"]: e["args"]["labels"] for e in self.of["metadata"] if e["name"] == "process_labels"}
        assert all(labels[pid] == f"GPU {pid}" for pid, _ in streams)


def check_collective(event, row):
    args = event["args"]
    name, count, size, datatype, comm, seq = row
    expected = COLLECTIVES.get(plain(name), plain(name))
    assert args["Collective name"] == expected
    assert args["Group size"] == size and args["dtype"] == TYPES.get(plain(datatype), args["dtype"])
    assert args["Process Group Name"] == hex(comm & (1 << 64) - 1) and args.get("Seq") == seq
    assert args["In msg nelems"] == count * (size if expected in ("_reduce_scatter_base", "all_to_all", "all_to_allv")
                                             else 1)
    assert args["Out msg nelems"] == count * (size if expected in ("_allgather_base", "all_to_all", "all_to_allv")
                                              else 1)
    assert isinstance(json.loads(args["Process Group Ranks"]), list)
    assert args["In split size"] == args["Out split size"] == "[]"


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    totals = collections.Counter()
    collective = {}
    for row in db.execute("""SELECT j.dispatch_id, k.op, k.count, k.comm_size, k.datatype, k.comm, k.seq
            FROM rtl_collective_kernel j JOIN rtl_collective k ON k.id = j.collective_id
            WHERE k.graph_launch_id IS NULL ORDER BY k.id DESC"""):
        collective[row[0]] = row[1:]
    kernels, copies, calls, ranges, ops = {}, {}, set(), set(), collections.Counter()
    for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
        file = File(path, db)
        rank = file.check_rank(db)
        if rank is None:
            process, = db.execute("SELECT id FROM rtl_process WHERE pid = ?",
                                  (int(re.fullmatch(r"pid(\d+)_trace.json", path.name)[1]),)).fetchone()
        else:
            assert re.fullmatch(rf"rank{rank}(_pid\d+)?_trace.json", path.name)
            pids = {e["pid"] for e in file.of["metadata"] if e["name"] == "process_labels"
                    and e["args"]["labels"] == "CPU"}
            pid, = pids
            process, = db.execute("SELECT id FROM rtl_process WHERE pid = ? AND rank = ?", (pid, rank)).fetchone()
        file.check_links()
        file.check_streams()
        for event in file.of["kernel"]:
            args = event["args"]
            assert args["dispatch"] not in kernels
            kernels[args["dispatch"]] = (process, event["pid"], event["name"], *file.span(event), *args["block"],
                                         *args["grid"], args["queue"])
            if args["dispatch"] in collective and "Collective name" in args:
                check_collective(event, collective[args["dispatch"]])
                totals["collectives"] += 1
        for event in file.of["gpu_memcpy"]:
            copies[process, event["args"]["copy"]] = (event["pid"], event["name"], *file.span(event),
                                                      event["args"]["bytes"])
        for event in file.of["cuda_runtime"]:
            if "(no launch call recorded)" in event["name"]:
                assert event["dur"] == "0.000"
                totals["doorbells"] += 1
            else:
                calls.add((process, event["args"]["correlation"], event["tid"], event["name"], *file.span(event)))
        for event in file.of["user_annotation"]:
            start = ns(event["ts"]) + file.base
            end = start + ns(event.get("dur", "0"))
            ranges.add((process, event["args"]["roctx id"], event["name"], start, end))
        for event in file.of["cpu_op"] + file.of["python_function"]:
            args = event["args"]
            ops[(process, event["cat"], event["name"], event["tid"], *file.span(event), args.get("External id"),
                 args.get("Sequence number"), args.get("Fwd thread id"), json.dumps(args.get("Input Dims")),
                 json.dumps(args.get("Input type")), json.dumps(args.get("Concrete Inputs")))] += 1
    assert ops == collections.Counter(
        (row[0], "python_function" if row[1] == b"python" else "cpu_op", plain(row[2]), *row[3:9],
         *(json.dumps(json.loads(text or "null")) for text in row[9:])) for row in db.execute(
        """SELECT process_id, kind, name, tid, start_ns, end_ns, external_id, sequence, forward_tid, shapes, types, inputs
           FROM rtl_op"""))
    assert kernels == {row[0]: (row[1], row[2], plain(row[3]), *row[4:9], *workgroups(row[9:12], row[6:9]), row[12]) for row in db.execute(
        """SELECT o.id, process_id, gpuId, s.string, o.start, o."end", workgroupX, workgroupY, workgroupZ, gridX, gridY,
           gridZ, coalesce(stream, queueId) FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id WHERE o.start IS NOT NULL""")}
    assert copies == {row[:2]: (row[2], COPY_NAMES[plain(row[3])], *row[4:]) for row in db.execute(
        """SELECT process_id, copyId, coalesce(source_gpuId, target_gpuId), direction, start_ns, end_ns, bytes
           FROM rtl_copy WHERE start_ns IS NOT NULL AND coalesce(source_gpuId, target_gpuId) IS NOT NULL""")}
    assert calls == {(row[0], row[1], row[2], plain(row[3]), row[4], row[5]) for row in db.execute(
        "SELECT process_id, correlation_id, tid, api, start_ns, end_ns FROM rtl_host_call")}
    assert ranges == {(row[0], row[1], plain(row[2]), row[3], row[4]) for row in db.execute(
        """SELECT process_id, roctxId, text, start_ns, CASE kind WHEN 'mark' THEN start_ns ELSE end_ns END
           FROM rtl_marker WHERE end_ns IS NOT NULL OR kind = 'mark'""")}
    print(f"kernels {len(kernels)}, copies {len(copies)}, calls {len(calls)}, ranges {len(ranges)}, "
          f"doorbells {totals['doorbells']}, collectives {totals['collectives']}, ops {sum(ops.values())}")


main()
