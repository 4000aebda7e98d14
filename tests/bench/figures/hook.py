# SPDX-License-Identifier: MIT
"""The dispatch hook: instructions, time and system calls of the submitting thread, without ROCr.

tests/bench/runtime/hook_cost.c submits kernels on a runtime that costs next to nothing. What recording
costs is the shim less its twin, which follows every packet and records none; of rocm-trace-lite
(standard, which records all of them too) the same less an intercept queue with an empty callback.
Instructions are callgrind's, of two lengths, so that what comes once is in neither; times are of the
thread's processor clock, in turns, of the batches during which no other thread used the core.
"""
from bench import BenchError, Figure, Turns, compare_added
from hook import Hooks, alone_note

WIN, FAR = "<= 0.25", "<= 0.1"


def against_peer(bench, name, unit, ours, peer):
    """Of instructions, which repeat: no spread."""
    if peer is None:
        return bench.needs_peer(name, unit, WIN)
    if ours <= 0 or peer <= 0:
        raise BenchError(f"{name}: {ours:.0f} instructions to {peer:.0f}: recording is not free")
    return Figure(name, ours, unit, None, None, "rocm-trace-lite's", peer, ours / peer, WIN, FAR)


def instructions(bench, hooks):
    cost = {name: hooks.instructions(name) for name in hooks.ways if name not in ("off", "dormant")}
    bench.samples["instructions"] = cost
    peer = cost["peer"] - cost["empty intercept"] if bench.peer else None
    unit = "instructions"
    yield against_peer(bench, "hook over its twin", unit, cost["shadow"] - cost["shadow twin"], peer)
    yield against_peer(bench, "hook over its twin, intercept queue", unit,
                       cost["intercept"] - cost["intercept twin"], peer)
    # Each packet has a signal of the program's: the tool remembers it, and the next store to it reads that.
    for front_end in ("shadow", "intercept"):
        own, twin = (hooks.instructions(name, words=("own",)) for name in (front_end, f"{front_end} twin"))
        yield Figure(f"hook over its twin, with the program's signal, {front_end}", own - twin, unit,
                     baseline="without", baseline_value=cost[front_end] - cost[f"{front_end} twin"])
    whole = cost["shadow"] - cost["none"]
    yield Figure("hook with its front end", whole, unit, baseline="rocm-trace-lite's with its queue",
                 baseline_value=cost["peer"] - cost["none"] if bench.peer else None,
                 ratio=whole / (cost["peer"] - cost["none"]) if bench.peer else None)


def times(bench, hooks):
    batches = 20 if bench.quick else 200
    names = ["none", "shadow", "shadow twin"] + (["empty intercept", "peer"] if bench.peer else [])
    said = {}

    def measure(name):
        said.setdefault(name, []).append(hooks.run_alone(name, batches))
        return said[name][-1]["alone_ns"]
    turns = bench.interleaved({name: lambda name=name: measure(name) for name in names})
    bench.samples["hook_cost"] = said
    ours = turns["shadow"].minus(turns["shadow twin"])
    name = "hook over its twin, time"
    goals = bench.timed(WIN), bench.timed(FAR)
    note = alone_note([run for runs in said.values() for run in runs[1:]], batches)
    if bench.peer:
        peer = turns["peer"].minus(turns["empty intercept"])
        yield compare_added(name, "ns", ours, ("rocm-trace-lite's", peer), goals, note)
    else:
        yield bench.needs_peer(name, "ns", goals[0])
    clock = Turns([run["clock_ns"] for run in said["shadow"][1:]])
    yield compare_added("hook in clock readings", "ns", ours, ("clock_gettime(MONOTONIC)", clock),
                        (bench.timed("<= 2"), bench.timed("<= 1")), note)
    whole = turns["shadow"].minus(turns["none"])
    yield Figure("hook with its front end, time", whole.median, "ns", whole.low, whole.high)


def system_calls(bench, hooks):
    ours = hooks.system_calls("shadow")
    peer = hooks.system_calls("peer") if bench.peer else {}
    bench.samples["system_calls"] = {"shadow": ours, "peer": peer}
    base = "rocm-trace-lite" if bench.peer else ""
    yield Figure("system calls of the hook", sum(ours.values()), "a dispatch", baseline=base,
                 baseline_value=sum(peer.values()) if bench.peer else None, goal="= 0",
                 note=", ".join(ours))
    yield Figure("futexes of the hook", ours.get("futex", 0), "a dispatch", baseline=base,
                 baseline_value=peer.get("futex", 0) if bench.peer else None, goal="= 0")


def measure(bench):
    hooks = Hooks(bench)
    yield from instructions(bench, hooks)
    yield from system_calls(bench, hooks)
    yield from times(bench, hooks)
