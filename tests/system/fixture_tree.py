#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes session databases whose trees are worked out by hand: fixture_tree.py KIND SCHEMA FILE.

Times are us after START. Both ranks number their ranges, calls and dispatches from 1.

plain    two ranks: step > forward, backward; calls; nested calls; a range of two threads; open ranges
shuffled the same, its dispatches stored in random order
lost     a call and a range have no row, a dispatch has no times, another no thread
deep     ranges 400 deep
names    hostile and long names
numbers  steps with numbers, and other names with them
wide     1,000 ranks
flood    more names than nodes
"""
import random
import sys

from fixture import START, gpu, kernel, open_db, process, queue, session, shape, text

US = 1000


class Tree:
    def __init__(self, db, ranks):
        self.db, self.ranks, self.texts, self.rows = db, ranks, {}, []
        session(db)
        # Two symbols of one name are one kernel.
        self.kernels = [kernel(db, "gemm", "gemm_a.kd"), kernel(db, "add", "add.kd"),
                        kernel(db, "gemm", "gemm_b.kd")]
        for rank in range(ranks):
            process(db, rank + 1, rank)
            gpu(db, rank)
            for i, k in enumerate(self.kernels):
                shape(db, rank * 3 + i + 1, rank + 1, rank, 0, k)

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = text(self.db, value)
        return self.texts[value]

    def range(self, rank, number, name, start, stop, parent=None, tid=7, kind="push"):
        self.db.execute("INSERT INTO rtl_marker_base VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (rank + 1, number, parent, tid, kind, self.text(name), START + start * US,
                         None if stop is None else START + stop * US))

    def call(self, rank, number, name, start, stop, parent=None, marker=None, tid=7):
        api = self.text(name)
        self.db.execute("INSERT OR IGNORE INTO rtl_api VALUES (?, '')", (api,))
        self.db.execute(
            "INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, result, stream, "
            "marker, arguments, graph_exec, graph_launch) VALUES (?, ?, ?, ?, ?, ?, ?, 0, NULL, ?, NULL, NULL, NULL)",
            ((rank + 1) << 40 | number, rank + 1, parent, tid, api, START + start * US,
             START + stop * US, marker))

    def run(self, rank, what, start, length, submit=None, marker=None, call=None, tid=7):
        timed = start is not None
        self.rows.append((rank * 3 + what + 1, len(self.rows), START + start * US if timed else None,
                          length * US if timed else None,
                          (start - submit) * US if timed else START, tid, marker,
                          None if timed else 5, call))

    def store(self, rng=None):
        if rng:
            rng.shuffle(self.rows)
        self.db.executemany(
            "INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit, tid, marker, untimed,"
            " call) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.rows)
        for rank in range(self.ranks):
            mine = [row for row in self.rows if (row[0] - 1) // 3 == rank]
            queue(self.db, rank + 1, 0, rank, dispatched=len(mine), stored=len(mine),
                  untimed=sum(1 for row in mine if row[2] is None))


def plain(tree):
    for rank in range(2):
        slow = 1 + rank
        for step in range(2):
            at, number = step * 1000, step * 4
            tree.range(rank, number + 1, "step", at, at + 900)
            tree.range(rank, number + 2, "forward", at + 10, at + 300, number + 1)
            # From another thread, inside of nothing there; stopped by this one.
            tree.range(rank, (1 << 62) | (number + 3), "loader", at + 5, at + 500, None, 9, "start")
            tree.range(rank, number + 4, "backward", at + 300, at + 800, number + 1)
            # forward: two launches of a gemm by two symbols; 40 us from call to start, 30 queued.
            for i, symbol in enumerate((0, 2)):
                call = step * 10 + i + 1
                tree.call(rank, call, "hipLaunchKernel", at + 20 + 100 * i, at + 25 + 100 * i, None,
                          number + 2)
                tree.run(rank, symbol, at + 60 + 100 * i, 50 * slow, at + 30 + 100 * i, number + 2,
                         call)
            # backward: a graph's launch within a call, two kernels 20 and 60 us after it.
            call = step * 10 + 3
            tree.call(rank, call, "train", at + 310, at + 400, None, number + 4)
            tree.call(rank, call + 1, "hipGraphLaunch", at + 320, at + 330, call, number + 4)
            tree.run(rank, 1, at + 340, 10, at + 330, number + 4, call + 1)
            tree.run(rank, 1, at + 380, 10, at + 330, number + 4, call + 1)
            # In the step itself, without a call; and on a thread without ranges.
            tree.run(rank, 1, at + 850, 5, at + 840, number + 1)
            tree.run(rank, 1, at + 860, 7, at + 840, None, None, 8)
    # Rank 1 died in a step: what it had done counts, how long it took is unknown.
    tree.range(1, 9, "step", 2000, None)
    tree.run(1, 1, 2010, 3, 2005, 9)


def make_plain(db):
    tree = Tree(db, 2)
    plain(tree)
    tree.store()


def make_shuffled(db):
    tree = Tree(db, 2)
    plain(tree)
    tree.store(random.Random(2))


def make_lost(db):
    tree = Tree(db, 1)
    tree.range(0, 1, "step", 0, 100)
    tree.run(0, 0, 10, 10, 5, 1, 77)       # its call has no row: the range has it
    tree.run(0, 0, 30, 10, 25, 66, None)   # its range has none: the thread has it
    tree.run(0, 0, None, None, None, 1)    # no times
    tree.run(0, 0, 50, 10, 45, None, None, None)
    tree.store()


def make_deep(db):
    tree = Tree(db, 1)
    for level in range(400):
        tree.range(0, level + 1, f"level {level}", level, 1000 - level, level or None)
    tree.run(0, 0, 500, 10, 490, 400)
    tree.store()


def make_names(db):
    tree = Tree(db, 1)
    for i, name in enumerate(("\x1b[31mred;\n\u202e", "=cmd|'/C calc'!A0", "x" * 4096, "")):
        tree.range(0, i + 1, name, 0, 10)
        tree.run(0, 0, i * 10, 10 - i, i * 10, i + 1)
    tree.store()


def make_numbers(db):
    tree = Tree(db, 1)
    for i, name in enumerate(("step 1", "step 2", "ProfilerStep#3", "ProfilerStep#14 warm", "layer 1",
                              "layer 2", "epoch 7 step 1")):
        tree.range(0, i + 1, name, i * 100, i * 100 + 50)
        tree.run(0, 0, i * 100, 10, i * 100, i + 1)
    tree.store()


def make_wide(db):
    tree = Tree(db, 1000)
    for rank in range(1000):
        tree.range(rank, 1, "step", 0, 100)
        tree.run(rank, 0, 10, 60 if rank == 617 else 10, 0, 1)
    tree.store()


def make_flood(db):
    tree = Tree(db, 1)
    db.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 530000)"
               " INSERT INTO rocpd_string SELECT 1000 + i, 'request ' || i FROM n")
    db.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 530000)"
               " INSERT INTO rtl_marker_base SELECT 1, i, NULL, 7, 'push', 1000 + i, ? + i, ? + i + 1"
               " FROM n", (START, START))
    tree.run(0, 0, 10, 10, 5, 530000)
    tree.store()


def main():
    kind, schema, path = sys.argv[1:4]
    db = open_db(schema, path)
    globals()["make_" + kind](db)
    db.execute("COMMIT")
    db.close()


if __name__ == "__main__":
    main()
