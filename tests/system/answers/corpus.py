#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corpus.py RTL [FIRST [PART PARTS [KIND...]]]: simulated jobs drawn from seeds, healthy ones and ones with
a culprit, of 8, 16 and 64 ranks. An accusation is a rank that is named although the same job with that rank
mended gains less than 2 %: there is none. A culprit that costs 7 % and more is named with its cause and
its cost. One of each kind; RTL_TEST_LONG=1: each kind of culprit in each layout that it fits in, over 80
causes with three seeds from FIRST on, and 504 healthy jobs: a third each homogeneous, uneven by design, and
near misses. PART of PARTS: that share of them, for several processes at a time."""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from jobs import ADAM, ADD, ATTENTION, ATTENTION_BACK, GEMM, GEMM_BACK, MOE, MS, NORM, RCCL, START, US, Job, Rank
from reasons import accumulating, data_parallel, linked, sharded, tensor_in_data_parallel, tensor_parallel

ACCUSED_PCT, CULPRIT_PCT = 2, 7


class StalledRank(Rank):
    """The scheduler takes the core away from the host now and then. Kernels take longer beside collectives
    where these take compute units from them."""
    contention = 1.0

    def __init__(self, *args):
        super().__init__(*args)
        self.busy = []  # begin and end of collectives

    def link(self, _comm):
        return 1

    def meet(self, key, ranks, op, comm, ns, *args, **kwargs):
        end = yield from super().meet(key, ranks, op, comm, ns * self.link(comm), *args, **kwargs)
        self.busy.append((self.kernels[-1][3], end))
        return end

    def kernel(self, name, ns, stream="compute", after=(), grid=1024):
        end = super().kernel(name, ns, stream, after, grid)
        if self.contention == 1:
            return end
        kernel = self.kernels[-1]
        at, left = kernel[3], kernel[4]
        for begin, until in self.busy[-6:]:
            if until <= at or at + left <= begin:
                continue
            left -= max(0, begin - at)
            at = max(at, begin)
            beside = min(left * self.contention, until - at)
            left -= beside / self.contention
            at += int(beside)
        self.kernels[-1] = kernel[:4] + (int(at + left - kernel[3]),) + kernel[5:]
        self.free[stream] = int(at + left)
        return self.free[stream]

    def launch(self):
        if self.rng.random() < 2e-4:
            self.host(self.rng.uniform(50, 400) * US)
        return super().launch()


def prefetching(before, steps=8, layers=10):
    """Parameters of the next layer are gathered while this one is computed."""
    def program(rank):
        world = rank.job.world
        for step in range(steps):
            rank.step(step)
            before(rank, step)
            got = yield from rank.collective(world, "ncclAllGather", 200 * US, 8 << 20)
            for layer in range(layers):
                ready = got
                if layer + 1 < layers:
                    got = yield from rank.collective(world, "ncclAllGather", 200 * US, 8 << 20)
                rank.kernel(GEMM, 350 * US, after=(ready,))
                rank.kernel(ATTENTION, 150 * US)
                rank.kernel(NORM, 20 * US)
            for _ in range(layers):
                rank.kernel(GEMM_BACK, 500 * US)
                done = rank.kernel(ATTENTION_BACK, 250 * US)
                last = yield from rank.collective(world, "ncclReduceScatter", 200 * US, 8 << 20, "scatter", (done,))
            rank.kernel(ADAM, 200 * US, after=(last,))
            rank.synchronize()
    return program


def stages(before, steps=10, batches=8, width=1, copies=1, count=4):
    """Pipelines of @count stages, each of @width ranks, @copies of them that share gradients."""
    def program(rank):
        across = width * count
        copy, stage, row = rank.rank // across, rank.rank % across // width, rank.rank % width
        base = copy * across + stage * width
        tensor = (0x1000 + base, list(range(base, base + width)))
        data = (0x2000 + stage * width + row, [c * across + stage * width + row for c in range(copies)])

        def work(is_forward, got):
            for name in (GEMM, ATTENTION) if is_forward else (GEMM_BACK, ATTENTION_BACK):
                done = rank.kernel(name, (200 if is_forward else 300) * US, after=(got,))
                if width > 1:
                    yield from rank.collective(tensor, "ncclAllReduce", 30 * US, 1 << 20, "compute", (done,))
            return rank.kernel(NORM, 20 * US)

        def forward():
            got = 0
            if stage:
                got = yield from rank.send(rank.rank - width, False, 20 * US, 1 << 20, "from above")
            done = yield from work(True, got)
            if stage < count - 1:
                yield from rank.send(rank.rank + width, True, 20 * US, 1 << 20, "to below", (done,))

        def backward():
            got = 0
            if stage < count - 1:
                got = yield from rank.send(rank.rank + width, False, 20 * US, 1 << 20, "from below")
            done = yield from work(False, got)
            if stage:
                yield from rank.send(rank.rank - width, True, 20 * US, 1 << 20, "to above", (done,))

        for step in range(steps):
            rank.step(step)
            before(rank, step)
            for _ in range(batches):
                yield from forward()
            for _ in range(batches):
                yield from backward()
            last = 0
            if copies > 1:
                last = yield from rank.collective(data, "ncclAllReduce", 200 * US, 8 << 20,
                                                  after=(rank.free["compute"],))
            rank.kernel(ADAM, 200 * US, after=(last,))
            rank.synchronize()
    return program


def experts(before, steps=10, layers=4):
    def program(rank):
        for step in range(steps):
            rank.step(step)
            before(rank, step)
            for _ in range(layers):
                done = rank.kernel(ATTENTION, 150 * US)
                yield from rank.collective(rank.job.world, "ncclAllToAll", 80 * US, 2 << 20, "compute", (done,))
                done = rank.kernel(MOE, 300 * US * rank.job.load(rank))
                yield from rank.collective(rank.job.world, "ncclAllToAll", 80 * US, 2 << 20, "compute", (done,))
                done = rank.kernel(NORM, 20 * US)
            last = yield from rank.collective(rank.job.world, "ncclAllReduce", 200 * US, 8 << 20, after=(done,))
            rank.kernel(ADAM, 100 * US, after=(last,))
            rank.synchronize()
    return program


def serving(before, tokens=24, layers=5, width=4, launch_bound=False):
    """Replicas that nothing connects; prefill now and then, decode else."""
    def program(rank):
        first = rank.rank // width * width
        comm = (0x1000 + first, list(range(first, first + width)))
        share = 0.15 if launch_bound else 1
        for token in range(tokens):
            rank.step(token)
            before(rank, token)
            times = 6 if token % 8 == first // width % 8 else 1
            grid = times * 1024
            for _ in range(layers):
                rank.kernel(NORM, 8 * US * share, grid=grid)
                rank.kernel(GEMM, 60 * US * times * share, grid=grid)
                done = rank.kernel(ATTENTION, 40 * US * times * share, grid=grid)
                yield from rank.collective(comm, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
                done = rank.kernel(GEMM_BACK, 80 * US * times * share, grid=grid)
                yield from rank.collective(comm, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))
            rank.kernel(ADD, 10 * US * share)
            rank.synchronize()
    return program


def whole(make):
    return lambda before, _ranks: make(before)


def across(before, ranks):
    return tensor_in_data_parallel(before, steps=10, layers=3, width=8 if ranks == 64 else 4)


# name -> ranks it is of, how many ranks one other is waited for by, program(before, ranks)
LAYOUTS = {
    "DDP": ((8, 16, 64), whole(lambda before: data_parallel(before, steps=10))),
    "FSDP": ((8, 16, 64), whole(lambda before: sharded(before, steps=6, layers=8))),
    "FSDP that prefetches": ((8, 16, 64), whole(prefetching)),
    "TP": ((8,), whole(tensor_parallel)),
    "TP x DP": ((16, 64), across),
    "PP": ((4, 8), lambda before, ranks: stages(before, count=ranks)),
    "PP x DP": ((8, 16), lambda before, ranks: stages(before, count=4, copies=ranks // 4)),
    "PP x TP x DP": ((64,), lambda before, ranks: stages(before, 4, 8, 4, 4)),
    "EP": ((8, 16, 64), whole(experts)),
    "serving": ((8, 16, 64), lambda before, ranks: serving(before, width=8 if ranks == 64 else 4)),
    "serving of short kernels": ((8, 16), lambda before, _ranks: serving(before, launch_bound=True)),
    "accumulated DDP": ((8, 16, 64), whole(accumulating)),
    "local SGD": ((8, 16, 64), whole(lambda before: accumulating(before, often=3, is_synchronous=True))),
    "pairs": ((8, 16), whole(lambda before: with_steps(linked(), before))),
}


def with_steps(program, before):
    """@program with a hook before each step, where it has none."""
    def hooked(rank):
        step = rank.step

        def begin(number):
            step(number)
            before(rank, number)
        rank.step = begin
        yield from program(rank)
        rank.step = step
    return hooked


def is_work(name):
    return name != RCCL


# ---- what is uneven; each takes the rank and the step, and whether the rank is as the others --------


class Effect:
    """Nothing is."""
    cause, culprits = None, ()

    def __init__(self, rng, ranks, layout):
        self.rng, self.ranks, self.layout = rng, ranks, layout

    def factor(self, _rank, _step, _name):
        return 1.0

    def host_ns(self, _rank, _step):
        return 0

    def load(self, _rank):
        return 1.0

    def copy_ns(self, _rank, _step):
        return 0

    def link(self, _rank, _comm):
        return 1.0

    def contention(self, _rank):
        return 1.0

    def extra(self, _rank, _step, _is_mended):
        """Launches what this rank has to do beside the program."""

    def measure(self, base):
        """Looks at the same job without the effect."""


class Lengths(Effect):
    """Sequences differ from rank to rank and from step to step."""
    def __init__(self, *args):
        super().__init__(*args)
        self.spread = self.rng.choice((0.1, 0.2, 0.3))

    def factor(self, rank, step, name):
        return 1 + self.spread * random.Random(f"{rank}-{step}-{self.spread}").random() if name != ADAM else 1

    def mended(self, _rank, _step, name):
        return 1 + self.spread / 2 if name != ADAM else 1


class Loads(Effect):
    """Experts that have much or little to do, by chance."""
    def load(self, rank):
        return 0.6 + 0.8 * rank.rng.random()


class LastStage(Effect):
    """The last stage has the head, too."""
    def __init__(self, *args):
        super().__init__(*args)
        self.more = self.rng.choice((1.05, 1.1))

    def factor(self, rank, _step, name):
        return self.more if rank == self.ranks - 1 and name in (GEMM, GEMM_BACK) else 1


class Logs(Effect):
    """Rank 0 writes a line to a file."""
    def host_ns(self, rank, step):
        return 300 * US if rank == 0 and step % 2 else 0


class Replica(Effect):
    """One replica has more to do."""
    def factor(self, rank, _step, _name):
        return 1.5 if rank < (8 if self.ranks == 64 else 4) else 1


class Evaluates(Effect):
    """Every fourth step each rank evaluates, and rank 0 the most of it."""
    def extra(self, rank, step, is_mended):
        for _ in range((3 + (rank.rank == 0 and not is_mended)) if step % 4 == 3 else 0):
            rank.kernel(GEMM, 200 * US, grid=333)


class Batches(Effect):
    """Batches grow from step to step, alike on all ranks."""
    def factor(self, rank, step, name):
        return 0.6 + 0.1 * (step % 8) if name != ADAM else 1


class WarmsUp(Effect):
    """Hosts compile in the first two steps, each for another time."""
    def host_ns(self, rank, step):
        return random.Random(f"{rank}-{step}-{self.ranks}").uniform(20, 60) * MS if step < 1 else 0


class FromStorage(Effect):
    """All wait for storage; a rank is slow in the slack."""
    def __init__(self, *args):
        super().__init__(*args)
        self.which, self.times, self.step_ns = self.rng.randrange(self.ranks), self.rng.choice((1.35, 1.6, 2)), 0

    def measure(self, base):
        self.step_ns = self.times * base.wall_ns() / len(base.begins)

    def extra(self, rank, step, _is_mended):
        rank.now = max(rank.now, int(START + step * self.step_ns))

    def factor(self, rank, _step, _name):
        return 1.2 if rank == self.which else 1


class SlightlySlow(Effect):
    def __init__(self, *args):
        super().__init__(*args)
        self.which = self.rng.randrange(self.ranks)

    def factor(self, rank, _step, _name):
        return 1.03 if rank == self.which else 1


class Now(Effect):
    """One step in which one rank stalls a little."""
    def __init__(self, *args):
        super().__init__(*args)
        self.which = self.rng.randrange(self.ranks)

    def host_ns(self, rank, step):
        return 1 * MS if rank == self.which and step == 4 else 0


class SlowGpu(Effect):
    cause = "compute"

    def __init__(self, *args):
        super().__init__(*args)
        self.culprits = (self.rng.randrange(self.ranks),)
        self.by = self.rng.choice((1.15, 1.25, 1.4))

    def factor(self, rank, _step, _name):
        return self.by if rank in self.culprits else 1


class SlowSince(SlowGpu):
    """Throttled in every second block of steps."""
    def factor(self, rank, step, _name):
        return 1 + (self.by - 1) * 2 if rank in self.culprits and step >= 4 else 1


class TwoSlow(SlowGpu):
    def __init__(self, *args):
        super().__init__(*args)
        self.culprits = tuple(sorted(self.rng.sample(range(self.ranks), 2)))

    def factor(self, rank, _step, _name):
        if rank not in self.culprits:
            return 1
        return self.by - (0.01 if rank == self.culprits[1] else 0)


class LongerGemms(SlowGpu):
    """More work in kernels of one grid."""
    def factor(self, rank, _step, name):
        return self.by + 0.1 if rank in self.culprits and name in (GEMM, GEMM_BACK) else 1


class LateHost(Effect):
    cause = "host"

    def __init__(self, *args):
        super().__init__(*args)
        self.culprits = (self.rng.randrange(self.ranks),)
        self.often = self.rng.choice((1, 1, 2))
        self.ns = {"serving": 1, "serving of short kernels": 1, "TP": 1, "EP": 2}.get(self.layout, 4) * self.rng.choice((0.7, 1, 2)) * MS

    def host_ns(self, rank, step):
        return self.ns * self.often if rank in self.culprits and step % self.often == 0 else 0


class InTurn(LateHost):
    def __init__(self, *args):
        super().__init__(*args)
        self.culprits = tuple(sorted(self.rng.sample(range(self.ranks), 2)))

    def host_ns(self, rank, step):
        return 2 * self.ns if rank == self.culprits[step % 2] else 0


class TwoCauses(TwoSlow):
    """A slow GPU, and a host of another rank that is as late."""
    cause = "several"

    def measure(self, base):
        rank = base.ranks[0]
        compute = sum(kernel[4] for kernel in rank.kernels if is_work(kernel[1]))
        self.ns = compute / len(base.begins) * (self.by - 1)

    def factor(self, rank, _step, _name):
        return self.by if rank == self.culprits[0] else 1

    def host_ns(self, rank, _step):
        return self.ns if rank == self.culprits[1] else 0


class Copies(SlowGpu):
    """Copies of its own before each step."""
    cause = "copy"

    def measure(self, base):
        self.ns = int(base.wall_ns() / len(base.begins) * (self.by - 1))

    def factor(self, _rank, _step, _name):
        return 1

    def copy_ns(self, rank, _step):
        return self.ns if rank in self.culprits else 0


class Contends(SlowGpu):
    """Collectives take compute units from one rank's kernels."""
    def factor(self, _rank, _step, _name):
        return 1

    def contention(self, rank):
        return 1 + (self.by - 1) * 4 if rank in self.culprits else 1


