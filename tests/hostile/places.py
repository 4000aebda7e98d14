#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Foreign files at the paths of the collector are refused with one line, and left as they were.

usage: places.py --build DIR

With a link, a pipe, a folder, another user's file or a socket, dead or alive, at the path of the socket, its
lock, the store, its index or its lock the collector does not start. With one in the folder of a tenant
that session gets another name, or none, and the others go on.
"""
import hashlib
import os
import shutil
import socket
import sqlite3
import stat
import subprocess

from neighbours import HOSTILE_UID, connect, fail, run, told, wait_for
from node import DEADLINE_S

SECRET = "what another user wrote\n"


def look_at(path):
    st = os.lstat(path)
    seen = [stat.S_IFMT(st.st_mode), st.st_mode, st.st_uid, st.st_nlink, st.st_ino]
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as file:
            seen.append(hashlib.sha256(file.read()).hexdigest())
    if stat.S_ISLNK(st.st_mode):
        seen.append(os.readlink(path))
    return seen


def digest(path):
    """All that can be seen of the file @path; None if it is not there: a log of the collector may go meanwhile."""
    try:
        return look_at(path)
    except FileNotFoundError:
        return None


class Place:
    """One folder, a collector's socket and store in it, and a victim beside them."""

    def __init__(self, street, name):
        self.street = street
        self.folder = os.path.join(street.work, name)
        os.mkdir(self.folder, 0o755)
        self.socket = os.path.join(self.folder, "rtl.sock")
        self.store = os.path.join(self.folder, "store")
        self.victim = os.path.join(self.folder, "victim")
        with open(self.victim, "w", encoding="utf-8") as file:
            file.write(SECRET)
        os.chmod(self.victim, 0o644)

    def in_store(self, name):
        """A path in the store that an earlier life of the collector made."""
        if not os.path.exists(self.store):
            self.run_once()
        return os.path.join(self.store, name)

    def run_once(self):
        process = self.collector()
        for line in process.stderr:
            if "listening on" in line:
                break
        else:
            fail("it does not start in %s" % self.folder)
        subprocess.run([self.street.program("rtl"), "ctl", "--socket", self.socket, "status"],
                       capture_output=True, timeout=DEADLINE_S, check=True)
        process.terminate()
        process.communicate(timeout=DEADLINE_S)
        if process.returncode:
            fail("it ends with %d in %s" % (process.returncode, self.folder))

    def collector(self):
        return subprocess.Popen(
            [self.street.program("collectord"), "--socket", self.socket, "--db-dir", self.store,
             "--keep-free", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)

    def must_refuse(self, planted, words):
        """The collector refuses with one line that has @words and exit status 1, and nothing has changed."""
        before = {path: digest(path) for path in (planted, self.victim)}
        process = self.collector()
        try:
            _, said = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            fail("%s: neither refused nor ended: %s" % (self.folder, process.communicate()[1]))
        lines = said.splitlines()
        if process.returncode != 1 or len(lines) != 1 or words not in lines[0]:
            fail("%s: exit %d: %s" % (self.folder, process.returncode, said))
        for path, seen in before.items():
            if digest(path) != seen:
                fail("%s: %s has changed: %s, was %s" % (self.folder, path, digest(path), seen))
        print("%-32s %s" % (os.path.basename(self.folder),
                            lines[0].replace(self.folder, "...").removeprefix("collectord: ")))


    def must_serve_others(self, planted, words, serves_root=False):
        """A file at a path of root's worker, or of one that serves no user, is left as it was, and other
        tenants are served."""
        before = {path: digest(path) for path in (planted, self.victim)}
        process = self.collector()
        first = ""
        for line in process.stderr:
            first += line
            if "listening on" in line:
                break
        else:
            fail("%s: the service does not start" % self.folder)
        rtl = self.street.program("rtl")
        other = subprocess.run([rtl, "ctl", "--socket", self.socket, "status"], user=HOSTILE_UID,
                               group=HOSTILE_UID, extra_groups=[], capture_output=True, text=True,
                               timeout=DEADLINE_S, check=False)
        own = subprocess.run([rtl, "ctl", "--socket", self.socket, "status"], capture_output=True,
                             text=True, timeout=DEADLINE_S, check=False)
        process.terminate()
        said = first + process.stderr.read()
        process.wait(DEADLINE_S)
        if other.returncode != 0 or (own.returncode == 0) != serves_root or words not in said:
            fail("%s: another user: %r, root: %r, the log: %s" % (self.folder, other, own, said))
        for path, seen in before.items():
            if digest(path) != seen:
                fail("%s: %s has changed: %s, was %s" % (self.folder, path, digest(path), seen))
        print("%-32s others are served" % os.path.basename(self.folder))


# ---- what is planted -------------------------------------------------------------------------


def link(place, path):
    os.symlink(place.victim, path)


def hard_link(place, path):
    os.link(place.victim, path)


def dangling(place, path):
    os.symlink(place.victim + "-not-there", path)


def fifo(_place, path):
    os.mkfifo(path, 0o666)


def folder(_place, path):
    os.mkdir(path)


def foreign(_place, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(SECRET)
    os.chown(path, HOSTILE_UID, HOSTILE_UID)


def dead_socket(_place, path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
    os.chown(path, HOSTILE_UID, HOSTILE_UID)


def plant(path, how, place):
    if os.path.lexists(path):
        os.unlink(path)
    how(place, path)
    return path


NOT_OURS = "what lies there is not a dead socket of ours"


def of_the_socket(street):
    for how, words in ((link, NOT_OURS), (dangling, NOT_OURS), (hard_link, NOT_OURS),
                       (fifo, NOT_OURS), (folder, NOT_OURS), (foreign, NOT_OURS),
                       (dead_socket, NOT_OURS)):
        place = Place(street, "socket is a " + how.__name__)
        place.must_refuse(plant(place.socket, how, place), words)
    for how in (link, dangling, hard_link, fifo, folder, foreign):
        place = Place(street, "its lock is a " + how.__name__)
        place.must_refuse(plant(place.socket + ".lock", how, place), "cannot listen on")
    place = Place(street, "folder of the socket is another's")
    os.chown(place.folder, HOSTILE_UID, HOSTILE_UID)
    place.must_refuse(place.folder, "others may write there")
    place = Place(street, "folder of the socket is writable for all")
    os.chmod(place.folder, 0o777)
    place.must_refuse(place.folder, "others may write there")


def of_servers(street):
    """Another collector listens there; then ours; then none."""
    place = Place(street, "socket is a live one of others")
    where = os.path.join(street.work, "stolen")
    os.mkdir(where)
    os.chown(where, HOSTILE_UID, HOSTILE_UID)
    other = street.neighbour(HOSTILE_UID, serve, where)
    stolen = other.result()
    os.link(stolen, place.socket)
    place.must_refuse(place.socket, "another collector listens on")
    other.end()
    place = Place(street, "two collectors, one socket")
    first = place.collector()
    if "listening on" not in first.stderr.readline():
        fail("the first one does not start")
    place.must_refuse(place.socket, "pid %d" % first.pid)
    connect(place.socket).close()
    other = Place(street, "two collectors, one store")
    other.store = place.store
    other.must_refuse(place.store, "another collector stores in")
    connect(place.socket).close()
    first.kill()
    first.communicate()
    place.run_once()  # its dead socket is ours


def serve(_pipe, _path, where):
    path = os.path.join(where, "sock")
    serve.server = socket.socket(socket.AF_UNIX)
    serve.server.bind(path)
    serve.server.listen()
    return path


def of_the_store(street):
    place = Place(street, "store is a link")
    os.mkdir(os.path.join(place.folder, "elsewhere"))
    os.symlink(os.path.join(place.folder, "elsewhere"), place.store)
    place.must_refuse(place.store, "cannot store under")
    if os.listdir(os.path.join(place.folder, "elsewhere")):
        fail("something was written behind a link")
    for how in (fifo, foreign):
        place = Place(street, "store is a " + how.__name__)
        place.must_refuse(plant(place.store, how, place), "cannot store under")
    place = Place(street, "store is of another user")
    os.mkdir(place.store, 0o700)
    os.chown(place.store, HOSTILE_UID, HOSTILE_UID)
    place.must_refuse(place.store, "cannot store under")
    place = Place(street, "others may write to the store")
    os.mkdir(place.store, 0o777)
    os.chmod(place.store, 0o777)
    place.must_refuse(place.store, "others may write there")
    for how in (link, dangling, hard_link, fifo, folder, foreign):
        place = Place(street, "the lock is a %s" % how.__name__)
        place.must_refuse(plant(place.in_store(".lock"), how, place), "cannot lock")
    for name, words in ((".lock-0", "cannot lock"), (".index-0", "cannot store in")):
        for how in (link, dangling, hard_link, fifo, folder, foreign):
            place = Place(street, "%s is a %s" % (name, how.__name__))
            path = place.in_store(name)
            place.must_serve_others(plant(path, how, place), words)
    for how in (link, dangling, hard_link, fifo, folder, foreign):
        place = Place(street, "index.db is a %s" % how.__name__)
        path = place.in_store("index.db")
        place.must_serve_others(plant(path, how, place), "it does not list the node's sessions",
                                serves_root=True)


# ---- in the folder of a tenant -----------------------------------------------------------------


DISPATCHES = 1000
JOB = "places"


def start_job(street, uid):
    return street.popen(uid, [street.program("synthetic-shim"), "--socket", street.socket,
                              "--rank", "0", "--dispatches", str(DISPATCHES)], job=JOB)


def is_stored(path):
    """A sealed database of all that the job did. It is not read before it is sealed."""
    try:
        if not os.path.isfile(path) or os.path.islink(path) or os.lstat(path).st_nlink > 1:
            return False
        with sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True) as db:
            return db.execute(
                "SELECT (SELECT count(*) FROM rocpd_op) = %d AND (SELECT value FROM rtl_meta "
                "WHERE key = 'complete') = 1" % DISPATCHES).fetchone()[0]
    except sqlite3.Error:
        return False


def other_database(_place, path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")


class Case:
    """Something lies where the database of a user's job, or its log, will be."""

    def __init__(self, street, uid, name, suffix, how):
        self.street, self.uid, self.how = street, uid, how
        self.victim = os.path.join(street.work, "victim of %d" % uid)
        with open(self.victim, "w", encoding="utf-8") as file:
            file.write(SECRET)
        self.folder = os.path.join(street.folder, str(uid))
        os.mkdir(self.folder, 0o700)
        owner = os.stat(street.folder)
        os.chown(self.folder, owner.st_uid, owner.st_gid)
        self.planted = os.path.join(self.folder, name + suffix)
        how(self, self.planted)
        self.before = {path: digest(path) for path in (self.planted, self.victim)}
        self.process = start_job(street, uid)

    def check(self):
        if told(self.process) != DISPATCHES:
            fail("the job did not dispatch all")
        wait_for("the job beside a %s at %s" % (self.how.__name__, self.planted), lambda: any(
            is_stored(path) for path in self.street.databases(self.uid)))
        for path, seen in self.before.items():
            if digest(path) != seen and not self.is_aside(seen):
                fail("%s has changed: %s, was %s" % (path, digest(path), seen))
        if os.path.exists(self.victim + "-not-there"):
            fail("written behind a link")

    def is_aside(self, seen):
        """As it was, under another name: what SQLite would have taken for ours."""
        return any(digest(os.path.join(self.folder, name)) == seen
                   for name in os.listdir(self.folder))


def of_a_tenant(street):
    """What lies at the name of its database stays, and the job gets another one."""
    process = start_job(street, HOSTILE_UID)
    told(process)
    wait_for("a database", lambda: any(is_stored(p) for p in street.databases(HOSTILE_UID)))
    name = os.path.basename(street.databases(HOSTILE_UID)[0])
    kinds = [("", how) for how in (link, dangling, hard_link, fifo, folder, foreign,
                                   other_database)]
    kinds += [(suffix, how) for suffix in ("-wal", "-journal", "-shm")
              for how in (link, fifo, folder, foreign)]
    cases = [Case(street, HOSTILE_UID + number, name, suffix, how)
             for number, (suffix, how) in enumerate(kinds, 1)]
    for case in cases:
        case.check()
    return len(cases)


def test(street, _arguments):
    of_the_socket(street)
    of_servers(street)
    of_the_store(street)
    street.start()
    street.honest()
    with street.attack("what lies in the place of a database"):
        count = of_a_tenant(street)
    words = street.check_honest()
    print("%d things in the place of a tenant's database: left as they were, the job stored beside "
          "them; %s" % (count, words))
    street.stop()


if __name__ == "__main__":
    run(test)
