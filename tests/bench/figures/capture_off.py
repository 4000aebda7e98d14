# SPDX-License-Identifier: MIT
"""The shim loaded and not recording: what the submitting thread pays for it, and how often its own thread looks.

`off` is RTL_MODE=off: the shim is in the process, installs nothing, and has no thread. `dormant` waits for rtl
ctl start, its queues followed and every packet counted, by a thread of its own. Instructions are the
submitting thread's on the runtime without ROCr, whose dispatch costs nothing but the program's own 72; the
goal is of a dispatch as a program sees it: of the wall clock of one of many kernels of 2 us on the device, no tool
beside them. Waits: how often threads of the shim came out of one, a second, while the program submitted.
"""
import time

from bench import BenchError, Figure
from hook import PACKETS, SHIM, Hooks
from tools import Tools

# One a second, and those until it has come to rest.
ADDED, WAITS = "<= 0.01", "<= 1.5"
# Ten seconds: in two, its coming to rest would be half of it.
BATCHES = 200000
QUEUE = 131072


def instructions(bench, hooks):
    none = hooks.instructions("none")
    for way, goal in (("off", ADDED), ("dormant", "")):
        cost = hooks.instructions(way)
        bench.samples[way] = {"none": none, "instructions": cost}
        yield Figure(f"capture off, {way}", cost - none, "instructions", baseline="no tool, without ROCr",
                     baseline_value=none, ratio=cost / none - 1, goal=goal)


def kernel_ns(bench):
    """Wall clock of one kernel of 2 us of many, the program's start and end left out."""
    tools = Tools(bench, SOFTGPU_COUNT=1, SOFTGPU_REALTIME=1, SOFTGPU_FAULT="default duration=2us")

    def wall_ns(dispatches):
        begin = time.monotonic()
        tools.run("none", bench.program("rtl-demo", "bin"), "--dispatches", dispatches, "--queue-size", QUEUE)
        return (time.monotonic() - begin) * 1e9

    return bench.slope(wall_ns, 10000, 50000 if bench.quick else 110000)


def of_a_kernel(bench, hooks):
    batches = 200 if bench.quick else 2000
    turns = bench.interleaved({way: lambda way=way: hooks.run(way, batches)["thread_ns"]
                               for way in ("none", "off", "dormant")})
    wall = kernel_ns(bench)
    for way in ("off", "dormant"):
        added = turns[way].minus(turns["none"])
        ratio = added.times(1 / wall)
        yield Figure(f"capture off, {way}: of a kernel of 2 us", added.median, "ns", ratio.low, ratio.high,
                     "no tool, wall", wall, ratio.median, goal=bench.timed(ADDED))


def waits(bench, hooks):
    batches = BATCHES // 5 if bench.quick else BATCHES
    for way in ("off", "dormant"):
        said = hooks.run(way, batches)
        if said["tool"] != SHIM:
            raise BenchError(f"{way}: {SHIM} is not in the process, but {said['tool'] or 'no tool'}")
        bench.samples[f"{way}, said"] = said
        rate = said["switches"] / said["seconds"]
        yield Figure(f"capture off, {way}: waits of its threads", rate, "a second", baseline="threads",
                     baseline_value=said["threads"], goal=bench.timed(WAITS),
                     note=f"{said['switches']} in {said['seconds']:.1f} s, {batches * PACKETS} dispatches")


def measure(bench):
    hooks = Hooks(bench)
    yield from instructions(bench, hooks)
    yield from of_a_kernel(bench, hooks)
    yield from waits(bench, hooks)
