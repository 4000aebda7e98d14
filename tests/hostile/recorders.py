#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recorders that lie, of ranks that are killed: only they suffer, and not for long.

usage: recorders.py --build DIR [--rounds N]

All lies at once, while their tellers live and are looked at, and when they have died; then the
dearest one alone, which bounds what a drain costs.
"""
import subprocess
import time

from neighbours import HOSTILE_UID, Database, fail, run, wait_for
from node import STALL_S_MAX, is_long, reap

TOOL_S_MAX = 1000  # a tool that takes longer hangs; with all rounds a file has ten million rows


class Liars(Database):
    def __init__(self, street, uid):
        self.street, self.uid = street, uid
        self.database = None
        listed = subprocess.run([street.program("liar"), "--list"], capture_output=True,
                                text=True, check=True).stdout
        self.lies = [line.split() for line in listed.splitlines()]
        self.processes = {}

    def start(self, lie, rank):
        street = self.street
        self.processes[rank] = street.popen(
            self.uid, [street.program("liar"), street.socket, lie, str(rank)], job="liars")

    def welcomed(self):
        for rank, process in self.processes.items():
            if process.stdout.readline() != "welcomed\n":
                fail("liar %d is not welcomed" % rank)
        self.database = self.street.databases(self.uid)[0]

    def kill(self):
        """Seconds until all are drained."""
        begin = time.monotonic()
        for process in self.processes.values():
            reap(process)
        for rank in self.processes:
            wait_for("liar %d to be drained" % rank, lambda r=rank: self.is_read(r))
        seconds = time.monotonic() - begin
        self.processes = {}
        if seconds > STALL_S_MAX:
            fail("a drain of %.0f s" % seconds)
        return seconds

    def is_read(self, rank):
        return self.has("SELECT 1 FROM rtl_process WHERE rank = %d AND ended IS NOT NULL" % rank)

    def reasons(self, rank):
        return {reason: count for reason, count in self.sql(
            """SELECT reason, count FROM rtl_loss l JOIN rtl_process p ON p.id = l.process_id
            WHERE rank = %d""" % rank)}


def tell_all(liars, first):
    """Each lie in a process of its own, all at once; how long until all were found out."""
    for rank, (lie, _) in enumerate(liars.lies, first):
        liars.start(lie, rank)
    liars.welcomed()
    waiting = [rank for rank, (lie, _) in enumerate(liars.lies, first) if lie == "submitted"][0]
    wait_for("a scan of the live ranks", lambda: liars.has(
        """SELECT 1 FROM rtl_in_flight f JOIN rtl_process p ON p.id = f.process_id
        WHERE rank = %d""" % waiting))
    seconds = liars.kill()
    for rank, (lie, found_as) in enumerate(liars.lies, first):
        reasons = liars.reasons(rank)
        if found_as != "-" and found_as not in reasons:
            fail("%s is found as %s, not as %s" % (lie, reasons, found_as))
    return seconds


def read_with_all(street, liars):
    """What the tools make of it: they end, and not by a signal."""
    # Each reads 600,000 names: with all rounds only.
    more = [["summary"], ["summary", "--by", "category"], ["info", "--clocks"], ["tree"], ["collectives"],
            ["outstanding"], ["timeline"]] if is_long() else []
    for verb in (["info", "--counters"], *more, ["query"]):
        words = [street.program("rtl"), *verb, liars.database]
        if verb == ["query"]:
            words.append("SELECT sum(dispatched), sum(dropped), sum(skipped) FROM rtl_account")
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TOOL_S_MAX, check=False)
        if done.returncode not in (0, 1) or (verb != ["collectives"] and done.returncode):
            fail("rtl %s ends with %d: %s" % (" ".join(verb), done.returncode, done.stderr))


def test(street, arguments):
    street.start()
    street.honest()
    liars = Liars(street, HOSTILE_UID)
    together = []
    with street.attack("%d lying recorders" % len(liars.lies)) as attack:
        while len(together) < arguments.rounds or not attack.is_seen():
            together.append(tell_all(liars, 1000 * len(together)))
    rank = 1000 * len(together)
    with street.attack("a recorder with all that fits into it"):
        liars.start("everything", rank)
        liars.welcomed()
        alone = liars.kill()
    stored = liars.sql("SELECT sum(stored) FROM rtl_account JOIN rtl_process p "
                       "ON p.id = process_id WHERE rank = %d" % rank)[0][0]
    wait_for("the liars' session to be closed", lambda: liars.has(
        "SELECT 1 FROM rtl_session WHERE end_ns IS NOT NULL"))
    if liars.sql("SELECT value FROM rtl_meta WHERE key = 'complete'") != [(0,)]:
        fail("a session of liars says that it is complete")
    if liars.sql("PRAGMA integrity_check") != [("ok",)]:
        fail("integrity_check")
    words = street.check_honest()
    read_with_all(street, liars)
    street.check_fds()
    print("%d lies x %d found out, all of them %.1f s after their death; all that fits into a "
          "recorder (%d rows) %.1f s; RSS at most %d MiB; %s" %
          (len(liars.lies), len(together), max(together), stored, alone,
           street.rss_mib("VmHWM"), words))
    street.stop()


if __name__ == "__main__":
    run(test, rounds=(1, 20))
