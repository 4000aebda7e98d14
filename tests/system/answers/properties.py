#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""properties.py RTL [FIRST COUNT]: what every question answers of random sessions, against model.py,
and what must not change an answer: the order of rows, ids, other ranks, a clock's distance.

Seeds are FIRST ... FIRST + COUNT - 1; RTL_TEST_LONG makes more of them. A failure names its seed.
"""
import base64
import copy
import html.parser
import json
import math
import os
import pathlib
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import model
from asking import ask, close, compare, rtl, same, table
from session import START, Session

BY = ("rank", "gpu", "queue", "marker", "category")
TOLD_APART = {"process_id", "path", "id", "parent"}  # what ids are is not in an answer
NS = {"computation_time_ns": "compute", "exposed_comm_time_ns": "exposed_comm",
      "exposed_memcpy_time_ns": "exposed_copy", "idle_time_ns": "idle", "busy_time_ns": "busy",
      "total_comm_time_ns": "comm", "total_memcpy_time_ns": "copy"}
PARTS = ("computation_time_ns", "exposed_comm_time_ns", "exposed_memcpy_time_ns", "idle_time_ns")


def without_ids(value):
    if isinstance(value, dict):
        return {k: without_ids(v) for k, v in value.items() if k not in TOLD_APART}
    return [without_ids(v) for v in value] if isinstance(value, list) else value


# ---- against the model ----

def check_summary(session, path):
    kernels = model.sort((k for _, k in session.kernels()), lambda k: k.name)
    total = sum(k.length for _, k in session.kernels() if k.start is not None)
    for by in BY:
        document = ask("summary", path, "--by", by)
        same(f"{by}: kernels", {k["name"]: {f: k[f] for f in model.kernel_figures([])} for k in document["kernels"]},
             {name: model.kernel_figures(of_name) for name, of_name in kernels.items()})
        want = model.summary(session, by)
        same(f"{by}: groups", {g["group"] for g in document["groups"]}, set(want))
        for g in document["groups"]:
            for row in [g | {"name": None}] + g["top_kernels"]:
                figures = want[g["group"]][row["name"]]
                same((by, g["group"], row["name"]), {f: row[f] for f in figures}, figures)
                if figures["total_ns"] is None:
                    same((by, g["group"], "pct"), row["pct"], None)
                elif total:
                    close((by, g["group"], "pct"), row["pct"], 100 * figures["total_ns"] / total)
            same((by, g["group"], "its kernels"), {k["name"] for k in g["top_kernels"]},
                 set(want[g["group"]]) - {None})
        # Groups are a partition: they add up to the whole, and so do the categories.
        for figure in "calls", "total_ns":
            sums = [sum(row[figure] or 0 for row in document[rows]) for rows in ("kernels", "groups", "categories")]
            same((by, figure), sums, 3 * sums[:1])
    lanes = model.sort(session.kernels(), lambda row: (row[0].rank, row[1].gpu))
    same("busy of ranks", {(r["rank"], r["gpuId"]): r["busy_ns"] for r in document["ranks"] if r["stored"]},
         {lane: model.busy(k for _, k in rows) for lane, rows in lanes.items()})
    gpus = model.sort(session.kernels(), lambda row: row[1].gpu)
    same("busy of GPUs", {g["gpuId"]: (g["ops"], g["busy_ns"]) for g in document["gpus"]},
         {gpu: (len(rows), model.busy(k for _, k in rows)) for gpu, rows in gpus.items()})
    check_reason(session, document)


def check_reason(session, document):
    timed = sum(k.start is not None for _, k in session.kernels())
    said = document["reason"]["looked_at"]
    same("looked at", said, {"kernels": len(session.kernels()), "of": len(session.kernels()), "timed": timed})
    if session.has_steps and any(model.extent(p) for p in session.processes):
        figures = model.joined(session)
        same("the reason's time", document["reason"]["all"]["total_time_ns"], figures["wall"])
        for field, part in (("computation_pct", "compute"), ("exposed_comm_pct", "exposed_comm"),
                            ("exposed_memcpy_pct", "exposed_copy"), ("idle_pct", "idle")):
            if figures["wall"]:
                close(field, document["reason"]["all"][field], 100 * figures[part] / figures["wall"])


def check_row(events, row, figures, idle):
    for field, part in NS.items():
        same((field, row["rank"], row["gpuId"], row["step"]), row[field], figures[part])
    same("the parts are the whole", sum(row[f] for f in PARTS), row["total_time_ns"])
    same("micro and macro", row["micro_idle_time_ns"] + row["macro_idle_time_ns"], row["idle_time_ns"])
    check_idle((row["rank"], row["gpuId"], row["step"]), [row], idle, row["start_ns"] - START, row["end_ns"] - START)
    same("segments", row["active_segment_count"], figures["segments"])
    for stream in model.STREAMS:
        close(stream, row["per_stream_ms"][stream], figures[stream] / 1e6)
    for overlap in "compute_comm", "compute_allreduce", "compute_reducescatter":
        close(overlap, row["overlap_ms"][overlap], figures[overlap] / 1e6)
    for ratio, whole in (("overlap_ratio", "compute"), ("comm_hidden_ratio", "comm")):
        if figures[whole]:
            close(ratio, row[ratio], figures["compute_comm"] / figures[whole])


def check_idle(key, rows, idle, a, b):
    """Each cause by itself, and what is micro: in sum any of them could be another."""
    want = {cause: 0 for cause in rows[0]["idle_cause_ns"]}
    micro = 0
    for x, y, cause, is_micro in idle:
        length = max(0, min(y, b) - max(x, a))
        want[cause] += length
        micro += length * is_micro
    same((key, "causes"), {cause: sum(r["idle_cause_ns"][cause] for r in rows) for cause in want}, want)
    same((key, "micro"), sum(r["micro_idle_time_ns"] for r in rows), micro)


def check_timeline(session, path):
    document = ask("timeline", path)
    rows = model.sort(document["rows"], lambda r: (r["rank"], r["gpuId"]))
    want = model.timeline(session)
    same("lanes", set(rows), set(want))
    for (rank, gpu), lane in rows.items():
        events = model.events_of(session.processes[rank], gpu)
        steps = [r for r in lane if r["step"] is not None]
        if document["steps"]["source"] != "inferred":
            same("windows", [(r["step"], r["start_ns"], r["end_ns"]) for r in steps],
                 [step[:3] for step in want[rank, gpu]])
        first, last = model.extent(session.processes[rank])
        first = min([first] + [r["start_ns"] - START for r in steps])
        last = max([last] + [r["end_ns"] - START for r in steps])
        idle = model.idle_causes(session.processes[rank], gpu, first, last, session.has_calls)
        check_idle((rank, gpu), lane, idle, first, last)
        for row in steps:
            check_row(events, row, model.breakdown(events, row["start_ns"] - START, row["end_ns"] - START), idle)
        for before, after in zip(steps, steps[1:]):
            assert before["end_ns"] <= after["start_ns"], "windows overlap"
        # Nothing is lost between the steps, and nothing counted twice.
        for field, part in NS.items():
            if part not in ("idle", "busy"):
                whole = model.breakdown(events, *model.extent(session.processes[rank]))
                same((field, "of all"), sum(r[field] for r in lane), whole[part])
        total = next(r for r in document["ranks"] if (r["rank"], r["gpuId"]) == (rank, gpu))
        for field in (*NS, "total_time_ns", "active_segment_count", "kernels", "copies", "untimed"):
            same((field, "of a rank"), total[field], sum(r[field] for r in steps))
    for field in (*NS, "total_time_ns"):
        same((field, "of all ranks"), document["total"][field], sum(r[field] for r in document["ranks"]))
    same("every kernel is in one row", [sum(r["kernels"] + r["untimed"] for r in lane) for lane in rows.values()],
         [sum(k.gpu == gpu for k in session.processes[rank].kernels) for rank, gpu in rows])
    return document


def check_collectives(session, path):
    want = model.collectives(session)
    if not want:  # no rank called any: by order, then
        return
    rows = {(int(r["comm"], 16), int(r["seq"])): r for r in table("collectives", path, "operations")}
    same("operations", set(rows), set(want))
    for key, figures in want.items():
        row = rows[key]
        for field in figures.keys() - {"launches", "late_ns"}:
            same((key, field), row[field], str(figures[field]))
        if figures.get("late_ns"):
            same((key, "late"), row["late_ns"], str(figures["late_ns"]))
        if row["compute_ns"]:
            check_causes(key, row, figures, want)
    document = ask("collectives", path)
    same("of ranks", sum(r["num_collectives"] for r in document["ranks"]),
         sum(o["ranks"] for o in want.values() if o["state"] == "timed" and o["ranks"] > 1))
    late = [r for r in rows.values() if r["state"] == "timed" and r["last_rank"]]
    for r in document["ranks"]:
        mine = [o for o in late if o["last_rank"] == str(r["rank"])]
        same(("late", r["rank"]), (r["times_arrived_last"], r["late_total_ns"]),
             (len(mine), sum(int(o["late_ns"]) for o in mine)))


def check_causes(key, row, figures, operations):
    """Lateness taken apart, by brute force over what both GPUs did since the operation before."""
    parts = ("compute_ns", "copy_ns", "earlier_ns", "host_ns", "idle_ns", "unknown_ns")
    same((key, "causes add up"), sum(int(row[part]) for part in parts), int(row["late_ns"]))
    arrivals = sorted(figures["launches"], key=lambda x: (x.start, x.p.rank))
    did = []
    for launch in arrivals[-1], arrivals[(len(arrivals) - 2) // 2]:
        before = max((x for o in operations.values() for x in o["launches"]
                      if x.is_timed and x.p is launch.p and x.comm == launch.comm and x.stop <= launch.start
                      and x is not launch), key=lambda x: x.stop)
        did.append(model.lane_classes(launch.p, launch.gpu, before.stop, launch.start) | {"end": before.stop})
    for part, column in {"compute": "compute", "copy": "copy", "empty": "host", "held": "idle",
                         "unknown": "unknown"}.items():
        same((key, column), int(row[f"{column}_ns"]), did[0][part] - did[1][part])
    same((key, "earlier"), int(row["earlier_ns"]), did[0]["comm"] + did[0]["end"] - did[1]["comm"] - did[1]["end"])


def check_tree(session, path):
    for by in "merged", "rank":
        document = ask("tree", path, "--by", by)
        want = dict(model.tree(session, by == "rank"))
        whole = want.pop((), {"gpu_ns": 0, "kernels": 0})
        paths, have = {0: ()}, {}
        for node in document["nodes"]:
            at = paths[node["id"]] = paths[node["parent"]] + ((node["kind"], node["name"]),)
            assert at not in have, f"{at} twice"
            have[at] = node
        same(f"{by}: nodes", set(have), set(want))
        for at, figures in want.items():
            same((by, at), {f: have[at][f] or 0 for f in figures}, dict(figures))
        same((by, "in sum"), (document["gpu_ns"], document["kernels"]), (whole["gpu_ns"], whole["kernels"]))
        folded = rtl("tree", "--folded", "--by", by, path).splitlines()
        same((by, "stacks"), sum(int(line.rsplit(" ", 1)[1]) for line in folded), whole["gpu_ns"])


def check_diagnose(session, path):
    document = ask("diagnose", path)
    same("processes", [(p["rank"], p["kernels"], p["untimed"], p["gpus"]) for p in document["processes"]],
         [(p.rank, len(p.kernels), sum(k.start is None for k in p.kernels), ",".join(map(str, p.gpus())))
          for p in session.processes])
    most = max(len(p.kernels) for p in session.processes)
    level = {p.rank: "MISSING" if not p.kernels else "LOW" if 2 * len(p.kernels) < most else
                     "NOTE" if 20 * len(p.kernels) < 19 * most else None for p in session.processes}
    said = {f["rank"]: f["level"] for f in reversed(document["findings"])
            if not f["of_kernels"] and f["rank"] is not None and not f["text"].startswith(("straggler?", "its GPU worked"))}
    same("levels", said, {rank: found for rank, found in level.items() if found} if most else said)


# ---- against other files ----

def documents(path):
    """Everything that is said of a file."""
    out = {f"summary {by}": ask("summary", path, "--by", by) for by in BY}
    out |= {f"tree {by}": ask("tree", path, "--by", by) for by in ("merged", "rank")}
    out |= {verb: ask(verb, path) for verb in ("diagnose", "collectives")}
    out["timeline"] = ask("timeline", path, "--segments")
    out |= {f"collectives {t}": [r | {"process": ""} for r in table("collectives", path, t)]
            for t in ("operations", "missing")}
    out["report"] = page(path)
    return without_ids(out)


class Cells(html.parser.HTMLParser):
    """Texts and exact values of all tables of a page, and the data that it draws."""

    def __init__(self):
        super().__init__()
        self.rows, self.cell, self.data = [], None, None

    def handle_starttag(self, tag, attributes):
        if dict(attributes).get("type") == "application/json":
            self.data = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = dict(attributes).get("data-v", "")
            self.rows[-1].append(self.cell)

    def handle_data(self, data):
        if self.data == "":
            self.data = json.loads(data)
        if self.cell == "" and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag):
        if tag in ("td", "th", "table"):
            self.cell = None


def page(path):
    cells = Cells()
    cells.feed(rtl("report", path, "--html", "-"))
    return {"tables": cells.rows, "data": cells.data, "events": drawn(cells.data)}


def numbers(text):
    """LEB128 in base64."""
    value = shift = 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def drawn(data):
    """{lane: [(start, length, name)]} of the window that holds all; their order is not asked for where
    start and length are the same. Numbers of names are of the page."""
    out = {}
    for window in data["windows"]:
        for lane, text in enumerate(window.pop("lanes")):
            at, flat = 0, list(numbers(text))
            events = []
            for step, length, name in zip(flat[::3], flat[1::3], flat[2::3]):
                at += step >> 1 ^ -(step & 1)
                events.append((at, length, data["names"][name][0]))
            assert [e[:2] for e in events] == sorted((e[:2] for e in events), key=lambda e: (e[0], -e[1])), lane
            if window["all"]:
                out[data["lanes"][lane]] = sorted(events)
    del data["names"]
    return out


def check_page(session, path, document):
    have = page(path)
    rows = have["tables"]
    at = next((i for i, row in enumerate(rows) if row[:2] == ["CALLS", "TOTAL ms"]), len(rows))
    same("the page's kernels", [row[:2] for row in rows[at + 1:at + 1 + len(document["kernels"])]],
         [[str(k["calls"]), "-" if k["total_ns"] is None else str(k["total_ns"])] for k in document["kernels"]])
    begin = min((model.extent(p)[0] for p in session.processes if model.extent(p)), default=0)
    want = {}
    for p in session.processes:
        for gpu in sorted(model.gpus_of(p)) if model.extent(p) else ():
            want[f"rank {p.rank}, GPU {gpu}"] = sorted(
                [(k.start, k.length, k.name) for k in p.kernels if k.gpu == gpu and k.start is not None]
                + [(c.start, c.stop - c.start, "copy h2d") for c in p.copies if gpu in model.gpus_of_copy(p, c)])
    for lane, events in have["events"].items():
        first = min((start for start, *_ in want[lane]), default=0) - min((e[0] for e in events), default=0)
        same(f"drawn: {lane}", [(start + first, *rest) for start, *rest in events], want[lane])
    same("drawn lanes", set(have["events"]), set(want))


def first_difference(at, one, other):
    """Where two documents part, with what is there."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(key, one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(key, *pair) for key, pair in enumerate(zip(one, other))]
    else:
        return f"{at}: {other!r}, not {one!r}"
    return next(first_difference(f"{at}/{key}", x, y) for key, x, y in pairs if x != y)


