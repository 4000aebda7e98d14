# SPDX-License-Identifier: MIT
"""Simulated jobs of several ranks, stored as databases of rtl's schema. Each rank is a generator that
launches kernels, copies, collectives and sends on streams of its GPU: a kernel starts when it was
submitted, its stream is free and what it waits for has ended; a collective's kernel starts on each
rank as soon as that rank is ready, and ends on all when the last one has come and the transfer is
done. Times are ns, the random numbers those of a seed."""
import math
import pathlib
import random
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import fixture  # noqa: E402

SCHEMA = HERE.parents[2] / "collectord" / "db" / "schema"
US, MS, S = 1_000, 1_000_000, 1_000_000_000
START = 5 * S

GEMM = "Cijk_Ailk_Bljk_BBS_BH_MT256x256x64_MI16x16x1"
GEMM_BACK = "Cijk_Alik_Bljk_BBS_BH_MT256x224x64_MI16x16x1"
ATTENTION = "void ck_tile::kentry<FmhaFwdKernel<ck_tile::BlockFmhaPipelineQRKSVSAsync>>(FmhaFwdKargs)"
ATTENTION_BACK = "void ck_tile::kentry<FmhaBwdDQDKDVKernel<ck_tile::BlockFmhaBwdDQDKDVPipeline>>(FmhaBwdKargs)"
NORM = "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int)"
ADAM = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>(int)"
MOE = "void ck::kernel_moe_gemm<GridwiseMoeGemm_xdl_cshuffle_v3>(Argument)"
RCCL = "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"


class Rank:
    """One process on one GPU."""
    LATENCY, GAP, LAUNCH = 5 * US, 1_200, 6 * US

    def __init__(self, job, rank):
        self.job, self.rank = job, rank
        self.rng = random.Random(f"{job.seed}-{rank}")
        self.now = START + int(self.rng.uniform(0, 200 * US))  # of the host
        self.free = {}  # stream -> when its last operation ends
        self.kernels, self.calls, self.parts, self.marks, self.copies = [], [], [], [], []
        self.chip = 1 + self.rng.gauss(0, job.chip)
        self.slow = lambda name, at: 1.0

    def host(self, ns):
        self.now += int(ns)

    def step(self, number):
        if self.marks and self.marks[-1][2] is None:
            self.marks[-1][2] = self.now
        if self.job.steps:
            self.marks.append([f"step {number}", self.now, None])

    def synchronize(self):
        self.now = int(max(self.now + 2 * US, max(self.free.values(), default=0) + 8 * US))

    def launch(self):
        self.now += int(self.LAUNCH * math.exp(self.rng.gauss(0, self.job.hosts)))
        return self.now

    def start(self, stream, submit, after):
        return int(max(submit + self.LATENCY, self.free.get(stream, 0) + self.GAP, *after, 0))

    def called(self, op, begin, end, stream=None, arguments=None):
        """Records a host call; returns its number."""
        self.calls.append((len(self.calls) + 1, op, begin, end, len(self.marks), stream, arguments))
        return len(self.calls)

    def launched(self, _op, _begin, _submit, _stream):
        """What records a call that launches; without host calls none does."""

    def stream(self, _stream):
        """The stream that calls tell."""

    def awaits(self, stream, after):
        """What records that a stream waits for what ends at the times @after."""

    def ended(self, stream, end):
        """What records on a stream that something ends there at @end."""

    def kernel(self, name, ns, stream="compute", after=(), grid=1024):
        self.awaits(stream, after)
        begin = self.now
        submit = self.launch()
        call = self.launched("hipLaunchKernel", begin, submit, stream)
        at = self.start(stream, submit, after)
        ns *= self.chip * self.slow(name, at) * math.exp(self.rng.gauss(0, self.job.jitter))
        self.kernels.append((stream, name, grid, at, max(300, int(ns)), submit, len(self.marks), call))
        self.free[stream] = at + max(300, int(ns))
        self.ended(stream, self.free[stream])
        return self.free[stream]

    def copy(self, ns, count, stream="compute"):
        self.now += 8 * US
        call = self.launched("hipMemcpyAsync", self.now - 8 * US, self.now, stream)
        at = self.start(stream, self.now, ())
        self.copies.append((self.now, at, at + ns, count, call))
        self.free[stream] = at + ns
        self.ended(stream, at + ns)
        return at + ns

    def meet(self, key, ranks, op, comm, ns, count, stream, after, peer=None, seq=0):
        """The common part of a collective, and of a send or receive: yields until all have come."""
        self.awaits(stream, after)
        begin = self.now
        submit = self.launch()
        number = self.called(op, begin, submit, self.stream(stream))
        at = self.start(stream, submit, after)
        self.parts.append((number, comm[0], comm[1].index(self.rank), len(comm[1]), seq, count, peer))
        end = self.leave(at, ns, (yield key, ranks, at, ns))
        self.kernels.append((stream, RCCL, 2048, at, end - at, submit, len(self.marks), number))
        self.free[stream] = end
        self.ended(stream, end)
        return end

    def leave(self, _at, _ns, end):
        """When this rank leaves what it came to at @_at, and what ends at @end."""
        return end + int(self.rng.uniform(0, 800))

    def collective(self, comm, op, ns, count, stream="rccl", after=(), root=None):
        seq = self.job.next((comm[0], self.rank))
        return (yield from self.meet((comm[0], seq), len(comm[1]), op, comm, ns, count, stream, after, root, seq))

    def send(self, peer, is_send, ns, count, stream="pair", after=()):
        comm = (0x900, self.job.all)
        pair = (self.rank, peer) if is_send else (peer, self.rank)
        seq = self.job.next((pair, self.rank))
        return (yield from self.meet((pair, seq), 2, "ncclSend" if is_send else "ncclRecv", comm, ns, count, stream,
                                     after, comm[1].index(peer), seq))


