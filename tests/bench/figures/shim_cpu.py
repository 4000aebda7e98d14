# SPDX-License-Identifier: MIT
"""All that a tool costs the process per dispatch: hook, harvest, batches and sending, over no tool.

As in the figure `hook`, with a real collector; the tool's own thread counts too, and in the time what
the kernel does for it. rocm-trace-lite writes its database in that thread; ours is the collector's, on
another account: `ingest` has it. The runtime's calls are the same few loads on both sides.
"""
from bench import Figure
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
        ratio = ours.over(peer)
        yield Figure("all of the shim, time", ours.median, "ns", ratio.low, ratio.high,
                     "rocm-trace-lite's", peer.median, ratio.median, GOAL, FAR)
    else:
        yield Figure("all of the shim, time", ours.median, "ns", ours.low, ours.high,
                     "rocm-trace-lite", goal=GOAL, note="needs --peer")
