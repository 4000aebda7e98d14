#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Closed sessions go: by size, age and room, whole, oldest first, fair between tenants.

usage: retention.py --build DIR
Two hundred sessions of five tenants, all but a few of them copies of a real one with times of their
own; links, foreign files and a reader among them; the collector is killed in the middle, twice.
Whatever happens, a session is either there, or the index says when and why it went.
"""
import contextlib
import glob
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

from node import DEADLINE_S, fail, reap, said, wait_for
from service import User, run

MIB = 1 << 20
DAY_NS = 86400 * 10**9
START_NS = 1_700_000_000 * 10**9
GREAT, MIDDLE, SMALL, SINGLE, LIVE = (User(name, 72000 + i) for i, name in enumerate(
    ("great", "middle", "small", "single", "live")))
COUNTS = {GREAT: 120, MIDDLE: 60, SMALL: 18}  # copies, beside the first one
COMPANIONS = ("-shm", "-lock")


def index_path(service, user):
    """Of one tenant; index.db has the rows of all."""
    return os.path.join(service.store, ".index-%d" % user.uid)


def ask(service, sql, values=()):
    with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(
            "file:%s/index.db?mode=ro" % service.store, uri=True, timeout=60)) as db:
        return db.execute(sql, values).fetchall()
    return []  # it is just being made


def change(service, user, statements):
    db = sqlite3.connect(index_path(service, user), timeout=60)
    for sql, values in statements:
        db.execute(sql, values)
    db.commit()
    db.close()


def stop(process, how=signal.SIGTERM):
    """With SIGKILL all processes of the service."""
    if how == signal.SIGKILL:
        os.killpg(process.pid, how)
    process.send_signal(how)
    process.wait(timeout=DEADLINE_S)


def run_rank(service, user, job, dispatches=500):
    kernels = said(service.spawn(user, job, "--polite", dispatches=dispatches, rate=0)
                   )["dispatched"]["kernels"]
    # Not by rtl ls: what that reads would be kept for it.
    wait_for("the end of " + job, lambda: ask(
        service, "SELECT 1 FROM session WHERE job = ? AND end_realtime_ns IS NOT NULL", (job,)))
    return kernels


def size_of(path):
    """Of what is no link; it may go while it is looked at."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


class Stock:
    """The closed sessions: what was made, in the order in which it was closed."""

    def __init__(self, service):
        self.service = service
        self.paths = {}  # user -> [path], oldest first
        self.rows = []

    def add_real(self):
        for user in (SINGLE, GREAT, MIDDLE, SMALL):
            run_rank(self.service, user, "first of " + user.name)
            path, = [s["database"] for s in self.service.sessions()[user.uid]]
            self.paths[user] = [path]

    def add_copies(self):
        """The oldest of all is the single one."""
        for i, user in enumerate((SINGLE, GREAT, MIDDLE, SMALL)):
            change(self.service, user, [("UPDATE session SET end_realtime_ns = ? WHERE uid = ?",
                                         (START_NS + i, user.uid))])
        for user, count in COUNTS.items():
            change(self.service, user, [
                self.copy(user, "copy-%03d" % i, START_NS + 10**9 * (i + 1))
                for i in range(count)])

    def copy(self, user, name, end_ns):
        """A file; what is to be done that the index knows it."""
        first = self.paths[user][0]
        path = os.path.join(os.path.dirname(first), name + ".db")
        shutil.copyfile(first, path)
        for file in [path] + [path + ending for ending in COMPANIONS]:
            open(file, "ab").close()
            shutil.chown(file, os.stat(first).st_uid, os.stat(first).st_gid)
        self.paths[user].append(path)
        return ("""INSERT INTO session (database, name, uid, start_realtime_ns, end_realtime_ns,
            complete) VALUES (?, ?, ?, ?, ?, 1)""", (path, name, user.uid, end_ns - 1, end_ns))

    def check_whole(self):
        """There or gone, and the index knows it; nothing is left of what went."""
        known = {row[0] for row in ask(self.service, "SELECT database FROM session")}
        gone = {row[0]: row[1:] for row in ask(
            self.service, "SELECT database, removed_realtime_ns, why, uid, bytes FROM removed")}
        for user, paths in self.paths.items():
            for path in paths:
                if os.path.lexists(path) != (path in known) or (path in known) == (path in gone):
                    fail("%s is %sthere; the index: %s, %s" % (
                        path, "" if os.path.lexists(path) else "not ", path in known,
                        gone.get(path)))
                if path in known:
                    continue
                removed_ns, why, uid, size = gone[path]
                left = [e for e in COMPANIONS if os.path.lexists(path + e)]
                if not removed_ns or not why or uid != user.uid or not size or left:
                    fail("%s went: %s; there is still %s" % (path, gone[path], left))
        return len(gone)

    def bytes(self, user):
        return sum(map(size_of, self.paths[user]))

    def there(self, user):
        return [os.path.lexists(p) for p in self.paths[user]]


