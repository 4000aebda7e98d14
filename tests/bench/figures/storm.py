# SPDX-License-Identifier: MIT
"""A whole program that submits kernels of 2 us as fast as it can: wall clock over no tool, and the peer's.

rtl-demo --dispatches, from its start to the end of its last process and, under rtl, of the collector: the
one database is there, closed and complete. The peer is its library alone, whose users have a file a rank then;
and, as a second baseline where there are several, with its own _merge_traces, after which they have one, too (what its
command does besides, a summary and a timeline, is left out). Goal: an eighth of what the peer adds (the median of the turns' ratios), or
less than the program itself varies (between its quartiles), which must be less than a quarter of it. The processor's time of all processes, the collector's too, follows: it goes less with
what else runs.
"""
from bench import Figure, Turns, compare_added
from tools import NAMES, PEER, Tools, name

# The largest queue that the runtime makes: nothing ever waits for room, and the runtime's intercept queue
# never has more than it can hold, which would abort the program.
QUEUE = 131072
GOAL = "<= 0.125"
# A program that varies by more than this part of itself says nothing of what a tool adds to it.
SPREAD_PART = 4


def storm(bench, tools, ranks):
    dispatches = 2000 if bench.quick else 100000
    command = [bench.program("rtl-demo", "bin"), "--ranks", ranks, "--dispatches", dispatches,
               "--queue-size", QUEUE]
    variants = ["none", "shadow", "intercept", "dormant", "off", "empty", *(PEER if tools.has_peer else ())]

    spent, merged = {v: [] for v in variants}, []

    def once(variant):
        def run():
            wall, cpu = tools.cost(variant, *command, dispatches=ranks * dispatches)
            spent[variant].append(cpu)
            if variant == "standard" and ranks > 1:
                merged.append(wall + tools.merge_peer())
            return wall
        return run

    words = f"{ranks} {'rank' if ranks == 1 else 'ranks'}"
    found = bench.interleaved({f"{v}, {words}": once(v) for v in variants})
    # The first turn warms up.
    cpu = {v: Turns(samples[1:]) for v, samples in spent.items() if v not in tools.failed}
    bench.samples.update({f"{v}, {words}, CPU": turns.samples for v, turns in cpu.items()})
    turns = {v: found[f"{v}, {words}"] for v in variants if f"{v}, {words}" in found}
    if merged and "standard" in turns:
        turns["merged"] = Turns(merged[1:])
        bench.samples[f"merged, {words}"] = merged[1:]
    return turns, cpu, words


def processor(cpu, words):
    none = cpu["none"]
    yield Figure(f"storm, {words}: no tool, CPU", none.median * 1e3, "ms", none.low * 1e3, none.high * 1e3)
    for variant in cpu:
        if variant == "none":
            continue
        added = cpu[variant].minus(none)
        yield Figure(f"storm, {words}: {name(variant)}, CPU added", added.median * 1e3, "ms", added.low * 1e3,
                     added.high * 1e3, NAMES["none"], none.median * 1e3)


def against_peer(bench, tools, turns, variant, words, peer_name="standard"):
    added, none = turns[variant].minus(turns["none"]), turns["none"]
    what = f"storm, {words}: {name(variant)}, added"
    if "standard" in tools.failed:
        return Figure(what, added.median * 1e3, "ms", baseline=name("standard"), goal=bench.timed(GOAL),
                      note=f"not judged: {name('standard')} {tools.failed['standard']}")
    if "standard" not in turns:
        missing = bench.needs_peer(what, "ms", bench.timed(GOAL))
        missing.value = added.median * 1e3
        return missing
    peer = turns[peer_name].minus(none)
    varies, goal = f"no tool varies by {none.spread * 1e3:.0f} ms", bench.timed(GOAL)
    varies = "; ".join(filter(None, [varies, tools.coverage("standard")]))
    found = dict(name=what, value=added.median * 1e3, unit="ms", baseline=name(peer_name) + ", added",
                 baseline_value=peer.median * 1e3, goal=goal)
    if none.spread > none.median / SPREAD_PART:
        return Figure(**found, note=f"not judged: more than a quarter of it, {varies}")
    if added.median <= none.spread:
        return Figure(**found, met=True if goal else None, note=f"within the spread: {varies}")
    return compare_added(what, "ms", added.times(1e3), (found["baseline"], peer.times(1e3)), (goal, ""),
                         varies)


def measure(bench):
    for ranks in (1, 8):
        tools = Tools(bench, SOFTGPU_COUNT=8, SOFTGPU_REALTIME=1, SOFTGPU_FAULT="default duration=2us")
        turns, cpu, words = storm(bench, tools, ranks)
        none = turns["none"]
        yield Figure(f"storm, {words}: no tool", none.median * 1e3, "ms", none.low * 1e3, none.high * 1e3)
        for variant in ("shadow", "intercept"):
            yield against_peer(bench, tools, turns, variant, words)
            if "merged" in turns:
                yield against_peer(bench, tools, turns, variant, words, "merged")
        for variant in ("dormant", "off", "empty", *(PEER if tools.has_peer else ())):
            if variant in tools.failed:
                yield tools.missing(f"storm, {words}: {name(variant)}, added", "ms", variant)
                continue
            added = turns[variant].minus(none)
            yield Figure(f"storm, {words}: {name(variant)}, added", added.median * 1e3, "ms", added.low * 1e3,
                         added.high * 1e3, NAMES["none"], none.median * 1e3)
        yield from processor(cpu, words)