def check_same(what, one, other):
    assert one == other, first_difference(what, one, other)


def check_shift(session, path):
    """Another clock of one rank is nothing to the others, nor to its own figures."""
    other = copy.deepcopy(session)
    other.processes[-1].shift = 3_600_000_000_000
    other.store(path.with_suffix(".shift.db"))
    for verb, more in (("timeline", ()), ("tree", ("--by", "rank"))):
        one, two = ask(verb, path, *more), ask(verb, path.with_suffix(".shift.db"), *more)
        if verb == "timeline":
            if one["steps"]["source"] == "inferred":
                continue
            for row in (r for r in two["rows"] if r["step"] is not None):
                moved = row["rank"] == other.processes[-1].rank
                row["start_ns"] -= moved * other.processes[-1].shift
                row["end_ns"] -= moved * other.processes[-1].shift
        check_same(f"a clock elsewhere: {verb}", one, two)


def check_one_rank(session, path):
    """A rank asked for alone is what it is among others."""
    rank = session.processes[-1].rank
    whole = ask("timeline", path)

    def alone(what, number, want):
        """What is of nothing is status 1, and no document."""
        if want:
            same(f"rows of {what} {number}", ask("timeline", path, f"--{what}", number)["rows"], want)
        else:
            rtl("timeline", f"--{what}", number, path, status=1)

    alone("rank", rank, [r for r in whole["rows"] if r["rank"] == rank])
    gpus = {r["gpuId"] for r in whole["rows"]} | {c.target for p in session.processes for c in p.copies}
    for gpu in gpus - {None}:
        alone("gpu", gpu, [r for r in whole["rows"] if r["gpuId"] == gpu])
    own = [line for line in rtl("tree", "--folded", "--by", "rank", path).splitlines()
           if line.startswith(f"rank {rank};")]
    same("stacks of a rank", rtl("tree", "--folded", "--by", "rank", "--rank", rank, path).splitlines(), own)


