# SPDX-License-Identifier: MIT
"""A completion signal on every dispatch, which the program waits for: wall clock over no tool.

dispatch-cost on the runtime: each dispatch has one of 64 signals, which the program waits for before it uses it
again, and a round is over when its last kernel has ended, so that the time that a tool adds to a signal shows here.
First rounds of 8,192 dispatches; then 100,000 at once in a process that has done nothing before, on a queue of
131,072 packets, which the goals are about; then rounds of kernels that take 2 us, as the shortest of most programs
do. The software GPU has a processor of its own, which the threads of a tool share with it. rtl dormant and the empty
intercept queue follow the packets without recording any, which is the least that a tool of each front end can add.

The runtime looks at a signal for 200 us and then sleeps. A round in which the program slept shows the scheduler, which
has put it and its GPU on one processor, as much as the tool: the figure is of those in which it never did, and the
note has all of them, and what part of them was slept through. Where it slept in nearly all, the figure is of all, and
not judged if it did so without a tool, too.
"""
from bench import Figure, Turns
from tools import BURST, NAMES, PEER, Tools, name

SIGNALS = 64
AT_ONCE = 100000
RUNS_MIN = 21
GOALS = {"shadow": ("<= 1.25", ""), "intercept": ("<= 1.6", "")}
LASTING = {"SOFTGPU_REALTIME": 1, "SOFTGPU_FAULT": "default duration=2us"}


def awake(this, none, rounds):
    """The turns of both in which the program never slept, and a note, from what dispatch-cost printed."""
    both = [(a[2], b[2]) for a, b in zip(this, none, strict=True) if a[3] and b[3]]
    whole = Turns([a[0] for a in this]), Turns([b[0] for b in none])
    slept = [1 - sum(each[3] for each in said) / (rounds * len(said)) for said in (this, none)]
    note = f"slept in {slept[0]:.0%} of the rounds, without a tool {slept[1]:.0%}"
    if 2 * len(both) <= len(this):
        # Of the scheduler, and of no tool, where the program alone does.
        return *whole, f"{'not judged: ' if slept[1] > 0.5 else ''}{note}: this is of all"
    return Turns([a for a, _ in both]), Turns([b for _, b in both]), \
        f"{note}; of all {whole[0].over(whole[1]).median:.2f}"


def figures(bench, words, rounds, at_once, goals, **env):
    tools = Tools(bench, is_strict=False, **env)
    program = bench.program("dispatch-cost")
    runs = bench.runs if bench.quick else max(bench.runs, RUNS_MIN)
    variants = ["none", "shadow", "dormant", "intercept", "empty", *(PEER if tools.has_peer else ())]
    # One round more warms up, but of those at once there is only one.
    what = [1 if at_once else rounds, "apart" if bench.is_soft else "wall", SIGNALS]
    if at_once:
        what.append(at_once)
    dispatches = at_once or (rounds + 1) * BURST

    said = {}

    def once(variant):
        def measure():
            words_said = tools.run(variant, program, *what, dispatches=dispatches)[0].split()
            said.setdefault(variant, []).append([int(word) for word in words_said])
            return said[variant][-1][0]
        return measure

    turns = bench.interleaved({f"{v}{words}": once(v) for v in variants}, runs)
    said = {variant: each[1:] for variant, each in said.items()}  # the first turn warms up
    bench.samples[f"awake{words}"] = said
    for variant in variants[1:]:
        what_of = f"a signal on each dispatch{words}: {name(variant)}"
        if f"{variant}{words}" not in turns:
            yield tools.missing(what_of, "ns", variant)
            continue
        goal, stretch = map(bench.timed, goals.get(variant, ("", "")))
        this, none, note = awake(said[variant], said["none"], what[0])
        ratio = this.over(none)
        yield Figure(what_of, this.median, "ns", ratio.low, ratio.high, NAMES["none"], none.median, ratio.median,
                     goal=goal, stretch=stretch, note="; ".join(filter(None, [note, tools.coverage(variant)])))
    if not tools.has_peer:
        yield bench.needs_peer(f"a signal on each dispatch{words}: rocm-trace-lite", "ns", "")


def measure(bench):
    rounds = 3 if bench.quick else 15
    yield from figures(bench, "", rounds, 0, GOALS)
    yield from figures(bench, f", {AT_ONCE:,} at once", rounds, AT_ONCE, GOALS)
    yield from figures(bench, ", kernels of 2 us", 3, 0, GOALS, **LASTING)
