# SPDX-License-Identifier: MIT
"""Which users may see what: every kind of user against everything there is to see, as a table.

Each user has a job of its own. Cells of "other" are about the job of A, A's about that of B. What
is hidden is hidden in the same words as what does not exist."""
import json
import os
import re
import signal
import subprocess
import sys

from node import DEADLINE_S, fail, reap, wait_for
from service import RTL, User, run

ROOT = User("root", 0)
ADMIN = User("group rtl", 61903, group=True)
A, B = User("A", 61901), User("B", 61902)
NOBODY = User("nobody", 65534)
UNMAPPED = User("unmapped uid", 61904)
CONTAINER = User("container root", 61905, container=True)
HOST = User("server of a container", 61906)

COLUMNS = ("own", "other", "totals", "own db", "other db", "own -wal", "other -wal", "index",
           "own control", "other control", "own counters", "other counters", "closed own db",
           "closed other db")
ALL = ("yes",) * len(COLUMNS)
ONE = ("yes", "no", "yes", "yes", "no", "yes", "no", "no", "yes", "no", "yes", "no", "yes", "no")
EXPECTED = {
    "root": ALL,
    "group rtl": ("yes", "yes", "yes", "yes", "no", "yes", "no", "no", "yes", "yes", "yes", "yes",
                  "yes", "no"),
    "A": ONE,
    "B": ONE,
    "nobody": ONE,
    "unmapped uid": ("refused", "refused", "refused", "none", "no", "none", "no", "no", "refused",
                     "refused", "refused", "refused", "none", "no"),
    "container root": ONE,
}


def yes(claim):
    return "yes" if claim else "no"


class Matrix:
    def __init__(self, service):
        self.service = service
        self.cells = {}
        self.sessions = {}

    def put(self, user, column, value):
        self.cells[user.name, column] = value

    # ---- one user's view

    def stat(self, user, *name):
        """Sessions and their numbers of dispatches, as rtl stat has them."""
        said = self.service.rtl(user, "stat", *name, "--json", "-n", "1")
        if said.returncode != 0:
            return {}, None
        document = json.loads(said.stdout)
        seen = {session["session"]: 0 for session in document["sessions"]}
        for row in document["ranks"]:
            seen[row["session"]] += row["dispatched"]
        return seen, document["node"]

    def reads_database(self, user, path):
        said = self.service.as_user(user, "sqlite3", "-readonly", "-cmd", ".timeout 20000", path,
                                    "SELECT count(*) > 0 FROM rocpd_op")
        return said.returncode == 0 and said.stdout.strip() == "1"

    def reads(self, user, path):
        return self.service.as_user(user, "head", "-c", "1", path).returncode == 0

    def controls(self, user, name):
        said = self.service.control(user, "stop", "--session", name)
        if said.returncode == 0:
            again = self.service.control(user, "start", "--session", name)
            if "are dormant" not in said.stdout or "record" not in again.stdout:
                fail("%s: ctl: %s%s" % (user.name, said.stdout, again.stdout))
        return said.returncode == 0

    def look(self, user, other):
        own, foreign = self.sessions[user.uid], self.sessions[other.uid]
        seen, node = self.stat(user)
        listed = {s["session"] for all in self.service.sessions(user).values() for s in all}
        if listed != set(seen):
            fail("%s: rtl ls and rtl stat do not agree: %s, %s" % (user.name, listed, seen))
        for name, session in (("own", own), ("other", foreign)):
            self.put(user, name, yes(session["session"] in seen))
            self.put(user, name + " db", yes(self.reads_database(user, session["database"])))
            self.put(user, name + " -wal", yes(self.reads(user, session["database"] + "-wal")))
            self.put(user, name + " control", yes(self.controls(user, session["session"])))
            counted = self.stat(user, session["session"])[0].get(session["session"], 0)
            self.put(user, name + " counters", yes(counted > 0))
        self.put(user, "totals", yes(node and node["sessions"] == len(self.sessions)
                                     and node["processes"] == len(self.sessions)))
        self.put(user, "index", yes(any(self.reads(user, os.path.join(self.service.store, name))
                                        for name in ("index.db", ".index-%d" % user.uid))))

    def look_closed(self, user, other):
        for name, session in (("own", self.sessions[user.uid]),
                              ("other", self.sessions[other.uid])):
            self.put(user, "closed %s db" % name,
                     yes(self.reads_database(user, session["database"])))

    # ---- the whole

    def show(self):
        widths = [max(len(column), 7) for column in COLUMNS]
        print("%-15s" % "" + "  ".join(c.ljust(w) for c, w in zip(COLUMNS, widths)))
        wrong = []
        for name, expected in EXPECTED.items():
            row = [self.cells.get((name, column), "?") for column in COLUMNS]
            print("%-15s" % name + "  ".join(c.ljust(w) for c, w in zip(row, widths)))
            wrong += ["%s, %s: %s instead of %s" % (name, column, found, wanted)
                      for column, found, wanted in zip(COLUMNS, row, expected) if found != wanted]
        if wrong:
            fail("\n".join(wrong))
        print("all %d cells are as specified" % (len(EXPECTED) * len(COLUMNS)))


