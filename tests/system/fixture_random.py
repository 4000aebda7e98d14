#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes session databases of random rows, for what has to hold of any: fixture_random.py SEED SCHEMA FILE.

One to four processes, some without a rank, on one to three GPUs. Kernels of a queue overlap, come out of order, share
times, have no length, calls, submissions, threads or times; calls nest and cross; ranges of all kinds, some open; copies
of all directions; collectives, alone and in groups; graphs; metrics; operations of a framework; names with anything in
them."""
import random
import sys

from fixture import START, counters, gpu, kernel, open_db, process, queue, session, text

NAMES = ["gemm<float, 4>(float*)", "ncclDevKernel_Generic_1", "a \"quoted\" \\ name", "tab\tline\n", "Ж𝄞", b"\xff\xfe bytes",
         "", "x" * 5000]
APIS = ["hipModuleLaunchKernel", "hipMemcpyAsync", "hipGraphLaunch", "ncclAllReduce", "ncclAllGather",
        "ncclReduceScatter", "ncclSend", "ncclGroupEnd"]
TYPES = [("float32", 4), ("bfloat16", 2), ("int8", 1)]
SPAN = 2_000_000


class Random:
    def __init__(self, db, seed):
        self.db, self.rng = db, random.Random(seed)
        simulated = self.rng.randrange(2)
        session(db, simulated=simulated)
        self.kernels = [kernel(db, name, f"symbol{i}.kd") for i, name in enumerate(NAMES)]
        self.apis = [text(db, name) for name in APIS]
        db.executemany("INSERT INTO rtl_api VALUES (?, '')", [(api,) for api in self.apis])
        self.gpus = self.rng.randint(1, 3)
        for at in range(self.gpus):
            gpu(db, at, simulated)
        self.processes = self.rng.randint(1, 4)
        self.dispatches = []
        for at in range(1, self.processes + 1):
            process(db, at, None if self.rng.random() < 0.2 else at - 1)
            db.execute("UPDATE rtl_process SET world_size = ? WHERE id = ?", (self.processes, at))
            self.fill(at)
        self.store()
        for at in range(1, self.processes + 1):
            self.metrics(at)
            self.ops(at)

    def time(self):
        # Few places, so that many begin and end at once.
        return START + self.rng.randrange(0, SPAN, self.rng.choice((1, 1000, 100_000)))

    def fill(self, at):
        calls = self.calls(at)
        self.ranges(at)
        self.copies(at, calls)
        self.shapes(at, calls)

    def calls(self, at):
        rows, number = [], 0
        for _ in range(self.rng.randrange(25)):
            number += 1
            start = self.time()
            end = start + self.rng.choice((0, self.rng.randrange(200_000)))
            api = self.rng.randrange(len(APIS))
            is_graph = APIS[api] == "hipGraphLaunch"
            parent = self.rng.choice([row for row in rows if "nccl" in APIS[row[4]]] or [None])
            rows.append((number, parent[0] if parent and self.rng.random() < 0.5 else None, start, end, api))
            self.db.execute("INSERT INTO rtl_call_base VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?)",
                            (at << 40 | number, at, rows[-1][1], self.rng.choice((7, 8)), self.apis[api], start, end,
                             self.rng.choice((0, 0, 1)), self.rng.choice((None, '{"a":"b"}')),
                             5 if is_graph else None, number if is_graph else None))
            if APIS[api].startswith("nccl") and APIS[api] != "ncclGroupEnd":
                self.collective(at, number, rows)
        return rows

    def collective(self, at, number, rows):
        datatype, width = self.rng.choice(TYPES)
        ends = [row[0] for row in rows if APIS[row[4]] == "ncclGroupEnd"]
        launch = self.rng.choice(ends) if ends and self.rng.random() < 0.4 else number
        count = self.rng.randrange(1, 1000)
        self.db.execute("INSERT INTO rtl_collective_base VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                        (at << 40 | number, -77, at - 1, self.processes, number, count, count * width, datatype,
                         self.rng.choice((None, 0)), None if launch == number else launch, at << 40 | launch))

    def ranges(self, at):
        for number in range(1, self.rng.randrange(20) + 1):
            kind = self.rng.choice(("push", "start", "mark"))
            start = self.time()
            end = None if kind == "mark" or self.rng.random() < 0.1 else start + self.rng.randrange(300_000)
            name = self.rng.choice(NAMES)
            self.db.execute("INSERT INTO rtl_marker_base VALUES (?, ?, NULL, ?, ?, ?, ?, ?)",
                            (at, number, self.rng.choice((7, 8)), kind, text(self.db, name), start, end))

    def metrics(self, at):
        for number in range(self.rng.randrange(20)):
            self.db.execute(
                "INSERT INTO rtl_metric_base (process_id, marker_id, parent, tid, time_ns, name_id, value)"
                " VALUES (?, ?, NULL, 7, ?, ?, ?)",
                (at, 10_000 + number, self.time(), text(self.db, self.rng.choice(NAMES)),
                 self.rng.choice((0, -1.5, 1 / 3, 1e300, self.rng.random() * 10**self.rng.randrange(12)))))

    def ops(self, at):
        """Operations of a framework, as imports have them."""
        for number in range(1, self.rng.randrange(12) + 1):
            start, optional = self.time(), lambda value: self.rng.choice((None, value))
            shapes, types = optional('[[2, 3], [], [[4], [5]]]'), optional('["float", "", "TensorList"]')
            inputs = optional('["", "[1, 2]", ""]')
            self.db.execute("INSERT INTO rtl_op_base VALUES (?, NULL, ?, ?, 'op', ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
                            (at << 40 | number, self.rng.choice((7, 8)), text(self.db, self.rng.choice(NAMES)), start,
                             start + self.rng.randrange(100_000), optional(number + 5), optional(number), optional(8),
                             shapes and text(self.db, shapes), types and text(self.db, types),
                             inputs and text(self.db, inputs)))

    def copies(self, at, calls):
        for number in range(1, self.rng.randrange(12) + 1):
            direction = self.rng.choice(("h2d", "d2h", "d2d", "p2p", "h2h", "unknown"))
            here, there = self.rng.randrange(self.gpus), self.rng.randrange(self.gpus)
            start = self.time()
            timed = self.rng.random() < 0.9
            self.db.execute(
                "INSERT INTO rtl_copy_base VALUES (?, ?, 7, ?, ?, 'async', ?, ?, ?, NULL, ?, NULL, ?, ?)",
                (at, number, start - 50, self.rng.randrange(1 << 40), direction,
                 here if direction in ("d2h", "d2d", "p2p") else None,
                 here if direction == "d2d" else there if direction in ("h2d", "p2p") else None,
                 self.rng.choice(calls)[0] if calls and self.rng.random() < 0.5 else None,
                 start if timed else None, start + self.rng.randrange(100_000) if timed else None))

    def shapes(self, at, calls):
        for queue_id in range(self.rng.randint(1, 3)):
            where = self.rng.randrange(self.gpus)
            ids = []
            for _ in range(3):
                ids.append(self.db.execute(
                    "INSERT INTO rtl_shape (process_id, gpuId, queueId, kernel_id, workgroupX, workgroupY, workgroupZ,"
                    " gridX, gridY, gridZ, lds, scratch) VALUES (?, ?, ?, ?, ?, 1, 1, ?, ?, 1, 64, 0)",
                    (at, where, queue_id, self.rng.choice(self.kernels), self.rng.choice((1, 64, 100)),
                     self.rng.randrange(1, 5000), self.rng.randrange(1, 4))).lastrowid)
            count = self.rng.randrange(40)
            untimed = 0
            for seq in range(count):
                timed = self.rng.random() < 0.95
                untimed += not timed
                start = self.time()
                call = self.rng.choice(calls)[0] if calls and self.rng.random() < 0.5 else None
                self.dispatches.append((
                    self.rng.choice(ids), seq, start if timed else None,
                    self.rng.choice((0, self.rng.randrange(150_000))) if timed else None,
                    self.rng.choice((0, self.rng.randrange(50_000))) if timed else START,
                    self.rng.choice((7, None)), None if timed else 5, call, self.rng.choice((None, 0, 3))))
            queue(self.db, at, queue_id, where, dispatched=count, stored=count, untimed=untimed)
            counters(self.db, at, queue_id, {"dispatched": count, "recorded": count})

    def store(self):
        # Nearly in order, as a collector stores them.
        self.dispatches.sort(key=lambda row: (row[2] or 0) + self.rng.randrange(100_000))
        self.db.executemany("INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, untimed, call, node)"
                            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.dispatches)


def main():
    db = open_db(sys.argv[2], sys.argv[3])
    Random(db, int(sys.argv[1]))
    db.execute("COMMIT")


main()
