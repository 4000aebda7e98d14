#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A user with sixty-five thousand uids has one user's share, and others have theirs.

usage: subuids.py --build DIR
"""
import os

from connections import CONNECTIONS_MAX, HONEST_UID, hold, probe
from neighbours import HOSTILE_UID, fail, run

FIRST, BLOCK = 200000, 65536
HANDED_ON = 400000  # of a program's user: a container a block


def hold_as(street, uids, most):
    """Each of @uids takes what it can: how many they have in all, and the processes that hold them."""
    held, total = [], 0
    for uid in uids:
        held.append(street.neighbour(uid, hold, most))
        count, texts = held[-1].result()
        total += count
        if count < most and texts != ["too many connections of this user"]:
            fail("uid %d got %d connections, refused with %s" % (uid, count, texts))
    return total, held


def connections(street):
    most = CONNECTIONS_MAX
    mine, held = hold_as(street, (HOSTILE_UID, FIRST, FIRST + 1, FIRST + BLOCK - 1), most // 3)
    if mine != most:
        fail("a user and his subordinate uids got %d connections of %d" % (mine, most))
    # What is behind his range is another user, and so is each container.
    others, more = hold_as(street, (FIRST + BLOCK,), most + 1)
    first, second = (hold_as(street, uids, most // 2 + 1) for uids in (
        (HANDED_ON, HANDED_ON + 1), (HANDED_ON + BLOCK, HANDED_ON + BLOCK + 1)))
    answer = street.neighbour(HONEST_UID, probe).result()
    if (others, first[0], second[0]) != (most, most, most):
        fail("the others got %d, a container %d, another one %d" % (others, first[0], second[0]))
    for one in (*held, *more, *first[1], *second[1]):
        one.end()
    return mine, others, first[0], second[0], answer


def test(street, _arguments):
    path = os.path.join(street.work, "subuid")
    with open(path, "w", encoding="ascii") as file:
        file.write("%d:%d:%d\n500:%d:%d\n" % (HOSTILE_UID, FIRST, BLOCK, HANDED_ON, 4 * BLOCK))
    street.start(options=("--subuid-file", path))
    mine, others, first, second, answer = connections(street)
    print("subuids: %d connections at most: a user and three uids of his range got %d, a neighbour %d, "
          "two containers %d and %d; another uid is answered after %.0f ms" %
          (CONNECTIONS_MAX, mine, others, first, second, 1000 * answer))
    street.stop()


if __name__ == "__main__":
    run(test)
