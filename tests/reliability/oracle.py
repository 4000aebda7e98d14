# SPDX-License-Identifier: MIT
"""What must be true of a database of synthetic ranks.

One bit for each dispatch of each queue. A kernel's duration and symbol say which number it has in
its queue: the device made them, not the shim. So a row that stands in for another one shows, as
does one that is missing or there twice.
"""
from node import fail

DURATIONS = 65536  # tests/shim/capture/synthetic_shim.c
KERNELS = 10


class Oracle:
    def __init__(self, node):
        self.node = node
        self.last = 0     # row that was looked at
        self.shapes = {}  # id -> (bits, kernel's number)
        self.bits = {}    # (process, queue) -> bytearray, how often each number is there
        self.untimed = 0

    def load_shapes(self, db):
        for shape, process, queue, symbol in db.execute(
                """SELECT h.id, process_id, queueId, symbol FROM rtl_shape h
                JOIN rtl_kernel k ON k.id = kernel_id"""):
            bits = self.bits.setdefault((process, queue), bytearray())
            self.shapes[shape] = (bits, int(symbol.removesuffix(".kd").rsplit("_", 1)[1]))

    def feed(self):
        """All rows that are new since the last time."""
        with self.node.open(isolation_level=None) as db:
            db.execute("BEGIN")
            self.load_shapes(db)
            self.check_content(db)
            bits_of = {shape: bits for shape, (bits, _) in self.shapes.items()}
            for shape, seq in db.execute(
                    "SELECT shape_id, seq FROM rtl_dispatch WHERE rowid > ?", (self.last,)):
                bits_of[shape][seq] += 1
            self.last = db.execute("SELECT coalesce(max(rowid), 0) FROM rtl_dispatch").fetchone()[0]
        for where, bits in self.bits.items():
            if len(bits) != bits.count(0) + bits.count(1):
                fail("(process, queue) %s has numbers that are there twice" % (where,))

    def check_content(self, db):
        """Each row is the dispatch whose number it has; and there is a bit for each."""
        for shape, kernel, wrong, untimed, most in db.execute(
                """SELECT shape_id, seq %% %d, sum(duration <> 1 + seq %% %d),
                sum(duration IS NULL), max(seq) FROM rtl_dispatch WHERE rowid > ?
                GROUP BY 1, 2""" % (KERNELS, DURATIONS), (self.last,)):
            bits, expected = self.shapes[shape]
            if wrong or kernel != expected:
                fail("rows of shape %d (kernel %d) are other dispatches: %s of kernel %d have "
                     "another duration" % (shape, expected, wrong, kernel))
            self.untimed += untimed
            bits.extend(bytes(max(0, most + 1 - len(bits))))

    def check(self, unknown_tails=False, whole=True):
        """The identity, uniqueness, ledger against rows; returns totals of rtl_account. @whole:
        SQLite's own check, too, which reads all of the file."""
        node = self.node
        self.feed()
        bad = node.sql("""SELECT process_id, queueId, pending FROM rtl_account
            JOIN rtl_process p ON p.id = process_id
            WHERE pending <> 0 AND (p.drained OR (p.ended IS NOT NULL AND NOT %d)) LIMIT 5"""
                       % unknown_tails)
        if bad:
            fail("pending after the end: %s" % bad)
        for process, queue, seq, count in node.sql(
                """SELECT process_id, queueId, sequenceId, count(*) FROM rtl_outstanding
                GROUP BY 1, 2, 3"""):
            bits = self.bits.get((process, queue), b"")
            if count != 1 or (seq < len(bits) and bits[seq]):
                fail("outstanding, and stored or twice: %s" % ((process, queue, seq),))
        for process, queue, stored in node.sql(
                """SELECT process_id, queueId, stored FROM rtl_account JOIN rtl_process p
                ON p.id = process_id WHERE p.ended IS NOT NULL"""):
            there = self.bits.get((process, queue), b"").count(1)
            if stored != there:
                fail("process %d, queue %d: the ledger says %d, there are %d" %
                     (process, queue, stored, there))
        bad = node.sql("SELECT * FROM rtl_account WHERE torn > 1 LIMIT 5")
        if bad:
            fail("more than one torn dispatch a thread: %s" % bad)
        if whole and node.sql("PRAGMA integrity_check") != [("ok",)]:
            fail("integrity_check")
        return node.sql("""SELECT coalesce(sum(dispatched), 0), coalesce(sum(stored), 0),
            coalesce(sum(outstanding), 0), coalesce(sum(dropped), 0), coalesce(sum(torn), 0),
            coalesce(sum(skipped), 0) FROM rtl_account""")[0]

    def check_all_stored(self, expected):
        """After the end: every one of @expected dispatches is a row, none was dropped."""
        totals = self.check()
        if totals[0] != expected or totals[1] != expected:
            fail("dispatched %d, the database accounts for (dispatched, stored, outstanding, "
                 "dropped, torn, skipped) %s" % (expected, totals))
        there = 0
        for where, bits in self.bits.items():
            count = bits.count(1)
            if bits.find(0) not in (-1, count):
                fail("number %d of %s is missing" % (bits.find(0), where))
            there += count
        if there != expected:
            fail("%d dispatched, %d bits" % (expected, there))
        return totals

    def check_identity(self, whole=True):
        totals = self.check(whole=whole)
        if totals[0] != sum(totals[1:]):
            fail("dispatched %d, accounted for %s" % (totals[0], totals[1:]))
        return totals

    def check_tails(self):
        """A process that was not read to its end has an unknown tail, and the verdict is "incomplete"."""
        node = self.node
        bad = node.sql("""SELECT p.id, p.rank, p.drained, l.reason FROM rtl_process p
            LEFT JOIN rtl_loss l ON l.process_id = p.id AND l.reason = 'unknown_tail'
            AND l.count IS NULL WHERE p.drained = (l.reason IS NOT NULL)""")
        if bad:
            fail("drained, or an unknown tail, but not both and not neither: %s" % bad)
        unknown = node.sql("SELECT count(*) FROM rtl_process WHERE NOT drained")[0][0]
        if unknown and node.sql("SELECT value FROM rtl_meta WHERE key = 'complete'") != [(0,)]:
            fail("%d unknown tails, and yet it says that it is complete" % unknown)
        return unknown
