#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes session databases whose collectives are worked out by hand: fixture_ranks.py KIND SCHEMA FILE.

Times are us after START. Every rank numbers its calls, markers and dispatches from 1, so equal
ids of two ranks meet everywhere.

late     rank 2 of 4 computes 90 us longer before each of 12 all-reduces
shuffled the same, its dispatches stored in random order
slow_many as late, with more dispatches between than are held, in random order
late_copy rank 0 of 4 copies to its GPU for 50 us before each of 12 all-reduces
late_start as late, and rank 2 comes to the first all-reduce a second after the others
pairs    8 ranks in pairs, each with a communicator: the odd rank is last in 12 of 20 all-reduces
causes   rank 2 of 3 is late by compute, copy, host, wait and an earlier collective, in turn
held     rank 2 of 4 has a kernel held back in a queue while a later one of another ends its idle time
missing  one record is lost, one rank is killed, one begins later
again    rank 2 of 3 is late for its computation; in one step the call before goes on after it
overlap  two communicators at once, computation beside them
graphs   as late, the all-reduces replays of one that was captured into a graph, with another and a group
groups   calls that share a kernel; all-to-all of sends; uneven all-to-all; fp8
untimed  one rank's kernel has no times
order    no calls: three all-reduces, matched by order
lost     the same, with one kernel lost on rank 1
names    the same, with hostile and long names
nodes    two nodes, whose clocks are 7 s apart
many     1,000 ranks
hundred  100 ranks
none     no dispatch at all
one      one kernel, no communication
live     as late, but the session is open
"""
import random
import sys

from fixture import START, gpu, kernel, open_db, process, queue, session, shape, text

US = 1000
COMPUTE, COMM = 0, 1


class Ranks:
    """Ranks 0..n-1, one process and one GPU each."""

    def __init__(self, db, count, comm_name="ncclDevKernel_Generic_1"):
        self.db, self.count = db, count
        self.rows = []
        self.calls = [0] * count
        self.dispatches = [0] * count
        self.copies = [0] * count
        self.apis = {}
        self.shift = [0] * count
        session(db, closed=True)
        names = [("gemm", "gemm.kd"), (comm_name, "nccl.kd")]
        self.kernels = [kernel(db, *n) for n in names]
        for rank in range(count):
            process(db, rank + 1, rank)
            gpu(db, rank)
            for i, k in enumerate(self.kernels):
                shape(db, rank * 2 + i + 1, rank + 1, rank, 0, k)
            db.execute("INSERT INTO rtl_clock_check VALUES (?, ?, 100000000, 2, 500, 0, 0, 0, 0, 0)",
                       (rank + 1, rank))

    def api(self, name):
        if name not in self.apis:
            self.apis[name] = text(self.db, name)
            self.db.execute("INSERT INTO rtl_api VALUES (?, '')", (self.apis[name],))
        return self.apis[name]

    def run(self, rank, what, start, stop, submit=None, call=None, node=None):
        """A kernel; submit None: as it starts. start None: untimed."""
        self.dispatches[rank] += 1
        at = self.shift[rank] + START
        timed = start is not None
        self.rows.append((rank * 2 + what + 1, self.dispatches[rank] - 1,
                          at + start * US if timed else None,
                          (stop - start) * US if timed else None,
                          (start - (start if submit is None else submit)) * US if timed else at,
                          7, None if timed else 5, call, node))

    def copy(self, rank, start, stop, submit=None):
        self.copies[rank] += 1
        at = self.shift[rank] + START
        self.db.execute("INSERT INTO rtl_copy_base VALUES (?, ?, 7, ?, 4096, 'async', 'h2d', NULL, ?,"
                        " NULL, NULL, NULL, ?, ?)",
                        (rank + 1, self.copies[rank], at + (start if submit is None else submit) * US,
                         rank, at + start * US, at + stop * US))

    def call(self, rank, name, start, result=0, parent=None):
        self.calls[rank] += 1
        number = self.calls[rank]
        self.db.execute(
            "INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, "
            "marker, arguments, graph_exec, graph_launch) VALUES (?, ?, ?, 7, ?, ?, ?, ?, NULL, NULL, NULL, NULL, NULL)",
            ((rank + 1) << 40 | number, rank + 1, parent, self.api(name), START + start * US,
             START + (start + 1) * US, result))
        return number

    def part(self, rank, number, launch, comm, me, size, seq, count, datatype, width, peer=None):
        """The collective that call @number of a rank is."""
        self.db.execute(
            "INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, bytes, datatype,"
            " reduction, peer, group_id, launch_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
            ((rank + 1) << 40 | number, comm, me, size, seq, count, count * width, datatype, peer,
             launch if launch != number else None, (rank + 1) << 40 | launch))

    def collective(self, rank, op, seq, start, stop, submit=None, comm=77, me=None, size=None,
                   count=524288, datatype="bfloat16", width=2, kernels=True, peer=None):
        submit = start if submit is None else submit
        number = self.call(rank, op, submit)
        self.part(rank, number, number, comm, rank if me is None else me,
                  self.count if size is None else size, seq, count, datatype, width, peer)
        if kernels:
            self.run(rank, COMM, start, stop, submit, number)
        return number

    def store(self, rng=None):
        if rng:
            rng.shuffle(self.rows)
        self.db.executemany(
            "INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, untimed, call, node)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.rows)
        for rank, n in enumerate(self.dispatches):
            untimed = sum(1 for row in self.rows if row[2] is None and (row[0] - 1) // 2 == rank)
            queue(self.db, rank + 1, 0, rank, dispatched=n, stored=n, untimed=untimed)


def late(ranks):
    """A step of 1000 us: compute from 0 (100 us; rank 2: 190), all-reduce until 250, host."""
    for step in range(12):
        at = step * 1000
        for rank in range(4):
            arrival = at + (190 if rank == 2 else 100)
            ranks.run(rank, COMPUTE, at, arrival)
            ranks.collective(rank, "ncclAllReduce", step, arrival, at + 250, at + 50)


def make_late(db):
    ranks = Ranks(db, 4)
    late(ranks)
    ranks.store()


GRAPH, EXEC, STREAM = 0x1000, 0x2000, 0x3000


def capture(ranks, rank):
    """An all-reduce of 1 MiB, one of 2 KiB, a group of two of 4 KiB, each of one kernel of one size."""
    def captured(op, seq, count, launch=None):
        number = ranks.call(rank, op, 0)
        ranks.part(rank, number, launch or number, 77, rank, 4, seq, count, "bfloat16", 2)
        ranks.db.execute("INSERT INTO rtl_captured (id, graph) VALUES (?, ?)", ((rank + 1) << 40 | number, GRAPH))
        return number

    def launched(parent):
        number = ranks.call(rank, "hipExtLaunchKernel", 0, parent=parent)
        ranks.db.execute("UPDATE rtl_call_base SET stream = ?, arguments = ? WHERE id = ?", (
            STREAM, '{"gridX":16,"gridY":1,"gridZ":1,"blockX":64,"blockY":1,"blockZ":1}',
            (rank + 1) << 40 | number))

    for seq, count in ((0, 524288), (1, 1024)):
        launched(captured("ncclAllReduce", seq, count))
    group = ranks.call(rank, "ncclGroupEnd", 0)
    captured("ncclAllReduce", 2, 2048, group)
    captured("ncclAllGather", 3, 2048, group)
    launched(group)
    made = ranks.call(rank, "hipGraphInstantiate", 0)
    ranks.db.execute("UPDATE rtl_call_base SET arguments = ? WHERE id = ?", (
        f'{{"graphExec":"{EXEC:#x}","graph":"{GRAPH:#x}"}}', (rank + 1) << 40 | made))


def replay(ranks, rank, number, at):
    """Nodes: computation, the late all-reduce, the small one, computation, the group."""
    launch = ranks.call(rank, "hipGraphLaunch", at)
    ranks.db.execute("UPDATE rtl_call_base SET graph_exec = ?, graph_launch = ? WHERE id = ?",
                     (EXEC, number, (rank + 1) << 40 | launch))
    arrival = at + (190 if rank == 2 else 100)
    spans = ((COMPUTE, at, arrival), (COMM, arrival, at + 250), (COMM, at + 300, at + 320),
             (COMPUTE, at + 320, at + 400), (COMM, at + 400, at + 430))
    for node, (what, start, stop) in enumerate(spans):
        ranks.run(rank, what, start, stop, at, launch, node)


def make_graphs(db):
    ranks = Ranks(db, 4)
    for rank in range(4):
        capture(ranks, rank)
    for step in range(12):
        for rank in range(4):
            replay(ranks, rank, step, step * 1000)
    # One after them, outside of the graph.
    for rank in range(4):
        ranks.collective(rank, "ncclAllReduce", 4, 12000, 12010)
    ranks.store()


def make_shuffled(db):
    ranks = Ranks(db, 4)
    late(ranks)
    ranks.store(random.Random(3))


def make_slow_many(db):
    """Between the steps rank 0 runs 5,000 kernels of no length: more in all than are put in order."""
    ranks = Ranks(db, 4)
    late(ranks)
    for i in range(60000):
        at = i // 5000 * 1000 + 300 + i % 5000 // 10
        ranks.run(0, COMPUTE, at, at)
    ranks.store(random.Random(5))


def make_late_copy(db):
    ranks = Ranks(db, 4)
    for step in range(12):
        at = step * 1000
        for rank in range(4):
            ranks.run(rank, COMPUTE, at, at + 100)
            if not rank:
                ranks.copy(rank, at + 100, at + 150, at)
            ranks.collective(rank, "ncclAllReduce", step, at + (100 if rank else 150), at + 250, at)
    ranks.store()


def make_late_start(db):
    ranks = Ranks(db, 4)
    for rank in range(4):
        begin = 1_000_000 if rank == 2 else 0
        arrival = begin + (190 if rank == 2 else 100)
        ranks.run(rank, COMPUTE, begin, arrival)
        ranks.collective(rank, "ncclAllReduce", 0, arrival, 1_000_250)
    for step in range(1, 12):
        at = 1_000_000 + step * 1000
        for rank in range(4):
            arrival = at + (190 if rank == 2 else 100)
            ranks.run(rank, COMPUTE, at, arrival)
            ranks.collective(rank, "ncclAllReduce", step, arrival, at + 250, at + 50)
    ranks.store()


def make_pairs(db):
    ranks = Ranks(db, 8)
    for step in range(20):
        at = step * 1000
        for rank in range(8):
            is_late = rank % 2 == (step % 5 < 3)
            ranks.collective(rank, "ncclAllReduce", step, at + (150 if is_late else 100), at + 250,
                             comm=50 + rank // 2, me=rank % 2, size=2)
    ranks.store()


def make_mixed(db):
    """Ranks 2 and 3 have a communicator, of which rank 0 only sends, and rank 1 and 2 another; every
    tenth of the first one's 100 all-reduces is in a group with one of the other."""
    ranks = Ranks(db, 4)
    ranks.collective(0, "ncclSend", 0, 0, 10, comm=70, me=2, size=3, peer=1)
    for step in range(100):
        at = step * 1000
        for rank in range(2, 4):
            number = ranks.collective(rank, "ncclAllReduce", step, at + 100 * rank, at + 400, comm=70,
                                      me=rank - 2, size=3)
            if step % 10 == 0 and rank == 2:
                other = ranks.call(rank, "ncclAllReduce", at + 200)
                ranks.part(rank, other, number, 71, 1, 2, step // 10, 524288, "bfloat16", 2)
        if step % 10 == 0:
            ranks.collective(1, "ncclAllReduce", step // 10, at + 200, at + 400, comm=71, me=0, size=2)
    ranks.store()


def make_live(db):
    make_late(db)
    db.execute("UPDATE rtl_session SET end_ns = NULL")
    db.execute("UPDATE rtl_process SET ended = NULL, exit_status = NULL, drained = 0")


def make_causes(db):
    """All end each collective together; rank 2 arrives 50 us after the others, for five reasons."""
    ranks = Ranks(db, 3)

    def step(seq, at, late_kernels, late_submit=0):
        for rank in range(3):
            is_late = rank == 2
            if is_late:
                late_kernels(at)
            else:
                ranks.run(rank, COMPUTE, at, at + 100, at)
            ranks.collective(rank, "ncclAllReduce", seq, at + (150 if is_late else 100), at + 200,
                             at + (late_submit if is_late else 0))

    run = ranks.run
    step(0, 0, lambda at: run(2, COMPUTE, at, at + 150, at))
    step(1, 200, lambda at: run(2, COMPUTE, at, at + 150, at))
    # A copy of 70 us, 20 of them beside the kernel: 50 us exposed.
    step(2, 400, lambda at: (run(2, COMPUTE, at, at + 100, at), ranks.copy(2, at + 80, at + 150)))
    # The call comes 50 us after the GPU was done.
    step(3, 600, lambda at: run(2, COMPUTE, at, at + 100, at), late_submit=150)
    # Submitted in time, and the GPU is idle.
    step(4, 800, lambda at: run(2, COMPUTE, at, at + 100, at))
    # A collective of another communicator (alone in it here), 50 us.
    step(5, 1000, lambda at: (run(2, COMPUTE, at, at + 100, at),
                              ranks.collective(2, "ncclAllReduce", 0, at + 100, at + 150, at,
                                               comm=88, me=0, size=2)))
    ranks.store()


def make_held(db):
    """Between its computation and each all-reduce rank 2 is idle for 190 us, which a small kernel ends
    that is submitted 10 us before; one submitted at the begin of the step starts only after it all."""
    ranks = Ranks(db, 4)
    for step in range(12):
        at = step * 1000
        for rank in range(4):
            is_late = rank == 2
            ranks.run(rank, COMPUTE, at, at + 100)
            if is_late:
                ranks.run(rank, COMPUTE, at + 290, at + 300, at + 280)
            arrival, submit = (300, 280) if is_late else (100, 50)
            ranks.collective(rank, "ncclAllReduce", step, at + arrival, at + 450, at + submit)
            ranks.run(rank, COMPUTE, at + 450, at + 500, at if is_late else at + 440)
    ranks.store()


def make_again(db):
    """As late, of 3 ranks; the second kernel of the call of step 4 comes after that of step 5, and
    takes rank 2 100 us longer than the others."""
    ranks = Ranks(db, 3)
    for step in range(8):
        at = step * 1000
        for rank in range(3):
            arrival = at + (190 if rank == 2 else 100)
            ranks.run(rank, COMPUTE, at, arrival)
            number = ranks.collective(rank, "ncclAllReduce", step, arrival, at + 250, at)
            if step == 4:
                again = number
            if step == 5:
                ranks.run(rank, COMM, at + 300, at + (500 if rank == 2 else 400), at, call=again)
    ranks.store()


def make_missing(db):
    """4 ranks, 6 all-reduces: rank 1's second has no row, rank 3 is killed after four, rank 0
    recorded from the second on."""
    ranks = Ranks(db, 4)
    for seq in range(6):
        for rank in range(4):
            if (rank == 3 and seq >= 4) or (rank == 0 and seq == 0):
                continue
            at = seq * 100 + rank
            if rank == 1 and seq == 2:
                ranks.run(rank, COMM, at, seq * 100 + 50)
                ranks.calls[rank] += 1
            else:
                ranks.collective(rank, "ncclAllReduce", seq, at, seq * 100 + 50)
    # A send whose other side has no row, and one to a rank of another node.
    ranks.collective(0, "ncclSend", 0, 700, 710, comm=99, me=0, size=9, peer=1)
    ranks.collective(1, "ncclSend", 0, 700, 710, comm=99, me=1, size=9, peer=5)
    db.execute("UPDATE rtl_process SET ended = 'killed', exit_status = 137 WHERE id = 4")
    ranks.store()


def make_overlap(db):
    """Two ranks. Communicator 1 runs from 0 to 100, 2 from 50 (rank 1: 80) to 150, a kernel from 20
    (rank 1: 20) to 60 (rank 1: 120); then communicator 1 again at 150, rank 1 at 160, to 200."""
    ranks = Ranks(db, 2)
    for rank in range(2):
        ranks.collective(rank, "ncclAllReduce", 0, 0, 100, 0, comm=1)
        ranks.collective(rank, "ncclAllGather", 0, 50 + 30 * rank, 150, 0, comm=2)
        ranks.run(rank, COMPUTE, 20, 60 + 60 * rank, 0)
        ranks.collective(rank, "ncclAllReduce", 1, 150 + 10 * rank, 200, 0, comm=1)
    ranks.store()


def make_groups(db):
    ranks = Ranks(db, 4)
    for rank in range(4):
        start = 10 * rank
        # Two all-gathers of 1,000 float32 in one group: 32,000 bytes in 70 us from 30 on.
        end = ranks.call(rank, "ncclGroupEnd", start)
        for seq in range(2):
            number = ranks.call(rank, "ncclAllGather", start)
            ranks.part(rank, number, end, 5, rank, 4, seq, 1000, "float32", 4)
        # The kernel is of a call within the end of the group.
        inner = ranks.call(rank, "hipModuleLaunchKernel", start, parent=end)
        ranks.run(rank, COMM, start, 100, start, inner)
        # All-to-all by sends, to itself too: rank r sends (r + 1) x 1,000 bytes to each.
        end = ranks.call(rank, "ncclGroupEnd", 200)
        for other in range(4):
            number = ranks.call(rank, "ncclSend", 200)
            ranks.part(rank, number, end, 5, rank, 4, 0, (rank + 1) * 1000, "int8", 1, other)
            number = ranks.call(rank, "ncclRecv", 200)
            ranks.part(rank, number, end, 5, rank, 4, 0, (other + 1) * 1000, "int8", 1, other)
        ranks.run(rank, COMM, 200, 210, 200, end)
        # Uneven: 1, 1, 1 and 5 MB.
        ranks.collective(rank, "ncclAllToAllv", 2, 300, 400, comm=5, datatype="uint8", width=1,
                         count=5000000 if rank == 3 else 1000000)
        # 8 bits an element.
        ranks.collective(rank, "ncclReduceScatter", 3, 500, 510, comm=5, datatype="float8e4m3",
                         width=4, count=25000)
    # A pipeline's send, from 600 and 650 to 700.
    ranks.collective(0, "ncclSend", 1, 600, 700, comm=5, count=50000, datatype="float8e5m2", width=1,
                     peer=1)
    ranks.collective(1, "ncclRecv", 1, 650, 700, comm=5, count=50000, datatype="float8e5m2", width=1,
                     peer=0)
    ranks.store()


def make_untimed(db):
    ranks = Ranks(db, 2)
    for rank in range(2):
        ranks.collective(rank, "ncclAllReduce", 0, 0, 100)
        if rank:
            number = ranks.collective(rank, "ncclAllReduce", 1, 200, 300, kernels=False)
            ranks.run(rank, COMM, None, None, call=number)
        else:
            ranks.collective(rank, "ncclAllReduce", 1, 200, 300)
    ranks.store()


def by_order(db, is_lost, name="ncclDevKernel_Generic_1"):
    ranks = Ranks(db, 3, name)
    for k in range(5):
        for rank in range(3):
            if not (is_lost and rank == 1 and k == 2):
                ranks.run(rank, COMM, k * 100 + rank * 10, k * 100 + 60, k * 100)
    ranks.store()


def make_order(db):
    by_order(db, False)


def make_lost(db):
    by_order(db, True)


def make_names(db):
    by_order(db, False, "nccl\x1b[31m\n\u202e=cmd" + "x" * 4096)


def make_nodes(db):
    """Rank 1's node booted 7 s before; its wall clock is right to 10 us, the collectives allow
    60 us one way and 40 the other."""
    ranks = Ranks(db, 2)
    ranks.shift[1] = 7_000_000 * US
    for seq in range(3):
        ranks.collective(0, "ncclAllReduce", seq, seq * 100, seq * 100 + 50, comm=4)
        ranks.collective(1, "ncclAllReduce", seq, seq * 100 + 10, seq * 100 + 60, comm=4)
    db.execute("UPDATE rtl_process SET boot_id = 'other' WHERE id = 2")
    for rank in range(2):
        db.execute("INSERT INTO rtl_clock VALUES (?, ?, 0, 100000000, ?, 1700000000000000000, 500)",
                   (rank + 1, rank, START + (7_000_010 * US if rank else 0)))
    ranks.store()


def make_many(db, count=1000):
    ranks = Ranks(db, count)
    for seq in range(12):
        for rank in range(count):
            ranks.collective(rank, "ncclAllReduce", seq, seq * 100 + (30 if rank == 617 % count else 0),
                             seq * 100 + 50)
    ranks.store()


def make_hundred(db):
    make_many(db, 100)


def make_none(db):
    session(db)
    process(db, 1, 0)


def make_one(db):
    ranks = Ranks(db, 1)
    ranks.run(0, COMPUTE, 0, 10)
    ranks.store()


def main():
    kind, schema, path = sys.argv[1:4]
    db = open_db(schema, path)
    globals()["make_" + kind](db)
    db.execute("COMMIT")
    if kind == "live":
        db.execute("PRAGMA journal_mode = WAL")
    db.close()


if __name__ == "__main__":
    main()