def check_diff(session, path, other, rng):
    """A file is as itself; the other way round is the other sign."""
    if not any(k.start is not None for _, k in session.kernels()):
        rtl("diff", path, path, status=4)
        return
    own = compare(path, path, "--allow", "losses")
    for row in own["timeline"]:
        same(("itself", row["figure"]), (row["delta_ns"], row["ratio"] in (1, None), row["reference_ns"]),
             (0, True, row["candidate_ns"]))
        assert not row["clear"], row
    for row in own["ranks"]:
        same("itself, ranks", {v for k, v in row.items() if k.startswith("delta")}, {0})
    for row in own["kernels"]:
        same("itself, kernels", (row["delta_of_step_ns"], row["candidate_calls"]), (0, row["reference_calls"]))
    is_whole = not any(k.start is None for _, k in session.kernels())
    same("itself", (own["comparable"], own["regression"]), (is_whole, False))
    after = longer(session, rng)
    after.store(other)
    there, back = compare(path, other, "--allow", "all"), compare(other, path, "--allow", "all")
    back_of = {row["figure"]: row for row in back["timeline"]}
    for row in there["timeline"]:
        mirrored(row, back_of[row["figure"]])
        same("error", (row["error_ns"], row["clear"]), (back_of[row["figure"]]["error_ns"], back_of[row["figure"]]["clear"]))
    if session.has_steps:
        check_sides(there["timeline"], model.side(session), model.side(after))
    kernels = {row["name"]: row for row in back["kernels"]}
    for row in there["kernels"]:
        mirrored(row, kernels[row["name"]], "_calls", "_total_ns")
        close("of a step", row["delta_of_step_ns"], -kernels[row["name"]]["delta_of_step_ns"])
    for row, other_row in zip(there["ranks"], back["ranks"]):
        for field in (f for f in row if f.startswith("delta")):
            same((field, row["rank"]), row[field], -other_row[field])


