# SPDX-License-Identifier: MIT
"""Random sessions, as objects and as databases of the real schema, from a seed.

All times are ns after fixture.START, small numbers with many ties, zero lengths and overlaps. The same
session can be stored in any order of its rows, and with ids that are equal in all ranks or in none.
"""
import pathlib
import sqlite3
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import fixture  # noqa: E402
from fixture import START  # noqa: E402,F401

SCHEMA = HERE.parents[2] / "collectord" / "db" / "schema"
# Name, symbol, stream of the time line, category; two symbols of one name are one kernel.
KERNELS = (("Cijk_Ailk_Bljk_HHS", "gemm_a.kd", "compute", "gemm"),
           ("Cijk_Ailk_Bljk_HHS", "gemm_b.kd", "compute", "gemm"),
           ("vectorized_elementwise_kernel", "add.kd", "compute", "elementwise"),
           ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce.kd", "allreduce", "communication"),
           ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "scatter.kd", "reducescatter", "communication"),
           ("ncclDevKernel_Generic_1", "generic.kd", "communication", "communication"),
           ("__amd_rocclr_copyBuffer", "copy.kd", "copy", "copy"),
           ("__amd_rocclr_fillBufferAligned", "fill.kd", "compute", "memset"))
GENERIC = 5
OPS = {"ncclAllReduce": "allreduce", "ncclReduceScatter": "reducescatter", "ncclAllGather": "communication"}


@dataclass
class Kernel:
    gpu: int
    queue: int
    what: int
    start: int  # None: no times
    length: int
    submit: int  # None: not known
    tid: int = 7
    marker: "Range" = None
    call: "Call" = None

    @property
    def stop(self):
        return self.start + self.length

    @property
    def name(self):
        return KERNELS[self.what][0]


@dataclass
class Copy:
    source: int  # None: the host
    target: int
    start: int
    stop: int
    submit: int


@dataclass
class Range:
    text: str
    parent: "Range"
    tid: int
    start: int
    stop: int  # None: open
    kind: str = "push"
    number: int = 0


@dataclass
class Call:
    api: str
    parent: "Call"
    marker: Range
    tid: int
    start: int
    stop: int
    number: int = 0


@dataclass
class Part:
    """A rank's part of a collective."""
    comm: int
    me: int
    size: int
    seq: int
    op: str
    launch: Call
    call: Call


@dataclass
class Process:
    rank: int
    kernels: list = field(default_factory=list)
    copies: list = field(default_factory=list)
    ranges: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    parts: list = field(default_factory=list)
    shift: int = 0

    def range(self, *args, **more):
        self.ranges.append(Range(*args, **more))
        self.ranges[-1].number = len(self.ranges)
        return self.ranges[-1]

    def call(self, *args):
        self.calls.append(Call(*args))
        self.calls[-1].number = len(self.calls)
        return self.calls[-1]

    def gpus(self):
        return sorted({k.gpu for k in self.kernels})


class Job:
    """Processes, to be stored."""

    def __init__(self, processes, has_calls):
        self.processes, self.has_calls = processes, has_calls

    def kernels(self):
        return [(p, k) for p in self.processes for k in p.kernels]

    def store(self, path, rng=None, is_apart=False):
        """rng: rows in its order. is_apart: no id occurs twice; else all ranks count from 1."""
        Writer(self, path, rng, is_apart).write()


