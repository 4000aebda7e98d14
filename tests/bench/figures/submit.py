# SPDX-License-Identifier: MIT
"""The submitting thread's CPU time per dispatch, over no tool.

dispatch-cost on the runtime, bursts of 8,192 dispatches without a wait for room, with a pause of 20 ms between
them; then 100,000 at once in a process that has done nothing before, on a queue of 131,072 packets, which has no goal:
most of it are the first faults of pages; the same in rounds, whose median has the memory that the first one touched; then bursts
where each has one of 64 signals of the program's own. Of each process the median round; the figure is the median of
the turns' differences from no tool in the same turn, which goes with the load of the machine.
"""
from bench import Figure
from tools import BURST, NAMES, OURS, PEER, Tools, name

AT_ONCE = 100000
GOALS = {"shadow": ("<= 60", "<= 30"), "intercept": ("<= 150", "<= 115")}


def measure(bench):
    # With signals the program uses one again as soon as it can: the times of some are gone then.
    lossless, tools = Tools(bench), Tools(bench, is_strict=False)
    program = bench.program("dispatch-cost")
    rounds, rounds_at_once = (4, 3) if bench.quick else (40, 7)
    variants = ["none", *OURS, "empty", *(PEER if tools.has_peer else ())]

    def once(variant, signals, at_once, times):
        under = tools if signals else lossless
        # One round more warms up, but of those at once.
        dispatches = times * AT_ONCE if at_once else (times + 1) * BURST
        return lambda: int(under.run(variant, program, times, "cpu", signals, *at_once,
                                     dispatches=dispatches)[0].split()[0])

    for words, signals, at_once, times in (
            ("", 0, (), rounds), (f", {AT_ONCE:,} at once", 0, (AT_ONCE,), 1),
            (f", {AT_ONCE:,} at once again", 0, (AT_ONCE,), rounds_at_once), (", with a signal", 64, (), rounds)):
        under = tools if signals else lossless
        turns = bench.interleaved({f"{v}{words}": once(v, signals, at_once, times) for v in variants})
        none = turns[f"none{words}"]
        yield Figure(f"submit: {NAMES['none']}{words}", none.median, "ns", none.low, none.high)
        for variant in variants[1:]:
            if f"{variant}{words}" not in turns:
                yield under.missing(f"submit: {name(variant)}, added{words}", "ns", variant)
                continue
            this = turns[f"{variant}{words}"]
            added = this.minus(none)
            is_judged = not signals and (times > 1 or not at_once)
            goal, stretch = map(bench.timed, GOALS.get(variant, ("", ""))) if is_judged else ("", "")
            yield Figure(f"submit: {name(variant)}, added{words}", added.median, "ns", added.low, added.high,
                         NAMES["none"], none.median, goal=goal, stretch=stretch,
                         note=under.coverage(variant))
    if not tools.has_peer:
        yield bench.needs_peer("submit: rocm-trace-lite, added", "ns", "")