def check_sides(rows, before, after):
    for row in rows:
        (one, one_variance, one_steps), (two, two_variance, two_steps) = before[row["figure"]], after[row["figure"]]
        for have, want in ((row["reference_ns"], one), (row["candidate_ns"], two), (row["delta_ns"], two - one)):
            assert abs(have - want) <= 1, (row, want)  # whole ns
        if one_variance is None or two_variance is None:
            same("error of one step", row["error_ns"], None)
            continue
        error = 2 * math.sqrt(one_variance / one_steps + two_variance / two_steps)
        assert abs(row["error_ns"] - error) <= 1, (row, error)
        if abs(abs(two - one) - error) > 2:
            same("clear", row["clear"], abs(two - one) > error)


def mirrored(row, back, *suffixes):
    for suffix in suffixes or ("_ns",):
        same((row, suffix), (row[f"reference{suffix}"], row[f"candidate{suffix}"]),
             (back[f"candidate{suffix}"], back[f"reference{suffix}"]))
    if "delta_ns" in row:
        close((row, "delta"), row["delta_ns"], -back["delta_ns"])
    if row.get("ratio") and back.get("ratio"):
        close((row, "ratio"), row["ratio"] * back["ratio"], 1)


def longer(session, rng):
    """The same program on another day: every kernel takes another time."""
    other = copy.deepcopy(session)
    for _, k in other.kernels():
        if k.start is not None:
            k.length = k.length * rng.randrange(80, 140) // 100
    return other


