#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels whose symbols are bombs: what they unfold to neither stops the collector nor fills the disk.

usage: symbols.py --build DIR [--names N]
"""
import os

from neighbours import HOSTILE_UID, run, wait_for, fail
from rank import Rank

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BATCH = 100
NAME_PART_BYTES, SESSION_NAMES_MAX = 256, 262144  # proto/base/limits.h
OVERHEAD = 4  # of a page of SQLite, an index and the log beside the names


def bomb(depth, number):
    """void f<int>(F...), F a function of the F before it, twice: 2^depth types from 6 bytes each."""
    name = "f%08d" % number
    return "_Z%d%sIiEvDp" % (len(name), name) + "Fv" * depth + "FviE" + "".join(
        ("S%s_E" % DIGITS[i]) if i < 36 else ("S1%s_E" % DIGITS[i - 36]) for i in range(depth))


def tell(pipe, path, names):
    """Work without output, then output without end, so many of each; bytes of symbols sent."""
    rank = Rank(path, "bombs")
    sent, at = 0, 0
    pipe.send("there")
    for depth in (39, 11, 8):
        for _ in range(0, names, BATCH):
            symbols = [bomb(depth, at + i) for i in range(BATCH)]
            rank.define(1 + at, symbols)
            rank.dispatch(range(1 + at, 1 + at + BATCH))
            rank.wait_stored()
            at += BATCH
            sent += sum(len(symbol) for symbol in symbols)
    return at, sent


def test(street, arguments):
    street.start()
    street.honest()
    with street.attack("symbols that are bombs") as attack:
        one = street.neighbour(HOSTILE_UID, tell, arguments.names)
        if one.result() != "there":
            fail("the one with the bombs is not there")
        count, sent = one.result()
        attack.go_on()
    database, = street.databases(HOSTILE_UID)
    stored = sum(os.path.getsize(database + suffix) for suffix in ("", "-wal"))
    if stored > OVERHEAD * NAME_PART_BYTES * SESSION_NAMES_MAX:
        fail("%d bytes of symbols became %d" % (sent, stored))
    one.end()
    words = street.check_honest()
    wait_for("the bombs' rank to be closed", lambda: not street.fds() > street.fds_at_start)
    print("%d symbols of %d bytes, which unfold to up to 2^39 types, became %d KiB; %s" %
          (count, sent, stored >> 10, words))
    street.stop()


if __name__ == "__main__":
    run(test, names=(500, 20_000))