class HipRank(Rank):
    """As mode hip records it: host calls with their streams, events, and the host's waits."""
    CALL = 200

    def __init__(self, job, rank):
        super().__init__(job, rank)
        self.events, self.streams = {}, {}

    def stream(self, stream):
        return 0x7f0000001000 + 0x100 * self.streams.setdefault(stream, len(self.streams))

    def launched(self, op, begin, submit, stream):
        return self.called(op, begin, submit, self.stream(stream))

    def briefly(self, op, stream, event):
        self.called(op, self.now, self.now + self.CALL, self.stream(stream), '{"event":"%#x"}' % event)
        self.now += self.CALL

    def awaits(self, stream, after):
        for end in after:
            if end and self.events[end][0] != stream:
                self.briefly("hipStreamWaitEvent", stream, self.events[end][1])

    def ended(self, stream, end):
        self.events[end] = (stream, 0x7f1000000000 + 0x40 * len(self.events))
        self.briefly("hipEventRecord", stream, self.events[end][1])

    def synchronize(self):
        begin = self.now
        super().synchronize()
        self.called("hipDeviceSynchronize", begin, self.now)


class Job:
    def __init__(self, ranks, seed=1, steps=True, jitter=0.01, chip=0.002, hosts=0.25, rank_type=Rank):
        self.seed, self.steps, self.jitter, self.chip, self.hosts = seed, steps, jitter, chip, hosts
        self.all = list(range(ranks))
        self.world = (0x700, self.all)
        self.numbers = {}
        self.ranks = [rank_type(self, rank) for rank in self.all]

    def next(self, key):
        self.numbers[key] = self.numbers.get(key, -1) + 1
        return self.numbers[key]

    def run(self, program):
        """@program(rank) is a generator."""
        running = {rank.rank: program(rank) for rank in self.ranks}
        there, answers, ready = {}, dict.fromkeys(running), list(running)
        while ready:
            rank = ready.pop()
            try:
                key, count, at, ns = running[rank].send(answers[rank])
            except StopIteration:
                self.ranks[rank].step(0)
                continue
            there.setdefault(key, []).append((rank, at, ns))
            if len(there[key]) < count:
                continue
            end = max(at for _, at, _ in there[key]) + int(max(ns for _, _, ns in there[key]))
            for other, _, _ in there.pop(key):
                answers[other] = end
                ready.append(other)
        assert not there, "ranks wait for ever: %r" % list(there)[:4]
        return self

    def wall_ns(self):
        return (max(k[3] + k[4] for r in self.ranks for k in r.kernels) -
                min(k[3] for r in self.ranks for k in r.kernels))

    def store(self, path):
        pathlib.Path(path).write_bytes(fixture.empty(SCHEMA))
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY; BEGIN")
        Writer(db, self).store()
        db.execute("COMMIT")
        db.close()
        return path


