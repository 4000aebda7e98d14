#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every row of a database once in its export, to the ns, nested: compare_chrome_json.py DATABASE JSON [WHERE].

WHERE is SQL that says which kernels and copies are expected, of p.rank and gpuId. Says how many events
of each kind there are."""
import collections
import decimal
import json
import sqlite3
import sys


def ns(value):
    return int(decimal.Decimal(value) * 1000)


def expected(db, where):
    gpu = f"({where})"
    yield "kernel_dispatch", "dispatch", db.execute(
        f"""SELECT p.id, o.id, s.string, o.start, o."end" FROM rocpd_op o
            JOIN rtl_process p ON p.id = o.process_id JOIN rocpd_string s ON s.id = o.description_id
            WHERE o.start IS NOT NULL AND {gpu}""")
    yield "memory_copy", "copy", db.execute(
        f"""SELECT p.id, c.copyId, NULL, c.start_ns, c.end_ns FROM
            (SELECT *, coalesce(source_gpuId, target_gpuId) AS gpuId FROM rtl_copy) c
            JOIN rtl_process p ON p.id = c.process_id WHERE c.start_ns IS NOT NULL AND {gpu.replace("o.start", "c.start_ns")
            .replace('o."end"', "c.end_ns")}""")
    host = "1" if where == "1" else "p.rank = 1"
    yield "hip_api", "corr_id", db.execute(
        f"""SELECT p.id, c.id, c.api, c.start_ns, c.end_ns FROM rtl_host_call c
            JOIN rtl_process p ON p.id = c.process_id WHERE {host}""")
    yield "roctx", "roctx_id", db.execute(
        f"""SELECT p.id, m.roctxId, m.text, m.start_ns, CASE kind WHEN 'mark' THEN m.start_ns ELSE m.end_ns END
            FROM rtl_marker m JOIN rtl_process p ON p.id = m.process_id
            WHERE (m.end_ns IS NOT NULL OR kind = 'mark') AND {host}""")


def plain(name):
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def check_nesting(events):
    lanes = collections.defaultdict(list)
    for event in events:
        start = ns(event["ts"])
        lanes[event["pid"], event["tid"]].append((start, -(start + ns(event.get("dur", "0"))), event["cat"]))
    for lane in lanes.values():
        open_ends = []
        for start, end, cat in sorted(lane):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -end <= open_ends[-1], "an event crosses another one of its tid"
            # One of no length may stand at the begin of another.
            assert not open_ends or -end == start or cat not in ("kernel_dispatch", "memory_copy"), \
                "overlap on a tid of a GPU"
            open_ends.append(-end)
    return lanes


def check_arrows(arrows, events):
    """Each begins at a host call and ends at what that call caused; says how many there are."""
    at = collections.defaultdict(list)
    for event in events:
        at[event["pid"], event["tid"], event["ts"]].append(event)
    ends = {e["id"]: e for e in arrows if e["ph"] == "f"}
    begins = {e["id"]: e for e in arrows if e["ph"] == "s"}
    assert len(begins) + len(ends) == len(arrows) and begins.keys() == ends.keys()
    for number, begin in begins.items():
        end = ends[number]
        calls = {e["args"]["corr_id"] for e in at[begin["pid"], begin["tid"], begin["ts"]]
                 if e["cat"] in ("hip_api", "rccl_api")}
        works = {e["args"]["corr_id"] for e in at[end["pid"], end["tid"], end["ts"]]
                 if e["cat"] in ("kernel_dispatch", "memory_copy")}
        assert calls & works and end["bp"] == "e", (begin, end)
    linked = {e["args"]["corr_id"] for e in events if e["cat"] in ("hip_api", "rccl_api")}
    caused = [e for e in events if e["cat"] in ("kernel_dispatch", "memory_copy") and e["args"]["corr_id"] in linked]
    assert len(caused) == len(begins), (len(caused), len(begins))
    return len(begins)


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    db.text_factory = bytes
    with open(sys.argv[2], encoding="utf-8") as file:
        # Times as they are written: no double on the way.
        document = json.load(file, parse_float=str)
    where = sys.argv[3] if len(sys.argv) > 3 else "1"
    arrows = [e for e in document["traceEvents"] if e["ph"] in "sf"]
    events = [e for e in document["traceEvents"] if e["ph"] not in "MsfC"]
    counters = [e for e in document["traceEvents"] if e["ph"] == "C"]
    names = [e for e in document["traceEvents"] if e["ph"] == "M"]
    counts = []
    for cat, key, rows in expected(db, where):
        wanted = sorted((row[0], row[1], plain(row[2]), row[3], row[4]) for row in rows)
        have = []
        for event in events:
            if event["cat"].replace("rccl", "hip") != cat:
                continue
            args, start = event["args"], ns(event["ts"])
            end = start + ns(event.get("dur", "0"))
            assert (args["begin_ns"], args["end_ns"], args["delta_ns"]) == (start, end, end - start), event
            assert event["ph"] == "X" or (event["ph"] == "i" and event["s"] == "t"), event
            have.append((event["pid"] // 1024, args[key],
                         None if cat == "memory_copy" else event["name"], start, end))
        assert sorted(have) == wanted, (cat, len(have), len(wanted))
        counts.append(f"{cat} {len(have)}")
    lanes = check_nesting(events)
    arrow_count = check_arrows(arrows, events)
    # Every lane and every process has its name, once.
    assert sorted((e["pid"], e["tid"]) for e in names if e["name"] == "thread_name") == sorted(lanes)
    assert sorted(e["pid"] for e in names if e["name"] == "process_name") == sorted(
        {pid for pid, _ in lanes} | {e["pid"] for e in counters})
    assert all(0 < tid < 10**9 for _, tid in lanes)
    assert where != "1" or sorted(
        (e["pid"] // 1024, e["name"], ns(e["ts"]), float(e["args"]["value"])) for e in counters) == sorted(
            (row[0], plain(row[1]), *row[2:]) for row in db.execute(
                "SELECT process_id, name, time_ns, value FROM rtl_metric WHERE abs(value) < 1e308"))
    print(", ".join(counts + [f"arrows {arrow_count}"]))


main()
