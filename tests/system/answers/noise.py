#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""noise.py RTL [FIRST COUNT]: how often the sentence blames a rank where all are alike.

Jobs from seeds: ranks in one communicator or in pairs, a mix of kernels, every kernel of every rank as
long as chance says; hosts far ahead. Where no rank is slower than the others none may be called so, and
where no part reaches the tenth of the time that makes it a reason there is none. The same jobs with one rank
that is a third slower must name that rank, or silence would pass; where the noise is as great as that,
at least no other. Seeds are fixed, so are answers. Chance names a rank in one of 1,000 jobs, and hides one that
is slow in a few of those with few steps: of thousands of jobs so many may be wrong.
"""
import collections
import os
import pathlib
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from asking import ask
from session import GENERIC, Job, Kernel, Part, Process

US = 1000
# What a kernel of a kind takes: gemms of two sizes, elementwise, fill.
KINDS = ((0, 400 * US), (1, 900 * US), (2, 120 * US), (7, 15 * US))
# How the ranks are noisy: the spread of each kernel, of all of a rank's step, and of how many there are.
LEVELS = {"quiet": (0.005, 0, 0), "usual": (0.05, 0.01, 0), "loud": (0.15, 0.03, 0),
          "mixed": (0.05, 0.01, 0.3), "wild": (0.5, 0.1, 0)}
DROWNS = {"mixed", "wild"}


class Noise:
    def __init__(self, seed, slow=None):
        rng = self.rng = random.Random(seed)
        self.level = rng.choice(sorted(LEVELS))
        self.ranks = rng.choice((2, 2, 3, 4, 8))
        self.pairs = self.ranks % 2 == 0 and rng.random() < 0.4
        self.steps = rng.choice((11, 12, 15, 20, 40))
        # Hosts are ahead; or late for half of the kernels, by up to a tenth of them.
        self.gaps = rng.choice((0, 0, 0.1))
        self.layout = [rng.choice(KINDS) for _ in range(rng.randrange(6, 16))]
        # GPUs of one kind differ by a per cent or so, for ever.
        self.speeds = [rng.gauss(1, 0.004) for _ in range(self.ranks)]
        self.slow = None
        if slow:
            self.slow = rng.randrange(self.ranks)
            self.speeds[self.slow] *= slow

    def job(self):
        job = Job([Process(rank) for rank in range(self.ranks)], True)
        groups = [(r, r + 1) for r in range(0, self.ranks, 2)] if self.pairs else [range(self.ranks)]
        now = [0] * self.ranks
        for step in range(self.steps):
            for p in job.processes:
                now[p.rank] = self.compute(p, now[p.rank], step)
            for number, group in enumerate(groups):
                end = max(now[r] for r in group) + 25 * US
                for me, rank in enumerate(group):
                    communicate(job.processes[rank], 50 + number, me, len(group), step, now[rank], end)
                    now[rank] = end
        return job

    def compute(self, p, at, step):
        each, whole, count = LEVELS[self.level]
        pace = self.speeds[p.rank] * max(0.5, self.rng.gauss(1, whole))
        for what, length in self.layout:
            for _ in range(2 if self.rng.random() < count else 1):
                took = int(length * pace * max(0.3, self.rng.gauss(1, each)))
                gap = int(took * self.gaps * self.rng.random()) if self.gaps else 0
                is_late = gap and self.rng.random() < 0.5
                at += gap
                p.kernels.append(Kernel(p.rank, p.rank, what, at, took, at - (0 if is_late else 500 * US)))
                at += took
        return at


def communicate(p, comm, me, size, seq, start, end):
    call = p.call("ncclAllReduce", None, None, 7, start - 500 * US, start - 499 * US)
    p.parts.append(Part(comm, me, size, seq, "ncclAllReduce", call, call))
    p.kernels.append(Kernel(p.rank, p.rank, GENERIC, start, end - start, start - 500 * US, call=call))


def ask_about(seed, slow, folder):
    noise, path = Noise(seed, slow), folder / f"{seed}-{slow}.db"
    noise.job().store(path)
    said = ask("summary", path)["reason"]
    path.unlink()
    return noise, said


def judge(noise, said):
    """What is wrong with it; None: nothing."""
    blames = said["code"] in ("slow_rank", "late_rank")
    if blames and said["rank"] != noise.slow:
        return "blamed"
    if noise.slow is not None:
        return None if blames or noise.level in DROWNS else "not named"
    parts = [said["all"][f"{part}_pct"] for part in ("exposed_comm", "exposed_memcpy", "idle")]
    return "no reason, and not none" if max(parts) < 9.9 and said["code"] != "none" else None


def main():
    first, count = (int(n) for n in sys.argv[2:4]) if len(sys.argv) > 3 else (1, 0)
    count = count or (3000 if os.environ.get("RTL_TEST_LONG") else 100)
    os.environ.pop("RTL_CATEGORIES", None)
    rates, bad = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        cases = [(seed, slow) for seed in range(first, first + count) for slow in (None, 1.33)]
        asked = pool.map(lambda case: ask_about(*case, pathlib.Path(name)), cases)
        for (seed, slow), (noise, said) in zip(cases, asked):
            what = ("alike" if noise.slow is None else "one slow", noise.level)
            rates[what] += 1
            wrong = judge(noise, said)
            if wrong:
                rates[what + ("wrong",)] += 1
                bad.append(f"seed {seed}: {wrong}: {noise.ranks} ranks{' in pairs' if noise.pairs else ''}, "
                           f"{noise.steps} steps, {noise.level}, gaps {noise.gaps}, slow: {noise.slow}: {said['text']}")
    for what, n in sorted((w, n) for w, n in rates.items() if len(w) == 2):
        print(f"{what[0]:9} {what[1]:6} {rates[what + ('wrong',)]:4} of {n:4} wrong")
    for line in bad[:20]:
        print(line)
    blamed = sum(": blamed: " in line for line in bad)
    sys.exit(blamed > count / 500 or len(bad) - blamed > count / 100)


if __name__ == "__main__":
    main()