# ---- seeds ----

def check_seed(seed, folder):
    rng = random.Random(seed)
    session = Session(rng)
    path = folder / f"{seed}.db"
    session.store(path)
    check_summary(session, path)
    check_timeline(session, path)
    check_collectives(session, path)
    check_tree(session, path)
    check_diagnose(session, path)
    one = documents(path)
    check_page(session, path, one["summary rank"])
    variants = [("no id twice, in another order", True)] + [("in another order", False)] * (seed % 4 == 0)
    for what, is_apart in variants:
        other = folder / "other" / path.name
        session.store(other, rng, is_apart)
        check_same(what, one, documents(other))
    check_shift(session, path)
    check_one_rank(session, path)
    check_diff(session, path, folder / f"{seed}.longer.db", rng)
    for file in folder.rglob(f"{seed}.*"):
        file.unlink()


def main():
    first, count = (int(n) for n in sys.argv[2:4]) if len(sys.argv) > 3 else (1, 0)
    count = count or (1000 if os.environ.get("RTL_TEST_LONG") else 6)
    os.environ.pop("RTL_CATEGORIES", None)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        (folder / "other").mkdir()
        done = {seed: pool.submit(check_seed, seed, folder) for seed in range(first, first + count)}
        failed = {seed: job.exception() for seed, job in done.items() if job.exception()}
    for seed, error in list(failed.items())[:10]:
        print(f"seed {seed}: {type(error).__name__} {str(error)[:1500]}")
    print(f"{count - len(failed)} of {count} seeds as they should be")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