class SlowLink(Effect):
    cause = "transfer"

    def __init__(self, *args):
        super().__init__(*args)
        width = 2 if self.layout == "pairs" else 8 if self.ranks == 64 else 4
        first = self.rng.randrange(self.ranks) // width * width
        self.culprits = tuple(range(first, first + width))

    def link(self, _rank, comm):
        return 8 if tuple(comm[1]) == self.culprits else 1


class Pauses(SlowGpu):
    """Once, for ten steps' time."""
    cause = "host"

    def measure(self, base):
        self.steps, self.ns = len(base.begins), 10 * base.wall_ns() / len(base.begins)

    def factor(self, _rank, _step, _name):
        return 1

    def host_ns(self, rank, step):
        return self.ns if rank in self.culprits and step == self.steps // 2 else 0


HOMOGENEOUS = (Effect,)
UNEVEN = (Lengths, Loads, LastStage, Logs, Replica, Evaluates, Batches)
NEAR = (SlightlySlow, Now, WarmsUp, FromStorage)
HEALTHY = HOMOGENEOUS + UNEVEN + NEAR
CULPRITS = (SlowGpu, SlowSince, TwoSlow, LongerGemms, LateHost, InTurn, TwoCauses, Copies, Contends, SlowLink, Pauses)
SYNCHRONOUS = ("DDP", "FSDP", "FSDP that prefetches", "EP", "TP", "TP x DP")
NEEDS = {Loads: ("EP",), LastStage: ("PP", "PP x DP"), Replica: ("serving",), TwoSlow: SYNCHRONOUS, InTurn: SYNCHRONOUS,
         TwoCauses: ("DDP", "FSDP", "EP", "TP x DP"), SlowLink: ("pairs", "TP x DP"),
         Copies: SYNCHRONOUS + ("accumulated DDP", "local SGD", "pairs"),
         Contends: ("DDP", "FSDP that prefetches"),
         FromStorage: ("DDP", "FSDP", "EP", "TP x DP", "pairs"), LateHost: tuple(set(LAYOUTS) - {"PP", "PP x DP", "PP x TP x DP"}),
         Pauses: tuple(name for name in LAYOUTS if not name.startswith("serving"))}


