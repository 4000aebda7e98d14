#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an export and an import leave of a database: check_round_trip.py FORMAT DATABASE IMPORTED.

Compares every row of both, to the ns, in all columns but those that the format has no place for, which it prints: LOST.
CHANGED says what a format makes of a value. A column in EITHER has one of several values, of which the row before tells."""
import collections
import sqlite3
import sys

SQL = {
    "kernels": ("""SELECT p.pid, p.rank, o.gpuId, coalesce(o.stream, o.queueId), o.sequenceId, k.name, k.symbol, o.start,
            o."end", o.submit_ns, o.tid, o.workgroupX, o.workgroupY, o.workgroupZ, o.gridX, o.gridY, o.gridZ, h.lds,
            h.scratch, c.api, c.start_ns, c.tid, o.graph_exec, o.graph_launch IS NOT NULL
        FROM rocpd_op o JOIN rtl_process p ON p.id = o.process_id JOIN rtl_kernel k ON k.id = o.description_id
        JOIN rtl_dispatch d ON d.rowid = o.id JOIN rtl_shape h ON h.id = d.shape_id
        LEFT JOIN rtl_host_call c ON c.id = o.api_id WHERE o.start IS NOT NULL""",
                "pid rank gpu queue sequence name symbol start end submit tid workgroup_x workgroup_y workgroup_z grid_x "
                "grid_y grid_z lds scratch call call_start call_tid graph_exec graph"),
    "copies": ("""SELECT p.pid, p.rank, c.direction, c.bytes, c.source_gpuId, c.target_gpuId, c.start_ns, c.end_ns,
            c.submit_ns, c.tid, h.api, h.start_ns, h.tid
        FROM rtl_copy c JOIN rtl_process p ON p.id = c.process_id
        LEFT JOIN rtl_host_call h ON h.id = c.process_id << 40 | c.correlation_id WHERE c.start_ns IS NOT NULL""",
               "pid rank direction bytes source target start end submit tid call call_start call_tid"),
    "calls": ("""SELECT p.pid, p.rank, c.api, c.tid, c.start_ns, c.end_ns, c.result, c.arguments, c.graph_exec,
            c.graph_launch IS NOT NULL
        FROM rtl_host_call c JOIN rtl_process p ON p.id = c.process_id""",
              "pid rank call tid start end result arguments graph_exec graph"),
    "ranges": ("""SELECT p.pid, p.rank, m.kind, m.text, m.tid, m.start_ns,
            CASE m.kind WHEN 'mark' THEN m.start_ns ELSE m.end_ns END
        FROM rtl_marker m JOIN rtl_process p ON p.id = m.process_id WHERE m.kind = 'mark' OR m.end_ns IS NOT NULL""",
               "pid rank kind text tid start end"),
    "ops": ("""SELECT p.pid, p.rank, o.kind, o.name, o.tid, o.start_ns, o.end_ns, o.external_id, o.sequence, o.forward_tid,
            o.shapes, o.types, o.inputs
        FROM rtl_op o JOIN rtl_process p ON p.id = o.process_id""",
            "pid rank kind name tid start end external sequence forward_tid shapes types inputs"),
    "collectives": ("""SELECT p.pid, p.rank, k.op, k.comm, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.peer,
            k.reduction FROM rtl_collective k JOIN rtl_process p ON p.id = k.process_id""",
                    "pid rank call comm comm_size seq count bytes datatype peer reduction"),
}
# Of a launch of several the first one; a kernel tells of it.
LAUNCHED = """SELECT p.pid, p.rank, k.op, k.comm, k.comm_size, k.seq, k.count, k.bytes, k.datatype, k.peer,
        k.reduction FROM rtl_collective_kernel j JOIN rtl_collective k ON k.id = j.collective_id
    JOIN rocpd_op o ON o.id = j.dispatch_id JOIN rtl_process p ON p.id = o.process_id
    JOIN rtl_kernel n ON n.id = o.description_id AND n.name GLOB 'ncclDevKernel*' WHERE k.graph_launch_id IS NULL AND o.start IS NOT NULL
    AND k.id = (SELECT min(i.collective_id) FROM rtl_collective_kernel i WHERE i.dispatch_id = o.id)"""
TIMES = ("start", "end", "submit", "call_start")
GEOMETRY = "workgroup_x workgroup_y workgroup_z grid_x grid_y grid_z lds scratch"

LOST = {
    "torch": {"kernels": "sequence symbol lds scratch graph_exec", "copies": "", "calls": "result arguments graph_exec",
              "ranges": "", "ops": "", "collectives": "peer reduction"},
    "rocprofv3": {"kernels": "sequence symbol submit tid graph_exec graph", "copies": "submit tid",
                  "calls": "result arguments graph_exec graph", "ranges": None, "ops": None, "collectives": None},
    "rocpd": {"kernels": "sequence symbol submit tid graph_exec", "copies": "submit tid",
              "calls": "result arguments graph_exec", "ranges": "", "ops": None, "collectives": None},
    "rpd": {"kernels": f"sequence symbol submit tid graph_exec {GEOMETRY}", "copies": "bytes source target submit tid",
            "calls": "result arguments graph_exec", "ranges": "", "ops": None, "collectives": None},
}
NO_CALL = {"call": None, "call_start": None, "call_tid": None}


def plain(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def whole_groups(row):
    """A grid is a number of workgroups there."""
    for side in "xyz":
        group = row["workgroup_" + side]
        if group:
            row["grid_" + side] = -(-row["grid_" + side] // group) * group


def rpd_text(text):
    return "".join("'" if c == '"' else "/" if c == "\\" else " " if c < " " else c for c in text)


def change(form, kind, row, processes):
    """What the format makes of a row of the database; None: it has no place for it."""
    if kind == "calls":
        # Readers count the launches of graphs by the name of the call.
        row["graph"] = int("GraphLaunch" in (row["call"] or ""))
    if kind == "kernels" and form == "torch":
        whole_groups(row)
    if kind == "calls" and form == "rocprofv3" and row["call"].startswith("nccl"):
        return None
    if kind == "copies" and form == "torch" and row["source"] is None and row["target"] is None:
        return None
    if kind == "copies" and form != "torch":
        # By the GPUs of both sides, of which RPD has one.
        if row["direction"] == "unknown":
            row["direction"] = "d2d" if form == "rpd" else "h2h"
        if row["direction"] == "p2p" and (form == "rpd" or row["source"] == row["target"]):
            row["direction"] = "d2d"
    if kind == "kernels" and form == "rocprofv3":
        row["name"] = row["name"] or row["symbol"].removesuffix(".kd")
    if kind == "collectives" and row["datatype"] == "int8":
        row["datatype"] = "uint8"  # both are Byte
    if kind == "ranges":
        is_mark = row["kind"] == "mark"
        if is_mark and form == "rocpd":
            return None
        row["kind"] = "mark" if is_mark or (form == "rpd" and row["start"] == row["end"]) else "push"
    if form == "rpd":
        for name in ("name", "text"):
            if row.get(name) is not None:
                row[name] = rpd_text(row[name])
        if kind == "kernels":
            row["name"] = row["name"] or "KernelExecution"
        if kind == "ranges":
            row["tid"] = row["tid"] or 0  # NOT NULL there
        # Only a call has a process there.
        if kind in ("kernels", "copies") and processes > 1 and row["call"] is None:
            row.update(pid=0, rank=None)
    return row


def allowed(form, kind, was, now):
    """Whether the columns of a kernel or copy that have one of several values have one of those."""
    linked = now["call"] is not None
    if linked and any(now[name] != was[name] for name in NO_CALL):
        return False
    if kind == "kernels" and form != "rocprofv3" and now["graph"] != (linked and "GraphLaunch" in now["call"]):
        return False
    if form == "torch":
        # A call has one kernel, but for graphs; the others have their doorbell.
        other = (was["submit"], was["pid"] if was["tid"] is None else was["tid"])
        return (now["submit"], now["tid"]) == ((was["call_start"], was["call_tid"]) if linked else other)
    is_known = was["call"] is None or (form == "rocprofv3" and was["call"].startswith("nccl"))
    if linked == is_known:
        return False
    # A launch has the sides of one kernel there; a memset of an import has none.
    return (form != "rpd" or kind != "kernels" or not linked or now["workgroup_x"] > 0 or was["workgroup_x"] == 0
            or "GraphLaunch" in now["call"])


def read(path, form, is_original):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.text_factory = bytes
    shift = 0
    if is_original and form == "torch":
        shift, = db.execute("SELECT iif(start_realtime_ns, start_realtime_ns - start_ns, 0) FROM rtl_session").fetchone()
    processes, = db.execute("SELECT count(*) FROM rtl_process").fetchone()
    tables = {}
    for kind, (sql, names) in SQL.items():
        rows = tables[kind] = []
        if is_original and form != "torch":
            # The number that PyTorch gave a queue has a place in its own traces alone.
            sql = sql.replace("coalesce(o.stream, o.queueId)", "o.queueId")
        for values in db.execute(LAUNCHED if is_original and kind == "collectives" else sql):
            row = dict(zip(names.split(), map(plain, values)))
            for name in TIMES:
                if row.get(name) is not None:
                    row[name] += shift
            row = change(form, kind, row, processes) if is_original else row
            if row:
                rows.append(row)
    return tables


def compare(form, kind, was, now):
    lost = LOST[form][kind].split()
    either = list(NO_CALL) if "call_start" in was[0] else []
    if kind == "kernels" and "graph" not in lost:
        either.append("graph")
    if form == "torch" and either:
        either += ["submit", "tid"]
    if form == "torch" and kind == "ranges":
        # Ranges of roctxRangeStart have rows of their own.
        lost.append("tid")
    kept = [name for name in was[0] if name not in lost and name not in either]
    groups = collections.defaultdict(lambda: ([], []))
    for side, rows in enumerate((was, now)):
        for row in rows:
            groups[tuple(row[name] for name in kept)][side].append(row)
    for key, (old, new) in groups.items():
        what = {name: value[:40] if isinstance(value, str) else value for name, value in zip(kept, key)}
        assert len(old) == len(new), f"{form} {kind}: {what}: {len(old)} before, {len(new)} after"
        for row in new if either else []:
            found = next((at for at in old if allowed(form, kind, at, row)), None)
            assert found, f"{form} {kind}: {what}: {[[r[c] for c in either] for r in (row, *old)]}"
            old.remove(found)
    return " ".join(lost) or "nothing"


def main():
    form, before, after = sys.argv[1:]
    was, now = read(before, form, True), read(after, form, False)
    for kind in SQL:
        if LOST[form][kind] is None:
            assert not now[kind]
            print(f"{form}: {kind}: {len(was[kind])} rows, all lost")
            continue
        assert len(was[kind]) == len(now[kind]), f"{form} {kind}: {len(was[kind])} before, {len(now[kind])} after"
        if was[kind]:
            print(f"{form}: {kind}: {len(was[kind])} rows equal; lost: {compare(form, kind, was[kind], now[kind])}")


main()
