# SPDX-License-Identifier: MIT
"""The shim loaded and not recording: instructions of the submitting thread over no tool, waits of its thread.

`off` is RTL_MODE=off: the shim is in the process, installs nothing, and has no thread. `dormant` waits for rtl
ctl start, its queues followed and every packet counted, by a thread of its own. Both have the same goals. Waits:
how often threads of the shim came out of one while the program submitted.
"""
from bench import BenchError, Figure
from hook import SHIM, Hooks

# Of a dispatch, here one that costs nothing but the program's own 72 instructions.
ADDED, WAITS = "<= 0.01", "= 0"
BATCHES = 50


def measure(bench):
    hooks = Hooks(bench)
    none = hooks.instructions("none")
    for way in ("off", "dormant"):
        said = hooks.run(way, BATCHES)
        if said["tool"] != SHIM:
            raise BenchError(f"{way}: {SHIM} is not in the process, but {said['tool'] or 'no tool'}")
        cost = hooks.instructions(way)
        bench.samples[way] = {"none": none, "instructions": cost, "said": said}
        yield Figure(f"capture off, {way}", cost - none, "instructions", baseline="no tool",
                     baseline_value=none, ratio=cost / none - 1, goal=ADDED,
                     note="of a dispatch without any runtime's own cost")
        yield Figure(f"capture off, {way}: waits of its threads", said["switches"], "waits", baseline="threads",
                     baseline_value=said["threads"], goal=WAITS)