class Writer:
    def __init__(self, db, job):
        self.db, self.job, self.texts, self.shapes, self.kernels = db, job, {}, {}, set()

    def text(self, text):
        if text not in self.texts:
            self.texts[text] = self.db.execute("INSERT INTO rocpd_string (string) VALUES (?)", (text,)).lastrowid
        return self.texts[text]

    def store(self):
        ends = [k[3] + k[4] for r in self.job.ranks for k in r.kernels]
        self.db.execute("INSERT INTO rtl_session (id, name, job, uid, command, host, start_ns, start_realtime_ns, end_ns, "
                        "exit_status) VALUES (1,'job-1','job',1000,'python train.py','node01',?,?,?,0)",
                        (START, 1_700_000_000 * S, max(ends) + 50 * MS))
        for key, value in {"schema": 1, "simulated": 1, "complete": 1, "command": "python train.py", "mode": "full",
                           "front_end": "shadow", "host": "node01"}.items():
            self.db.execute("INSERT OR REPLACE INTO rtl_meta VALUES (?,?)", (key, value))
        rows = []
        for rank in self.job.ranks:
            self.store_process(rank)
            rows += self.store_kernels(rank)
        rows.sort(key=lambda row: row[2] + row[3])
        self.db.executemany("INSERT INTO rtl_dispatch (shape_id,seq,start,duration,submit,tid,marker,untimed,call)"
                            " VALUES (?,?,?,?,?,?,?,?,?)", rows)

    def store_process(self, rank):
        db, process, gpu = self.db, rank.rank + 1, rank.rank
        db.execute("INSERT INTO rtl_process (id,session_id,pid,start_ns,rank,local_rank,world_size,launcher,exe,host,"
                   "boot_id,uid,ended,exit_status,drained,token,start_time,command,mode,front_end,runtime,shim_version,"
                   "job) VALUES (?,1,?,?,?,?,?,'torchrun','/usr/bin/python3','node01','b',1000,'exited',0,1,?,1,"
                   "'python train.py','full','shadow','libhsa 1.14','0.1.0','job')",
                   (process, 40000 + process, START, rank.rank, rank.rank, len(self.job.ranks), f"{process:032x}"))
        db.execute("INSERT INTO rtl_gpu VALUES (?,?,?,0,?,?,0,'gfx942','SIMULATED')",
                   (gpu, gpu + 1, 1000 + gpu, f"0000:{gpu:02x}:00.0", f"{gpu:016x}"))
        db.execute("INSERT INTO rtl_recording VALUES (?,?,NULL,'start',NULL)", (process, START))
        db.execute("INSERT INTO rtl_clock_check VALUES (?,?,100000000,10,900,0,0,0,0,0)", (process, gpu))
        for n in range(2):
            db.execute("INSERT INTO rtl_clock VALUES (?,?,?,100000000,?,?,900)",
                       (process, gpu, n * 100_000_000, START + n * S, (1_700_000_000 + n) * S))
        for number, (text, begin, end) in enumerate(rank.marks):
            db.execute("INSERT INTO rtl_marker_base VALUES (?,?,NULL,7,'push',?,?,?)",
                       (process, number + 1, self.text(text), begin, end))
        first = process << 40
        for op in dict.fromkeys(call[1] for call in rank.calls):
            db.execute("INSERT OR IGNORE INTO rtl_api VALUES (?,'')", (self.text(op),))
        db.executemany("INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, "
                       "marker, arguments, graph_exec, graph_launch) VALUES (?,?,NULL,7,?,?,?,0,?,?,?,NULL,NULL)",
                       [(first | number, process, self.texts[op], begin, end, stream, mark or None, arguments)
                        for number, op, begin, end, mark, stream, arguments in rank.calls])
        db.executemany("INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, bytes, datatype, "
                       "reduction, peer, group_id, launch_id) VALUES (?,?,?,?,?,?,?,'bfloat16','sum',?,NULL,?)",
                       [(first | number, comm, me, size, seq, count // 2, count, peer, first | number)
                        for number, comm, me, size, seq, count, peer in rank.parts])
        for number, (submit, begin, end, count, call) in enumerate(rank.copies):
            db.execute("INSERT INTO rtl_copy_base VALUES (?,?,7,?,?,'async','h2d',NULL,?,NULL,?,NULL,?,?)",
                       (process, number + 1, submit, count, gpu, call, begin, end))

    def store_kernels(self, rank):
        process, gpu, queues, rows = rank.rank + 1, rank.rank, {}, []
        for stream, name, grid, begin, ns, submit, mark, call in rank.kernels:
            queue = queues.setdefault(stream, [len(queues), 0])
            shape = (process, queue[0], name, grid)
            if shape not in self.shapes:
                kernel = self.text(name)
                if kernel not in self.kernels:
                    self.kernels.add(kernel)
                    self.db.execute("INSERT INTO rtl_kernel_base VALUES (?,?)", (kernel, name[:60] + ".kd"))
                self.shapes[shape] = len(self.shapes) + 1
                self.db.execute("INSERT INTO rtl_shape VALUES (?,?,?,?,?,256,1,1,?,1,1,0,0)",
                                (self.shapes[shape], process, gpu, queue[0], kernel, grid))
            rows.append((self.shapes[shape], queue[1], begin, ns, begin - submit, 7, mark or None, None, call))
            queue[1] += 1
        for queue, count in queues.values():
            self.db.execute("INSERT INTO rtl_queue (process_id,queueId,gpuId,dispatched,stored) VALUES (?,?,?,?,?)",
                            (process, queue, gpu, count, count))
        return rows