def same_words(service, user, session):
    """What @user is told about @session of another user is what is told about none."""
    name, job, path = session["session"], session["job"], session["database"]
    missing_name = "job-0123456789abcdef"
    asked = 0
    for known, unknown in ((name, missing_name), (job, "a job that is not there")):
        for verb in (["stat", "%s", "-n", "1"], ["stat", "%s", "--json", "-n", "1"],
                     ["stat", "--outstanding", "%s"], ["ctl", "status", "--session", "%s"],
                     ["ctl", "start", "--session", "%s"], ["ctl", "stop", "--session", "%s"],
                     ["summary", "%s"], ["info", "%s"], ["outstanding", "%s"],
                     ["query", "%s", "SELECT 1"]):
            answers = []
            for which in (known, unknown):
                said = service.rtl(user, *[part.replace("%s", which) for part in verb])
                answers.append((said.returncode, said.stdout.replace(which, "X"),
                                said.stderr.replace(which, "X")))
            if answers[0] != answers[1] or answers[0][0] == 0:
                fail("rtl %s tells %s of a session of another user: %r" %
                     (" ".join(verb), user.name, answers))
            asked += 1
    missing = os.path.join(os.path.dirname(path), missing_name + ".db")
    for command in (["cat", "%s"], [service.program("rtl"), "query", "%s", "SELECT 1"]):
        answers = []
        for which in (path, missing):
            said = service.as_user(user, *[part.replace("%s", which) for part in command])
            answers.append((said.returncode, said.stdout, said.stderr.replace(which, "X")))
        if answers[0] != answers[1] or answers[0][0] == 0:
            fail("a path tells %s of a session of another user: %r" % (user.name, answers))
        asked += 1
    print("%s: %d questions about a job of another user and about none have the same answers" %
          (user.name, asked))


def unmapped(service, matrix):
    """A collector inside of a user namespace, and a user that has no uid in there."""
    socket, store = service.work + "/inner/rtl.sock", service.work + "/inside"
    os.mkdir(store, 0o711)
    os.chown(store, HOST.uid, HOST.uid)
    os.mkdir(service.work + "/inner", 0o755)
    os.chown(service.work + "/inner", HOST.uid, HOST.uid)
    inside = User("inside", HOST.uid, container=True)
    said = service.as_user(inside, *service.collector(socket=socket, store=store))
    if said.returncode == 0 or "user namespace" not in said.stderr:
        fail("a collector in a user namespace started: %r" % said.stderr)
    print("refused: " + said.stderr.strip())
    said = subprocess.run(
        ["unshare", "--pid", "--fork", *service.collector(socket=socket, store=store)],
        capture_output=True, text=True, env=service.env, timeout=DEADLINE_S, check=False)
    if said.returncode == 0 or "pid namespace" not in said.stderr:
        fail("a collector in a pid namespace started: %r" % said.stderr)
    print("refused: " + said.stderr.strip())
    collector = subprocess.Popen(
        inside.command(service.collector("--single-tenant", socket=socket, store=store)),
        stdin=subprocess.DEVNULL, stdout=service.log, stderr=service.log, env=service.env)
    service.shims.append(collector)
    wait_for("the collector inside", lambda: service.rtl(
        inside, "ctl", "status", socket=socket).returncode == 0)
    words = "not visible"

    def refused(*arguments):
        """By the collector, in its own words; the client alone would not trust it."""
        program = [sys.executable, "-c", ASK, socket]
        said = service.as_user(UNMAPPED, *program)
        trusted = service.rtl(UNMAPPED, *arguments, socket=socket)
        return "refused" if words in said.stdout and trusted.returncode != 0 else "no"

    shim = service.spawn(UNMAPPED, "unmapped", dispatches=1000, rate=100000, socket=socket)
    wait_for("a rank without a uid to be refused", lambda: service.has_said("refused: its uid is not"))
    reap(shim)
    if [name for name in os.listdir(store) if name.isdigit()]:
        fail("a user without a uid has a folder: %s" % os.listdir(store))
    own = other = matrix.sessions[A.uid]
    for column in ("own", "other", "own counters", "other counters", "totals"):
        matrix.put(UNMAPPED, column, refused("stat", "--json", "-n", "1"))
    for column in ("own control", "other control"):
        matrix.put(UNMAPPED, column, refused("ctl", "stop"))
    for column in ("own db", "own -wal", "closed own db"):
        matrix.put(UNMAPPED, column, "none")
    matrix.put(UNMAPPED, "other db", yes(matrix.reads_database(UNMAPPED, other["database"])))
    matrix.put(UNMAPPED, "other -wal", yes(matrix.reads(UNMAPPED, own["database"] + "-wal")))
    matrix.put(UNMAPPED, "index", yes(matrix.reads(UNMAPPED, store + "/index.db")))
    collector.send_signal(signal.SIGTERM)
    collector.wait(DEADLINE_S)


