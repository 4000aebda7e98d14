# SPDX-License-Identifier: MIT
"""A completion signal on every dispatch, which the program waits for: wall clock over no tool.

dispatch-cost on the runtime: each dispatch has one of 64 signals, waited for before it is used again, and a
round is over when its last kernel has ended. A tool that stands between the signal and the program shows here.
"""
from bench import Figure
from tools import BURST, NAMES, PEER, Tools, name

SIGNALS = 64
RUNS_MIN = 21
GOALS = {"shadow": ("<= 1.25", ""), "intercept": ("<= 1.6", "")}


def measure(bench):
    tools = Tools(bench, is_strict=False)
    program = bench.program("dispatch-cost")
    rounds = 3 if bench.quick else 15
    runs = bench.runs if bench.quick else max(bench.runs, RUNS_MIN)
    variants = ["none", "shadow", "intercept", "empty", *(PEER if tools.has_peer else ())]

    def once(variant):
        # One round more warms up.
        return lambda: int(tools.run(variant, program, rounds, "wall", SIGNALS,
                                     dispatches=(rounds + 1) * BURST)[0].split()[0])

    turns = bench.interleaved({v: once(v) for v in variants}, runs)
    none = turns["none"]
    for variant in variants[1:]:
        if variant not in turns:
            yield tools.missing(f"a signal on each dispatch: {name(variant)}", "ns", variant)
            continue
        ratio = turns[variant].over(none)
        goal, stretch = map(bench.timed, GOALS.get(variant, ("", "")))
        yield Figure(f"a signal on each dispatch: {name(variant)}", turns[variant].median, "ns", ratio.low,
                     ratio.high, NAMES["none"], none.median, ratio.median, goal=goal, stretch=stretch,
                     note=tools.coverage(variant))
    if not tools.has_peer:
        yield bench.needs_peer("a signal on each dispatch: rocm-trace-lite", "ns", "")
