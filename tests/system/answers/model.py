# SPDX-License-Identifier: MIT
"""What the questions' answers have to be, worked out of a session.Session by brute force, from the
formulas in docs/: nothing here is taken from a database or from rtl."""
import collections
import statistics

from session import KERNELS, OPS, START

STREAMS = ("compute", "allreduce", "reducescatter", "communication", "copy")
COMMUNICATION = {"allreduce", "reducescatter", "communication"}


def union(intervals):
    total, reach = 0, None
    for a, b in sorted(intervals):
        if reach is None or a > reach:
            reach = a
        if b > reach:
            total += b - reach
            reach = b
    return total


def clip(intervals, a, b):
    return [(max(x, a), min(y, b)) for x, y in intervals if max(x, a) < min(y, b)]


# ---- summary ----

def kernel_figures(kernels):
    times = sorted(k.length for k in kernels if k.start is not None)
    n = len(times)
    at = lambda p: times[-(-n * p // 100) - 1] if n else None  # nearest rank
    return {"calls": len(kernels), "total_ns": sum(times) if n else None, "avg_ns": sum(times) // n if n else None,
            "min_ns": times[0] if n else None, "p50_ns": at(50), "p95_ns": at(95), "p99_ns": at(99),
            "max_ns": times[-1] if n else None}


def group_of(by, p, k):
    if by == "rank":
        return f"rank {p.rank}"
    if by == "gpu":
        return f"GPU {k.gpu}"
    if by == "queue":
        return f"rank {p.rank} queue {k.queue}"
    if by == "marker":
        text = k.marker.text if k.marker else "(no range)"
        return "step N" if text.startswith("step ") else text
    return KERNELS[k.what][3]


def sort(rows, key):
    out = collections.defaultdict(list)
    for row in rows:
        out[key(row)].append(row)
    return dict(out)


def summary(session, by):
    """{group: {name: figures}}, with the group's own under None."""
    groups = sort(session.kernels(), lambda row: group_of(by, *row))
    return {group: {None: kernel_figures([k for _, k in rows])} |
            {name: kernel_figures([k for _, k in of_name])
             for name, of_name in sort(rows, lambda row: row[1].name).items()}
            for group, rows in groups.items()}


def busy(kernels):
    times = [(k.start, k.stop) for k in kernels if k.start is not None]
    return union(times) if times else None


# ---- time line ----

def stream_of(p, k):
    """What a kernel counts as: by its name, else by the operations of the call that caused it."""
    stream = KERNELS[k.what][2]
    if stream != "communication" or k.call is None:
        return stream
    ops = {OPS[part.op] for part in p.parts if part.launch is k.call}
    return ops.pop() if len(ops) == 1 else "communication"


def events_of(p, gpu):
    """(start, stop, stream) of what has times on a GPU of a process."""
    out = [(k.start, k.stop, stream_of(p, k)) for k in p.kernels if k.gpu == gpu and k.start is not None]
    return out + [(c.start, c.stop, "copy") for c in p.copies if gpu in gpus_of_copy(p, c)]


def gpus_of_copy(p, c):
    """Those at its ends that its process computes on; if it computes on neither its target, or its source."""
    return set(p.gpus()) & {c.source, c.target} or {c.source if c.target is None else c.target}


def gpus_of(p):
    return set(p.gpus()).union(*(gpus_of_copy(p, c) for c in p.copies))


def submits(p):
    """(submit, start, stop) of everything with times; unknown: as it starts."""
    return ([(k.start if k.submit is None else k.submit, k.start, k.stop) for k in p.kernels
             if k.start is not None] + [(c.submit, c.start, c.stop) for c in p.copies])


def submits_of(p, gpu):
    """(submit, start, stop) of what has times on a GPU; None: unknown."""
    return ([(k.submit, k.start, k.stop) for k in p.kernels if k.gpu == gpu and k.start is not None]
            + [(c.submit, c.start, c.stop) for c in p.copies if gpu in gpus_of_copy(p, c)])


def extent(p):
    work = submits(p)
    return (min(a for _, a, _ in work), max(b for _, _, b in work)) if work else None


def windows(p):
    """(number, start, stop) of a process's steps: the marker's, or when all that was submitted before
    had ended; without markers the run."""
    steps = sorted((r for r in p.ranges if r.text.startswith("step ")), key=lambda r: r.start)
    work = submits(p)
    if not work:
        return []
    if not steps:
        return [(0, *extent(p))]
    place = lambda at: max([at] + [stop for submit, _, stop in work if submit < at])
    last = max(stop for _, _, stop in work)
    return [(int(r.text.split()[1]), place(r.start), max(last, r.start) if r.stop is None else place(r.stop))
            for r in steps]


def breakdown(events, a, b):
    """TraceLens's and AORTA's figures of a window, by elementary intervals."""
    cuts = sorted({a, b} | {t for x, y, _ in events for t in (x, y) if a < t < b})
    sums = collections.Counter()
    before = frozenset()
    for x, y in zip(cuts, cuts[1:]):
        on = frozenset(s for u, v, s in events if u <= x and v >= y)
        comm = on & COMMUNICATION
        for stream in on:
            sums[stream] += y - x
        sums["busy"] += (y - x) * bool(on)
        sums["comm"] += (y - x) * bool(comm)
        sums["exposed_comm"] += (y - x) * (bool(comm) and "compute" not in on)
        sums["exposed_copy"] += (y - x) * (on == {"copy"})
        sums["compute_comm"] += (y - x) * (bool(comm) and "compute" in on)
        for kind in ("allreduce", "reducescatter"):
            sums[f"compute_{kind}"] += (y - x) * ({"compute", kind} <= on)
        sums["segments"] += bool(on) and on != before
        before = on
    sums["idle"] = b - a - sums["busy"]
    sums["wall"] = b - a
    return sums


def idle_times(p, gpu, a, b):
    """(start, stop, cause) of each instant in which a GPU does nothing: its queues are empty, or something
    was submitted and has not started (held), or nothing says when what ends the gap was submitted."""
    work = [w for w in submits_of(p, gpu) if w[1] < w[2]]
    cuts = sorted({a, b} | {t for w in work for t in w if t is not None and a < t < b})
    out = []
    for x, y in zip(cuts, cuts[1:]):
        if any(start <= x and stop >= y for _, start, stop in work):
            continue
        later = [w for w in work if w[1] >= y]
        first = min((start for _, start, _ in later), default=None)
        is_known = all(submit is not None for submit, start, _ in later if start == first)
        is_held = any(submit is not None and submit <= x for submit, *_ in later)
        out.append((x, y, "unknown" if not is_known else "held" if is_held else "empty"))
    return out


def idle_causes(p, gpu, a, b, has_calls):
    """(start, stop, cause, is micro) of the same instants, as a time line names them: in each what the
    host does decides where the queues are empty, and else for how long of the gap they were not."""
    waits = sorted((c.start, -c.stop, "waiting_for_peer" if c.api.startswith("nccl") else "synchronisation")
                   for c in p.calls if c.api.startswith("nccl") or "Synchronize" in c.api)
    gaps = []
    for x, y, cause in idle_times(p, gpu, a, b):
        if not gaps or gaps[-1][-1][1] < x:
            gaps.append([])
        gaps[-1].append((x, y, cause))
    out = []
    for gap in gaps:
        is_micro = gap[-1][1] - gap[0][0] < 10_000
        is_short = sum(y - x for x, y, cause in gap if cause == "held") <= 20_000
        for x, y, cause in gap:
            if cause != "empty":
                out.append((x, y, cause if cause == "unknown" else "launch" if is_short else "dependency", is_micro))
                continue
            cuts = sorted({x, y} | {t for start, stop, _ in waits for t in (start, -stop) if x < t < y})
            for u, v in zip(cuts, cuts[1:]):
                does = [what for start, stop, what in waits if start <= u and -stop >= v]
                out.append((u, v, does[0] if does else "host_late" if has_calls else "queue_empty", is_micro))
    return out


def timeline(session):
    """{(rank, gpu): [(number, start, stop, figures)]}"""
    return {(p.rank, gpu): [(n, START + a, START + b, breakdown(events_of(p, gpu), a, b))
                            for n, a, b in windows(p)]
            for p in session.processes if extent(p) for gpu in gpus_of(p)}


def joined(session):
    """The reason's base: from the first step (of three the second) to the last, as one."""
    sums = collections.Counter()
    for p in session.processes:
        steps = windows(p)
        if not steps or not extent(p):
            continue
        first, last = extent(p)
        a = max(steps[1 if len(steps) > 2 else 0][1], first)
        b = min(steps[-1][2], last)
        for gpu in gpus_of(p) if a < b else ():
            sums += breakdown(events_of(p, gpu), a, b)
    return sums


# ---- what rtl diff compares ----

DIFF = {"step": "wall", "computation": "compute", "exposed_communication": "exposed_comm",
        "exposed_copies": "exposed_copy", "idle": "idle", "communication": "comm",
        "hidden_communication": "compute_comm", "hidden_allreduce": "compute_allreduce",
        "hidden_reducescatter": "compute_reducescatter"}


def side(session):
    """{figure: (mean of ranks x GPUs x steps, variance of steps, steps)}; the first of three is warm-up,
    a last one that nothing ends is left out."""
    lanes = []
    for (rank, _), steps in timeline(session).items():
        markers = [r for r in session.processes[rank].ranges if r.text.startswith("step ")]
        steps = steps[1 if len(steps) > 2 else 0:]
        if len(steps) > 1 and markers and max(markers, key=lambda r: r.start).stop is None:
            steps = steps[:-1]
        lanes.append([figures for *_, figures in steps])
    out = {}
    for name, part in DIFF.items():
        each = [figures[part] for lane in lanes for figures in lane]
        means = [statistics.mean(lane[i][part] for lane in lanes if i < len(lane))
                 for i in range(max(map(len, lanes)))]
        out[name] = (statistics.mean(each), statistics.variance(means) if len(means) > 1 else None, len(means))
    return out


# ---- collectives ----

class Launch:
    """A rank's kernels of a call, or of the end of a group."""

    def __init__(self, p, part):
        kernels = [k for k in p.kernels if k.call is part.launch]
        self.p, self.comm, self.call = p, part.comm, part.launch
        self.is_timed = bool(kernels) and all(k.start is not None for k in kernels)
        self.gpu = kernels[0].gpu if kernels else None
        if self.is_timed:
            self.start, self.stop = min(k.start for k in kernels), max(k.stop for k in kernels)


def collectives(session):
    """{(comm, first seq): row}: operations are collectives that hang together by launches."""
    launches, members = {}, collections.defaultdict(list)
    here = collections.Counter(comm for p in session.processes for comm in {part.comm for part in p.parts})
    for p in session.processes:
        for part in p.parts:
            key = p.rank, id(part.launch)
            if key not in launches:
                launches[key] = Launch(p, part)
            members[part.comm, part.seq].append((part, launches[key]))
    operations = []
    for (comm, seq), parts in sorted(members.items()):
        found = [op for op in operations if any(launch in op["launches"] for _, launch in parts)]
        operation = found[0] if found else {"comm": comm, "seq": seq, "parts": [], "launches": []}
        if not found:
            operations.append(operation)
        operation["parts"] += [part for part, _ in parts]
        operation["launches"] += [x for _, x in parts if x not in operation["launches"]]
        operation["lacks"] = operation.get("lacks", False) or len(parts) < here[comm]
    return {(o["comm"], o["seq"]): operation_figures(o) for o in operations}


def operation_figures(o):
    launches = o["launches"]
    row = {"state": "incomplete" if o["lacks"] else
                    "timed" if all(x.is_timed for x in launches) else "untimed",
           "parts": len({p.seq for p in o["parts"]}), "ranks": len(launches), "launches": launches}
    if row["state"] != "timed":
        return row
    starts = sorted(x.start for x in launches)
    stops = [x.stop for x in launches]
    row |= {"start_ns": START + starts[0], "latency_ns": max(stops) - starts[-1],
            "comm_latency_ns": min(x.stop - x.start for x in launches),
            "skew_start_ns": starts[-1] - starts[0], "skew_end_ns": max(stops) - min(stops)}
    if len(starts) > 1:
        row["late_ns"] = starts[-1] - starts[(len(starts) - 2) // 2]
    return row


def lane_classes(p, gpu, a, b):
    """What a GPU does between a and b: it computes, else copies, else communicates, else is idle."""
    at = lambda *kinds: [(x, y) for x, y, s in events_of(p, gpu) if s in kinds]
    compute, copy, comm = at("compute"), at("copy"), at(*COMMUNICATION)
    sums = [union(clip(kinds, a, b)) for kinds in (compute, compute + copy, compute + copy + comm)]
    out = {"compute": sums[0], "copy": sums[1] - sums[0], "comm": sums[2] - sums[1], "empty": 0, "held": 0,
           "unknown": 0}
    for x, y, cause in idle_times(p, gpu, a, b):
        out[cause] += y - x
    return out


# ---- tree ----

def fold(text):
    return "step N" if text.startswith("step ") else text


def range_path(r):
    return () if r is None else range_path(r.parent) + ((("started" if r.kind == "start" else "range"),
                                                         fold(r.text)),)


def call_path(c):
    above = call_path(c.parent) if c.parent else range_path(c.marker)
    return above + (("call", c.api),)


def tree(session, by_rank):
    """{path: figures}; a path is of (kind, name)."""
    nodes = collections.defaultdict(collections.Counter)

    def add(path, what, amount):
        for depth in range(len(path)):
            nodes[path[:depth + 1]][what] += 0  # what holds something is there, too
        nodes[path][what] += amount

    for p in session.processes:
        root = lambda tid, p=p: (("process", f"rank {p.rank}"), ("thread", f"thread {tid}")) if by_rank else ()
        for r in p.ranges:
            path = root(r.tid) + range_path(r)
            add(path, "count", 1)
            add(path, "open", r.stop is None)
            add(path, "host_ns", 0 if r.stop is None else r.stop - r.start)
        for c in p.calls:
            path = root(c.tid) + call_path(c)
            add(path, "count", 1)
            add(path, "host_ns", c.stop - c.start)
        for k in p.kernels:
            path = root(k.tid) + (call_path(k.call) if k.call else range_path(k.marker))
            for depth in range(len(path) + 1):
                add(path[:depth], "gpu_ns", k.length)
                add(path[:depth], "kernels", 1)
                add(path[:depth], "untimed", k.start is None)
            add(path, "gpu_self_ns", k.length)
            add(path, "kernels_self", 1)
            leaf = path + (("kernel", k.name),)
            add(leaf, "gpu_ns", k.length)
            add(leaf, "kernels", 1)
            add(leaf, "untimed", k.start is None)
    return nodes
