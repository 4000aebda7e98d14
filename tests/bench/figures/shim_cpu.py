# SPDX-License-Identifier: MIT
"""All that a tool costs the process per dispatch: hook, harvest, batches and sending, over no tool.

As in the figure `hook`, with a real collector; the tool's own thread counts too, and in the time what
the kernel does for it. rocm-trace-lite writes its database in that thread; ours is the collector's, on
another account: `ingest` has it. The runtime's calls are the same few loads on both sides.
"""
from bench import BenchError, Figure, compare_added
from hook import Hooks

GOAL, FAR = "<= 0.05", "<= 0.02"


def measure(bench):
    hooks = Hooks(bench)
    batches = 20 if bench.quick else 200
    names = ["none", "shadow"] + (["peer"] if bench.peer else [])
    cost = {name: hooks.instructions(name, with_thread=True) for name in names}
    ours = cost["shadow"] - cost["none"]
    if bench.peer:
        peer = cost["peer"] - cost["none"]
        if ours <= 0 or peer <= 0:
            raise BenchError(f"{ours:.0f} instructions to {peer:.0f}: recording is not free")
        yield Figure("all of the shim", ours, "instructions", None, None, "rocm-trace-lite's", peer,
                     ours / peer, GOAL, FAR)
    else:
        yield Figure("all of the shim", ours, "instructions", baseline="rocm-trace-lite", goal=GOAL,
                     note="needs --peer")
    turns = bench.interleaved(
        {name: lambda name=name: hooks.run(name, batches)["tool_ns"] for name in names})
    ours = turns["shadow"].minus(turns["none"])
    if bench.peer:
        peer = turns["peer"].minus(turns["none"])
        yield compare_added("all of the shim, time", "ns", ours, ("rocm-trace-lite's", peer),
                            (bench.timed(GOAL), bench.timed(FAR)))
    else:
        yield Figure("all of the shim, time", ours.median, "ns", ours.low, ours.high,
                     "rocm-trace-lite", goal=bench.timed(GOAL), note="needs --peer")