def plant(stock, work):
    """What is not ours, among the oldest of the middle tenant. {path: what the log says}"""
    paths = stock.paths[MIDDLE]
    precious = os.path.join(work, "precious")
    shutil.copyfile(paths[0], precious)
    for path in paths[1:5]:
        os.unlink(path)
    os.symlink(precious, paths[1])
    with open(paths[2], "w", encoding="ascii") as file:
        file.write("notes of a user\n" * 100)
    shutil.chown(paths[2], os.stat(paths[0]).st_uid)
    os.link(paths[0], paths[3])  # then the first one has two names, too
    shutil.copyfile(precious, paths[4])
    os.chown(paths[4], 0, 0)
    return {paths[0]: "several links", paths[1]: "symbolic link",
            paths[2]: "not a database of rtl", paths[3]: "several links", paths[4]: "not ours"}


def start(service, *options):
    return service.start(service.collector("--verbose", *options))


def run_killed(service, where, *options, user=None):
    """A worker kills itself and the supervisor at fault point @where, of what a rank of @user has it do."""
    process = subprocess.Popen(
        [service.program("collectord-faults"), *service.collector(*options)[1:]],
        stdin=subprocess.DEVNULL, stdout=service.log, stderr=service.log,
        env={**service.env, "RTL_FAULT": where + (":group" if ":" in where else ":1:group")},
        start_new_session=True)
    service.shims.append(process)
    shim = service.spawn(user, where) if user else None
    if process.wait(timeout=DEADLINE_S) != -signal.SIGKILL:
        fail("%s: it ended with %d" % (where, process.returncode))
    if shim:
        reap(shim)


def log_text(service):
    with open(service.log.name, encoding="utf-8", errors="replace") as log:
        return log.read()