class Drawn:
    """A job drawn from a seed; @mended: ranks that are as the others."""
    def __init__(self, kind, seed, layout=None):
        rng = random.Random(f"{kind.__name__}-{seed}" + (f"-{layout}" if layout else ""))
        self.kind, self.seed = kind, seed
        self.layout = layout or rng.choice(sorted(NEEDS.get(kind, LAYOUTS)))
        sizes, self.program = LAYOUTS[self.layout]
        self.ranks = rng.choice(sizes)
        self.settings = {"steps": rng.random() < 0.7, "jitter": rng.choice((0.005, 0.01, 0.03)),
                         "chip": rng.choice((0.002, 0.01)), "hosts": 0.25}
        self.effect = kind(rng, self.ranks, self.layout)
        if kind.measure is not Effect.measure:
            self.effect.measure(self.run(is_healthy=True))

    def __str__(self):
        return "%s %d: %s of %d %s" % (self.kind.__name__, self.seed, self.layout, self.ranks, self.settings)

    def run(self, mended=frozenset(), is_healthy=False):
        job = Job(self.ranks, seed=self.seed, rank_type=StalledRank, **self.settings)
        effect = Effect(None, self.ranks, self.layout) if is_healthy else self.effect

        def factor(rank, step, name):
            if rank in mended:
                even = getattr(effect, "mended", None)
                return even(rank, step, name) if even else 1
            return effect.factor(rank, step, name)

        def load(rank):
            drawn = effect.load(rank)
            return 1 if rank.rank in mended else drawn

        def before(rank, step):
            job.begins.setdefault(step, {})[rank.rank] = rank.now
            rank.slow = lambda name, at: factor(rank.rank, step, name) if is_work(name) else 1
            effect.extra(rank, step, rank.rank in mended)
            if rank.rank not in mended:
                rank.host(effect.host_ns(rank.rank, step))
                if effect.copy_ns(rank.rank, step):
                    rank.copy(effect.copy_ns(rank.rank, step), 1 << 20)
                rank.contention = effect.contention(rank.rank)
                rank.link = lambda comm: 1 if mended and mended == set(comm[1]) else effect.link(rank.rank, comm)

        job.load, job.begins = load, {}
        return job.run(self.program(before, self.ranks))