class Session(Job):
    """What a seed makes. Structure first (steps, ranges, calls), then kernels in it, then collectives."""

    def __init__(self, rng):
        self.rng = rng
        super().__init__([], rng.random() < 0.8)
        self.has_steps = rng.random() < 0.7
        self.steps = rng.randrange(1, 6)
        self.length = rng.choice((300, 3000, 60_000, 600_000))  # idle for less and more than 20 us
        self.untimed = rng.choice((0, 0, 0.05))
        self.processes = [Process(rank) for rank in range(rng.choice((1, 2, 2, 3, 4)))]
        for p in self.processes:
            self.fill(p)
        for number, comm in enumerate(self.make_communicators()):
            self.communicate(0x40 + number, comm)

    def window(self, step):
        begin = step * self.length
        return begin, begin + self.length

    def lane(self, p):
        gpu = p.rank * 2 + (self.rng.randrange(2) if p.rank % 2 else 0)
        return gpu, 2 * gpu % 3 + self.rng.randrange(2) + 4 * gpu

    def fill(self, p):
        for step in range(self.steps):
            a, b = self.window(step)
            b -= self.rng.choice((0, self.length // 10))
            is_open = step + 1 == self.steps and self.rng.random() < 0.15
            top = p.range(f"step {step + 3}" if self.has_steps else f"outer {step % 2}", None, 7, a,
                          None if is_open else b)
            self.nest(p, top, a, b, 0)
        if self.rng.random() < 0.5:
            a = self.rng.randrange(self.length)
            p.range("loader", None, 9, a, a + self.length // 3, kind="start")
        # On a thread without ranges, and perhaps for no communicator.
        for _ in range(self.rng.randrange(4)):
            self.kernel(p, None, None, *self.window(self.rng.randrange(self.steps)), tid=8)
        for _ in range(self.rng.randrange(4) if self.has_calls else 0):
            a = self.rng.randrange(self.length * self.steps)
            p.call("hipDeviceSynchronize", None, None, 8, a, a + self.length // self.rng.choice((4, 7, 30)))
        for _ in range(self.rng.choice((0, 0, 3))):
            a = self.rng.randrange(self.length * self.steps)
            gpu, _ = self.lane(p)
            ends = self.rng.choice(((None, gpu), (gpu, None), (gpu, gpu), (None, gpu + 16), (gpu, gpu ^ 1),
                                    (gpu + 16, gpu + 17)))
            p.copies.append(Copy(*ends, a, a + self.rng.randrange(self.length // 3),
                                 a - self.rng.randrange(self.length // 5)))

    def nest(self, p, outer, a, b, depth):
        """Ranges and calls between a and b, one after the other; kernels in them."""
        at = a
        while at < b and self.rng.random() < 0.85:
            stop = at + self.rng.randrange(1, max(2, (b - a) // 2))
            if stop > b:
                break
            what = self.rng.random()
            if what < 0.4 and depth < 3:
                self.nest(p, p.range(self.rng.choice(("forward", "backward", "layer")), outer, 7, at, stop),
                          at, stop, depth + 1)
            elif what < 0.7 and self.has_calls:
                call = p.call("hipLaunchKernel", None, outer, 7, at, stop)
                if self.rng.random() < 0.3:
                    call = p.call("hipExtLaunchKernel", call, outer, 7, at, stop)
                for _ in range(self.rng.choice((1, 1, 2))):
                    self.kernel(p, outer, call, at, b)
            else:
                self.kernel(p, outer, None, at, b)
            at = stop

    def kernel(self, p, marker, call, a, b, tid=7):
        submit = a + self.rng.randrange(max(1, (b - a) // 3))
        start = submit + self.rng.randrange(self.length // 3)
        length = self.rng.choice((0, 1, self.length // 50, self.rng.randrange(self.length // 2)))
        is_timed = self.rng.random() >= self.untimed
        knows = self.rng.random() > 0.05
        p.kernels.append(Kernel(*self.lane(p), self.rng.choice((0, 1, 2, 2, 6, 7)),
                                start if is_timed else None, length if is_timed else 0,
                                submit if knows or not is_timed else None, tid, marker, call))

    def make_communicators(self):
        if not self.has_calls:
            return []
        all_ranks = list(range(len(self.processes)))
        out = [all_ranks]
        if len(all_ranks) > 2:
            out.append(all_ranks[1:])
        return out

    def communicate(self, comm, ranks):
        """A collective now and then, of all ranks; some records are lost, some are groups of two."""
        seq = 0
        for step in range(self.steps):
            for _ in range(self.rng.randrange(3)):
                at = self.window(step)[0] + self.rng.randrange(self.length)
                ops = [self.rng.choice(sorted(OPS)) for _ in range(self.rng.choice((1, 1, 1, 2)))]
                stop = at + self.length // 3
                lost = self.rng.choice(ranks) if self.rng.random() < 0.1 else None
                for me, rank in enumerate(ranks):
                    self.take_part(self.processes[rank], (comm, me, len(ranks), seq), ops, at, stop,
                                   rank == lost)
                seq += len(ops)

    def take_part(self, p, what, ops, at, stop, is_lost):
        comm, me, size, seq = what
        at += self.rng.choice((0, 0, self.rng.randrange(self.length // 3)))
        group = None
        stays = self.rng.choice((1, 1, self.length // 10))
        calls = [p.call(op, None, None, 7, at, at + stays) for op in ops]
        if len(ops) > 1:
            group = p.call("ncclGroupEnd", None, None, 7, at, at + stays + 1)
        if not is_lost:
            p.parts += [Part(comm, me, size, seq + i, op, group or call, call)
                        for i, (op, call) in enumerate(zip(ops, calls))]
        submit = at - self.rng.randrange(self.length // 10)
        p.kernels.append(Kernel(p.rank * 2, 20, GENERIC, at,
                                max(1, stop - at + self.rng.choice((0, 0, self.rng.randrange(50)))),
                                submit, 7, None, group or calls[-1]))


class Writer:
    def __init__(self, session, path, rng, is_apart):
        self.session, self.rng, self.is_apart = session, rng, is_apart
        pathlib.Path(path).write_bytes(fixture.empty(SCHEMA))
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN")
        self.texts = {}

    def shuffled(self, rows):
        rows = list(rows)
        if self.rng:
            self.rng.shuffle(rows)
        return rows

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = fixture.text(self.db, value)
        return self.texts[value]

    def process_id(self, p):
        return 5 + 3 * p.rank if self.is_apart else p.rank + 1

    def number(self, p, number):
        """Of a call or a range: the order of a process's own stays."""
        return number * 100 + p.rank * 7 + 11 if self.is_apart else number

    def range_id(self, p, r):
        return r and (self.number(p, r.number) | (1 << 62 if r.kind == "start" else 0))

    def call_id(self, p, call):
        return self.process_id(p) << 40 | self.number(p, call.number)

    def write(self):
        db = self.db
        fixture.session(db)
        kernels = {}
        for i in self.shuffled(range(len(KERNELS))):
            kernels[i] = fixture.kernel(db, *KERNELS[i][:2])
        for p in self.session.processes:
            at = self.process_id(p)
            fixture.process(db, at, p.rank)
            db.execute("UPDATE rtl_process SET pid = ?, mode = ?, world_size = ? WHERE id = ?",
                       (900 + p.rank, "hip" if self.session.has_calls else "full",
                        len(self.session.processes), at))
            db.execute("INSERT INTO rtl_recording VALUES (?, ?, NULL, 'start', NULL)", (at, START))
            for gpu in p.gpus():
                db.execute("INSERT INTO rtl_clock_check VALUES (?, ?, 100000000, 2, 3, 0, 0, 0, 0, 0)",
                           (at, gpu))
        for gpu in sorted({k.gpu for _, k in self.session.kernels()}):
            fixture.gpu(db, gpu)
        self.write_host()
        self.write_kernels(kernels)
        for p in self.session.processes:
            for n, c in enumerate(self.shuffled(p.copies)):
                at = START + p.shift
                db.execute("INSERT INTO rtl_copy_base VALUES (?, ?, 7, ?, 4096, 'async', 'h2d', ?, ?, NULL,"
                           " NULL, NULL, ?, ?)", (self.process_id(p), n + 1, at + c.submit, c.source,
                                                  c.target, at + c.start, at + c.stop))
        db.execute("COMMIT")
        db.close()

    def write_host(self):
        for p, r in self.shuffled((p, r) for p in self.session.processes for r in p.ranges):
            at = START + p.shift
            self.db.execute("INSERT INTO rtl_marker_base VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                            (self.process_id(p), self.range_id(p, r), self.range_id(p, r.parent), r.tid,
                             r.kind, self.text(r.text), at + r.start,
                             None if r.stop is None else at + r.stop))
        for p, c in self.shuffled((p, c) for p in self.session.processes for c in p.calls):
            at = START + p.shift
            self.db.execute("INSERT OR IGNORE INTO rtl_api VALUES (?, '')", (self.text(c.api),))
            self.db.execute("INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, "
                            "marker, arguments, graph_exec, graph_launch) VALUES (?, ?, ?, ?, ?, ?, ?, 0, NULL, ?, NULL, NULL, NULL)",
                            (self.call_id(p, c), self.process_id(p),
                             c.parent and self.number(p, c.parent.number), c.tid, self.text(c.api),
                             at + c.start, at + c.stop, self.range_id(p, c.marker)))
        for p, k in self.shuffled((p, k) for p in self.session.processes for k in p.parts):
            self.db.execute("INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, bytes,"
                            " datatype, reduction, peer, group_id, launch_id)"
                            " VALUES (?, ?, ?, ?, ?, 1024, 4096, 'float32', 'sum',"
                            " NULL, ?, ?)",
                            (self.call_id(p, k.call), k.comm, k.me, k.size, k.seq,
                             None if k.launch is k.call else self.number(p, k.launch.number),
                             self.call_id(p, k.launch)))

    def write_kernels(self, kernels):
        shapes = {}
        keys = {(p.rank, k.gpu, k.queue, k.what): p for p, k in self.session.kernels()}
        for key in self.shuffled(sorted(keys)):
            shapes[key] = len(shapes) + 1
            fixture.shape(self.db, shapes[key], self.process_id(keys[key]), key[1], key[2], kernels[key[3]])
        rows, counts = [], {}
        for p, k in self.session.kernels():
            at = START + p.shift
            queue = counts.setdefault((p.rank, k.gpu, k.queue), [0, 0])
            is_timed = k.start is not None
            rows.append((shapes[p.rank, k.gpu, k.queue, k.what], queue[0],
                         at + k.start if is_timed else None, k.length if is_timed else None,
                         (None if k.submit is None else k.start - k.submit) if is_timed else at + k.submit,
                         k.tid, self.range_id(p, k.marker), None if is_timed else 5,
                         k.call and self.number(p, k.call.number)))
            queue[0] += 1
            queue[1] += not is_timed
        self.db.executemany(
            "INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, marker, untimed, call)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.shuffled(rows))
        for (rank, gpu, queue), (n, untimed) in sorted(counts.items()):
            fixture.queue(self.db, self.process_id(self.session.processes[rank]), queue, gpu, dispatched=n,
                          stored=n, untimed=untimed)