def by_size(service, stock):
    """A limit of the whole store, two kills, a reader, and what is not ours."""
    planted = plant(stock, service.work)
    reader = sqlite3.connect("file:%s?mode=ro" % stock.paths[GREAT][0], uri=True, timeout=60,
                             isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rtl_session").fetchone()
    before = {user: stock.bytes(user) for user in stock.paths}
    limit = sum(before.values()) // 3 // MIB
    options = ("--keep-bytes", str(limit))
    run_killed(service, "removal_begun:5", *options)
    run_killed(service, "removal_unlinked:20", *options)
    process = start(service, *options)
    wait_for("the store to be small", lambda: sum(map(stock.bytes, stock.paths)) <= limit * MIB)
    process = run_pass(service, process, options, limit * MIB)
    removed = stock.check_whole()
    log = log_text(service)
    for path, why in planted.items():
        lines = [line for line in log.splitlines() if path + ":" in line and why in line]
        if not os.path.lexists(path) or not lines:
            fail("%s (%s): there %s, log %s" % (path, why, os.path.lexists(path), lines))
    if not stock.there(GREAT)[0]:
        fail("a session went that was being read")
    reader.close()
    if stock.there(SINGLE) != [True] or not all(stock.there(SMALL)):
        fail("the user with less than its share lost something")
    left = stock.there(GREAT)[1:]
    if left != sorted(left) or all(left) or stock.bytes(GREAT) < limit * MIB // 8:
        fail("of the one that had most is left: %s" % left)
    check_told(service, stock)
    stop(process)
    process = start(service, *options)  # no process reads it any more
    stop(process)
    return removed


def run_pass(service, process, options, most_bytes):
    """By now everything that has to go has gone; all that went in the life before is finished. What the index
    says is what the collector goes by."""
    stop(process)
    process = start(service, *options)
    wait_for("all that is too much to go", lambda: ask(service, """
        SELECT 1 FROM (SELECT count(*) - count(bytes) AS unknown, sum(bytes) AS bytes FROM session)
        WHERE unknown = 0 AND bytes <= ? AND NOT EXISTS
        (SELECT 1 FROM removed WHERE removed_realtime_ns IS NULL)""", (most_bytes,)))
    return process


def check_told(service, stock):
    """rtl ls and rtl summary of the user that it belonged to."""
    gone = [os.path.basename(p)[:-3] for p in stock.paths[GREAT] if not os.path.lexists(p)]
    told = [s for s in service.sessions(GREAT)[GREAT.uid] if s["state"] == "removed"]
    if {s["session"] for s in told} != set(gone) or not all(
            s["removed_why"] and s["removed_realtime_ns"] and s["bytes"] for s in told):
        fail("%d went, rtl ls tells of %s" % (len(gone), told[:3]))
    table = service.rtl(GREAT, "ls", "--socket", service.socket).stdout
    if table.count("removed 2") != len(gone):
        fail("rtl ls: %s" % table)
    if GREAT.uid in service.sessions(SINGLE):
        fail("a neighbour is told what went")
    for user, words in ((GREAT, "its collector removed it at "), (SINGLE, "no such file or session")):
        name = gone[0]
        summary = service.rtl(user, "summary", name)
        if summary.returncode != 1 or summary.stderr.count("\n") != 1 or \
                words not in summary.stderr or summary.stdout:
            fail("rtl summary of what went, to %s: %r %r" % (user.name, summary.stdout,
                                                             summary.stderr))


def by_age(service, stock):
    """The small tenant's oldest five were closed long ago; the others' but a day."""
    now_ns = int(time.time()) * 10**9
    for user in stock.paths:
        change(service, user, [("UPDATE session SET end_realtime_ns = ? - ? + end_realtime_ns % 1000",
                                (now_ns, DAY_NS))])
    change(service, SMALL, [("UPDATE session SET end_realtime_ns = ? WHERE database = ?",
                             (now_ns - 11 * DAY_NS, path)) for path in stock.paths[SMALL][:5]])
    process = start(service, "--keep-days", "10")
    wait_for("the old ones to go", lambda: not any(stock.there(SMALL)[:5]))
    stop(process)
    stock.check_whole()
    if not all(stock.there(SMALL)[5:]) or stock.there(SINGLE) != [True]:
        fail("what was closed a day ago went")
    why, = ask(service, "SELECT DISTINCT why FROM removed WHERE database = ?",
               (stock.paths[SMALL][0],))[0]
    if "10 days" not in why:
        fail("why: " + why)


def by_count(service, stock):
    """However small they are: so many of a user."""
    process = start(service, "--keep-sessions", "12")
    wait_for("as many as may be kept", lambda: all(
        sum(stock.there(user)) <= 12 for user in (GREAT, MIDDLE, SMALL)))
    stop(process)
    stock.check_whole()
    left = stock.there(SMALL)
    if left != [False] * (len(left) - 12) + [True] * 12 or stock.there(SINGLE) != [True]:
        fail("of the 12 sessions to be kept are left: %s" % left)
    why, = ask(service, "SELECT why FROM removed WHERE database = ?",
               (stock.paths[SMALL][len(left) - 13],))[0]
    if why != "its owner had 13 closed sessions; 12 are kept":
        fail("why: " + why)


def by_quota(service, stock):
    """A live session over its tenant's disk quota: its closed ones go, then no more is stored."""
    process = start(service, "--quota-disk", "4")
    wait_for("the others to be within it", lambda: all(
        stock.bytes(user) <= 4 * MIB for user in (GREAT, SMALL)))
    run_rank(service, LIVE, "closed")
    kernels = run_rank(service, LIVE, "live", 250_000)
    wait_for("the end to be told", lambda: {"removed", "closed"} == {
        s["state"] for s in service.sessions()[LIVE.uid]})
    gone, live = sorted(service.sessions()[LIVE.uid], key=lambda s: s["start_realtime_ns"])
    db = sqlite3.connect("file:%s?mode=ro" % live["database"], uri=True, timeout=60)
    dispatched, stored, dropped, quota, rows = db.execute(
        """SELECT sum(dispatched), sum(stored), sum(dropped), (SELECT sum(count) FROM rtl_loss
        WHERE reason = 'dropped_quota'), (SELECT count(*) FROM rocpd_op) FROM rtl_account"""
    ).fetchone()
    db.close()
    stop(process)
    size = os.path.getsize(live["database"])
    if (gone["state"], live["state"]) != ("removed", "closed") or dispatched != kernels or \
            stored + dropped != dispatched or dropped != quota or not stored or not dropped or \
            rows != stored or "(quota %d" % quota not in live["line"] or size > 8 * MIB:
        fail("over the disk quota: %s, %s: %d dispatched, %d stored, %d dropped, %d over quota, "
             "%d bytes" % (gone, live, dispatched, stored, dropped, quota, size))
    if "over quota: uid %d has" % LIVE.uid not in log_text(service):
        fail("the log does not say that the disk quota is used up")
    stock.check_whole()
    return stored, dropped, size


def for_room(service, stock):
    """A small disk: closed sessions go before records have to wait."""
    disk = os.path.join(service.work, "disk")
    os.mkdir(disk, 0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=156m,mode=755", "rtl-test", disk], check=True)
    service.store = os.path.join(disk, "store")
    small = Stock(service)
    process = start(service)
    run_rank(service, GREAT, "first")
    run_rank(service, SINGLE, "only")
    stop(process)
    small.paths = {user: [s for s, in ask(service, "SELECT database FROM session WHERE uid = ?",
                                          (user.uid,))] for user in (GREAT, SINGLE)}
    with open(small.paths[GREAT][0], "ab") as file:
        file.truncate(2 * MIB)
    for i in range(50):
        change(service, GREAT, [small.copy(GREAT, "copy-%03d" % i, START_NS + i)])
        with open(small.paths[GREAT][-1], "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(b"\1" * (2 * MIB))
            file.truncate(2 * MIB)
            file.seek(MIB)
            file.write(b"\1" * MIB)
    process = start(service, "--keep-free", "32", "--quota-disk", "0")
    kernels = run_rank(service, SINGLE, "stored", 100_000)
    line, = [s["line"] for s in service.sessions()[SINGLE.uid] if s["job"] == "stored"]
    stop(process)
    removed = small.check_whole()
    if not removed or "complete: %d dispatched, %d stored" % (kernels, kernels) not in line or \
            "degraded" in log_text(service).rsplit("listening on", 1)[1] or \
            small.there(SINGLE) != [True]:
        fail("%d went for room; %s" % (removed, line))
    others_fill(service, small, disk, process)
    stock.service = None
    return removed


def leave_free(disk, mib):
    """Another user's file takes the rest; it is made anew."""
    path = os.path.join(disk, "a-file-of-another-user")
    if os.path.lexists(path):
        os.unlink(path)
    found = os.statvfs(disk)
    with open(path, "wb") as file:
        os.posix_fallocate(file.fileno(), 0,
                           max(found.f_bavail * found.f_frsize - mib * MIB, 4096))
    return path


def closed_mib(stock):
    return sum(stock.bytes(user) for user in stock.paths) // MIB


def others_fill(service, small, disk, process):
    """What fills the disk is not ours: nothing goes while no session stores, nor where it is no help."""
    options = ("--keep-free", "32", "--quota-disk", "0")
    before = small.there(GREAT)
    # 32 have to stay, 16 are the reserve's, 20 more are wanted: then some 18 are left of what is closed
    # (but for what a collector needs to start: how many went before is a matter of time).
    leave_free(disk, max(32 + 16 + 20 - (closed_mib(small) - 18), 1))
    process = start(service, *options)
    stop(process)
    if small.there(GREAT) != before or not small.check_whole():
        fail("sessions went for a disk that others fill, while no session stores")
    process = start(service, *options)
    kernels = run_rank(service, SINGLE, "goes on")
    stop(process)
    after = small.there(GREAT)
    line, = [s[0] for s in ask(service, "SELECT completeness FROM session WHERE job = 'goes on'")]
    if not sum(before) > sum(after) > 0 or " complete: %d " % kernels not in line:
        fail("for a session that stores went %d of %d; %s" % (sum(before) - sum(after), sum(before), line))
    # All of them and the free space together are 4 MiB too little; of the free space a new session's file needs one.
    path = leave_free(disk, 64 + 16 - closed_mib(small) - 4)
    process = start(service, "--keep-free", "64", "--quota-disk", "0")
    shim = service.spawn(SINGLE, "waits", "--polite")
    wait_for("its records to wait", lambda: "degraded" in log_text(service).rsplit("listening on", 1)[1])
    for _ in range(3):  # each is answered by the thread that looks for what may go
        service.rtl(None, "ctl", "status", "--socket", service.socket)
    if small.there(GREAT) != after:
        fail("%d went though all of them are too little" % (sum(after) - sum(small.there(GREAT))))
    os.unlink(path)
    shim.terminate()
    shim.wait(DEADLINE_S)
    wait_for("its end", lambda: ask(
        service, "SELECT 1 FROM session WHERE job = 'waits' AND end_realtime_ns IS NOT NULL"))
    stop(process)
    line, = [s[0] for s in ask(service, "SELECT completeness FROM session WHERE job = 'waits'")]
    if "dropped" in line:
        fail("what waited: " + line)
    small.check_whole()


def killed_as_it_opens(service):
    """Between a session's file and its row in the index. The next collector knows the session; a file
    that none is in goes."""
    whole = service.store
    service.store = os.path.join(service.work, "opens[1]*")
    folder = os.path.join(service.store, str(LIVE.uid))
    for where, is_kept in (("file_made", False), ("file_vacant", False),
                           ("session_not_listed", True)):
        run_killed(service, where, user=LIVE)
        left = [name for name in os.listdir(folder) if name.endswith(".db")]
        if len(left) != 1 or ask(service, "SELECT 1 FROM session"):
            fail("killed at %s, there are %s, and the index knows them" % (where, left))
        process = start(service)
        if is_kept:
            wait_for("its end", lambda: ask(
                service, "SELECT 1 FROM session WHERE end_realtime_ns IS NOT NULL"))
        stop(process)
        known = [path for path, in ask(service, "SELECT database FROM session")]
        there = [os.path.join(folder, name) for name in os.listdir(folder)]
        if there != known or len(known) != is_kept:
            fail("killed at %s, there are then %s, and the index knows %s" % (where, there, known))
    service.store = whole


def killed_as_it_sets_aside(service):
    """Between the damaged file's new name and the one that takes its place."""
    whole = service.store
    service.store = os.path.join(service.work, "aside[1]")
    process = start(service)
    shim = service.spawn(LIVE, "damaged")
    wait_for("the session", lambda: ask(service, "SELECT 1 FROM session"))
    stop(process, signal.SIGKILL)
    reap(shim)
    path, = [path for path, in ask(service, "SELECT database FROM session")]
    with open(path, "r+b") as file:
        file.write(b"damaged" * 20)
    run_killed(service, "moved_aside")
    stop(start(service))
    rows = ask(service, "SELECT database, end_realtime_ns IS NOT NULL, completeness FROM session")
    if os.path.lexists(path) or len(rows) != 1 or not rows[0][0].startswith(path + ".corrupt-") or \
            not os.path.exists(rows[0][0]) or rows[0][1:] != (1, "set aside: it is corrupt"):
        fail("killed as it set %s aside, the index says %s" % (path, rows))
    service.store = whole


def lose_index(service):
    """What the next collector finds in the files is what the index said, but for sizes."""
    what = """SELECT database, name, job, command, uid, start_realtime_ns,
        end_realtime_ns > start_realtime_ns, complete, completeness, stored
        FROM session ORDER BY database"""
    before = ask(service, what)
    for path in glob.glob(os.path.join(glob.escape(service.store), ".index-*")):
        os.unlink(path)
    os.unlink(os.path.join(service.store, "index.db"))
    # In a folder that is no user's: not a collector's of this store.
    others = os.path.join(service.store, "7 runs")
    os.mkdir(others)
    shutil.copy(before[0][0], others)
    for path in (others, os.path.join(others, os.path.basename(before[0][0]))):
        shutil.chown(path, os.stat(before[0][0]).st_uid)
    stop(start(service))
    shutil.rmtree(others)
    after = ask(service, what)
    if after != before or not all(row[-1] for row in after):
        fail("the index was %s; made anew it is %s" % (before, after))


def move_store(service):
    """To another folder and back: what the index knows goes along, and nothing is in it twice. How large
    files are a collector asks while it runs: one that is told to end at once may not have."""
    what = """SELECT database, name, uid, start_realtime_ns, end_realtime_ns, stored
        FROM session ORDER BY database"""
    before, first = ask(service, what), service.store
    for folder in (first + "-moved", first):
        os.rename(service.store, folder)
        service.store = folder
        stop(start(service))
        after = ask(service, what)
        if after != [(path.replace(first, folder), *row) for path, *row in before]:
            fail("the index was %s; of the store in %s it is %s" % (before, folder, after))


def check(service, _options):
    killed_as_it_opens(service)
    killed_as_it_sets_aside(service)
    stock = Stock(service)
    process = start(service)
    stock.add_real()
    stop(process)
    lose_index(service)
    move_store(service)
    stock.add_copies()
    removed = by_size(service, stock)
    by_age(service, stock)
    by_count(service, stock)
    stored, dropped, size = by_quota(service, stock)
    room = for_room(service, stock)
    print("retention: of %d closed sessions %d went for size, over two kills; 5 for age; a live one "
          "over 4 MiB of disk: %d stored, %d counted, %d KiB; %d went for room, before anything "
          "waited, none for files of others" % (sum(COUNTS.values()) + 4, removed, stored, dropped, size >> 10, room))


if __name__ == "__main__":
    run(check)