def wall_ns(job, ranks):
    """Of @ranks, from their second step on: the first warms up."""
    return (max(kernel[3] + kernel[4] for rank in ranks for kernel in job.ranks[rank].kernels) -
            min(job.begins[1][rank] for rank in ranks))


class Verdict:
    def __init__(self, drawn, reason, job):
        self.drawn, self.reason, self.job = drawn, reason, job
        straggler = reason["straggler"]
        is_named = reason["code"] in ("slow_rank", "late_rank")
        self.named = tuple(sorted(straggler["ranks"])) if is_named else ()
        self.cause = straggler["cause"] if is_named else None
        self.cost_pct = straggler["cost_pct"] if is_named else 0
        if reason["code"] == "event" and reason["event"]["rank"] is not None:
            self.named, self.cause = (reason["event"]["rank"],), reason["event"]["cause"]
            self.cost_pct = reason["event"]["cost_pct"]
        self.gain_pct = self.gain(self.named) if self.named else 0
        self.truth_pct = self.gain(drawn.effect.culprits) if drawn.effect.culprits else 0
        self.is_accusation = bool(self.named) and self.gain_pct < ACCUSED_PCT
        # A stage that is late for its host may be so within its own bubble: that is not told, and not said.
        hides = drawn.effect.cause == "host" and drawn.layout.startswith("PP")
        self.is_to_name = self.truth_pct >= CULPRIT_PCT and not hides
        self.is_named_right = self.named == tuple(drawn.effect.culprits) and self.cause == drawn.effect.cause
        self.is_cost_right = abs(self.cost_pct - self.truth_pct) <= max(0.15 * self.truth_pct, 1)

    def gain(self, ranks):
        """What mending @ranks gains, of the time of those that are connected with them."""
        width = self.drawn.ranks
        if self.drawn.layout.startswith("serving"):
            width = 8 if width == 64 else 4
        first = ranks[0] // width * width
        connected = range(first, first + width)
        return 100 * (1 - wall_ns(self.drawn.run(frozenset(ranks)), connected) / wall_ns(self.job, connected))

    def __str__(self):
        return "%s: culprits %s cost %.1f %%; mending %s gains %.1f %%: %s" % (
            self.drawn, list(self.drawn.effect.culprits), self.truth_pct, list(self.named), self.gain_pct,
            self.reason["text"])