# Connects and shows what is said before the end.
ASK = """
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.settimeout(60)
s.connect(sys.argv[1])
text = b""
while True:
    more = s.recv(4096)
    if not more:
        break
    text += more
print(text[4:].decode(errors="replace"))
"""


def strange_jobs(service):
    """No byte of a peer becomes part of a path; a job's name is its user's own."""
    jobs = ("../../../../tmp/rtl-escape", "index", "..", ".", "a/b", "x\ny", "job of B",
            "x" * 4000, "%s%n", "--help", "\u202e\u0007")
    for job in jobs:
        shim = service.spawn(A, job, dispatches=10, rate=100000)
        shim.communicate(timeout=DEADLINE_S)
        if shim.returncode != 0:
            fail("a rank of a strange job ended with %d" % shim.returncode)
    wait_for("strange jobs to be stored", lambda: len(service.sessions()[A.uid]) >= len(jobs))
    for folder, _, names in os.walk(service.store):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), service.store)
            if not re.fullmatch(r"\.lock(-[0-9]+)?|(\.index-[0-9]+|index\.db|[0-9]+/job-[0-9a-f]{16}(-[0-9]+)?\.db)"
                                r"(-wal|-shm|-journal)?", path):
                fail("a strange file: " + path)
    if len(service.sessions()[B.uid]) != 1 or service.sessions()[B.uid][0]["processes"] != 1:
        fail("B's job has got a process of A")
    print("%d strange names of jobs: no strange path, and none is another user's job" % len(jobs))


def check(service, _options):
    matrix = Matrix(service)
    users = [ROOT, ADMIN, A, B, NOBODY, CONTAINER]
    service.start()
    if os.stat(service.store).st_uid != RTL:
        fail("the store is not the user rtl's")
    with open("/proc/%d/status" % service.shims[0].pid, encoding="ascii") as status:
        if not re.search(r"^Uid:\s%d\s%d\s%d\s%d$" % ((RTL,) * 4), status.read(), re.M):
            fail("the collector has not become the user rtl")
    shims = [service.spawn(user, "job of " + user.name) for user in users]

    def recorded():
        matrix.sessions = {uid: of[0] for uid, of in service.sessions().items()}
        return all((matrix.sessions.get(user.uid) or {}).get("stored") for user in users)
    wait_for("a job of each user", recorded)
    for user in users:
        matrix.look(user, B if user is A else A)
    unmapped(service, matrix)
    for user in (B, NOBODY, CONTAINER):
        same_words(service, user, matrix.sessions[A.uid])
    said = service.rtl(ADMIN, "stat", "--outstanding", matrix.sessions[A.uid]["session"])
    if said.returncode != 1 or "readable for uid %d and root only" % A.uid not in said.stderr:
        fail("group rtl is not told why it cannot read: %r" % said.stderr)
    strange_jobs(service)
    for shim in shims:
        shim.terminate()
        shim.communicate(timeout=DEADLINE_S)
    wait_for("all sessions to be closed", lambda: all(
        s["state"] == "closed" for of in service.sessions().values() for s in of))
    for user in users:
        matrix.look_closed(user, B if user is A else A)
    matrix.put(UNMAPPED, "closed other db",
               yes(matrix.reads_database(UNMAPPED, matrix.sessions[A.uid]["database"])))
    matrix.show()


if __name__ == "__main__":
    run(check)