def judge(rtl, folder, drawn):
    path = os.path.join(folder, "%s-%d.db" % (drawn.kind.__name__, drawn.seed))
    job = drawn.run()
    job.store(path)
    done = subprocess.run([rtl, "summary", "--json", path], capture_output=True, text=True, check=True)
    if not os.environ.get("KEEP"):
        os.unlink(path)
    return Verdict(drawn, json.loads(done.stdout)["reason"], job)


def draw(first, is_long, only):
    if not is_long:
        return [Drawn(kind, first) for kind in HEALTHY + CULPRITS if not only or kind.__name__ in only]
    jobs = [(kind, seed) for kinds in (HOMOGENEOUS, UNEVEN, NEAR) for kind in kinds
            for seed in range(first, first + 168 // len(kinds))]
    jobs += [(kind, seed, layout) for kind in CULPRITS for layout in sorted(NEEDS.get(kind, LAYOUTS))
             for seed in range(first, first + 3)]
    return [job for job in jobs if not only or job[0].__name__ in only]


def main():
    rtl, is_long = sys.argv[1], bool(os.environ.get("RTL_TEST_LONG"))
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    part, parts = (int(x) for x in sys.argv[3:5]) if len(sys.argv) > 4 else (0, 1)
    drawn = draw(first, is_long, sys.argv[5:])[part::parts]
    figures, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        for v in pool.map(lambda one: judge(rtl, os.environ.get("KEEP") or folder,
                                            Drawn(*one) if isinstance(one, tuple) else one), drawn):
            figures["healthy" if not v.drawn.effect.culprits else "culprits"] += 1
            figures["accusations"] += v.is_accusation
            figures["to name"] += v.is_to_name
            figures["named"] += v.is_to_name and v.is_named_right
            figures["cost right"] += v.is_to_name and v.is_named_right and v.is_cost_right
            if v.is_accusation or v.is_to_name and not (v.is_named_right and v.is_cost_right):
                wrong.append(v)
                print("ACCUSED" if v.is_accusation else "MISSED" if not v.is_named_right else "COST %.1f" % v.cost_pct, v,
                      flush=True)
    print(", ".join("%s %d" % pair for pair in figures.items()))
    assert not figures["accusations"]
    assert figures["named"] >= 0.95 * figures["to name"] - (not is_long)
    assert figures["cost right"] >= 0.95 * figures["to name"] - (not is_long)
    print("ok")


if __name__ == "__main__":
    main()
