# SPDX-License-Identifier: MIT
"""A tenant is a process: what holds up one user's worker holds up no other user.

usage: tenants.py linger|flush|log|recorder|kills|door|held|many|crowd|index --build DIR
  linger  connections that hold a socket whose close waits for ten minutes, hung up unread
  flush   the same with a file of a mount that never answers FLUSH
  log     the attacker reads the log of its own database with O_DIRECT into a page that never comes,
          so that its writer waits
  recorder  the same with the memory of its own rank's recorder, which then dies
  kills   supervisor, workers and all of them are killed again and again, under tenants that store
  door    a rank is killed while its first connection waits for a worker that is killed, too: the next worker
          stores what the rank had recorded
  held    the acceptor is killed while connections wait in it, because no more fit into the door of a worker that
          stands still: those clients connect again, and what lies in the door is served
  many    tenants with ranks of their own, all at once; what their workers take is printed, and after
          these have died all that was closed is told of
  crowd   more users than there may be workers: one that has nothing open makes way, and only such a one
  index   the process that writes index.db is killed again and again; a tenant holds its own index, and
          its worker stands still: what the others have is listed all the same, and its own afterwards

Beside each attack ranks of another user dispatch, whose every record must be stored, none dropped;
that user's rtl is answered, a third user's job starts and ends; told to end, the service does, whatever the
attacker holds; a new one serves all but the attacker."""
import contextlib
import glob
import mmap
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import wire
from neighbours import acceptor_of, is_sanitized, read_status, worker_of, workers_of
from node import DEADLINE_S, fail, is_long, reap, told, wait_for
from service import Supervised, User, run
from stuck_files import FLUSH, READ, StuckFolder, lingering_socket

ATTACKER, HONEST, OTHER = (User(name, 62000 + i) for i, name in enumerate(
    ("attacker", "honest", "other")))
WORKERS_MAX = 256  # collectord/supervisor/limits.h
CHANNEL_DOOR_CONNECTIONS = 60  # at most: collectord/channel/channel.h
WORKER_DATA_MIB, QUOTA_MEMORY_MIB = 512, 172  # collectord/service/data_limit.h, proto/base/limits.h
IDLE_MIB_MAX = 16


def bring_up_loopback():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False, stderr=subprocess.DEVNULL)


def as_attacker(what):
    """Runs in a process of that user's, which stays: it holds the other ends."""
    ready, ok = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ok)
        with os.fdopen(ready, "rb") as pipe:
            if pipe.read(1) != b"x":
                fail("the attack does not begin")
        return pid
    try:
        os.setgroups([])
        os.setgid(ATTACKER.uid)
        os.setuid(ATTACKER.uid)
        held = what()
        os.write(ok, b"x")
        os.close(ok)
        while held is not ok:
            signal.pause()  # until it is killed; what it holds stays open
    finally:
        os._exit(1)


def hang_up_with(service, fd, count):
    """@count connections that say half a frame, or an urgent byte, pass @fd, and are gone."""
    for i in range(count):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            with contextlib.suppress(OSError):
                peer.connect(service.socket)
                text = wire.frame(hello={"version_min": 1})[: 3 + i % 4]
                socket.send_fds(peer, [text[:1] if i % 2 else text], [fd], socket.MSG_OOB if i % 2 else 0)


def linger(service):
    def attack():
        held = [lingering_socket() for _ in range(4)]
        for sender, _ in held:
            hang_up_with(service, sender.fileno(), 1000)
        # Now the collector's are the last ones. Where it has closed them already it is this close that waits, until a
        # signal.
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 1, 1)
        for sender, _ in held:
            os.close(sender.detach())
        signal.setitimer(signal.ITIMER_REAL, 0)
        return held
    return as_attacker(attack), None


def flush(service):
    folder = StuckFolder(os.path.join(service.work, "stuck"), FLUSH)

    def attack():
        fd = os.open(folder.file(), os.O_RDWR)
        hang_up_with(service, fd, 2000)
    return as_attacker(attack), folder


def log(service):
    """The lock of the log's inode is held as long as the read lasts."""
    folder = StuckFolder(os.path.join(service.work, "stuck"), READ)
    shim = service.spawn(ATTACKER, "attack", rate=2000)
    wait_for("the attacker's log", lambda: any(map(os.path.getsize, glob.glob(
        os.path.join(service.store, str(ATTACKER.uid), "*.db-wal")))))
    path, = glob.glob(os.path.join(service.store, str(ATTACKER.uid), "*.db-wal"))

    def attack():
        if os.fork():
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        stuck = os.open(folder.file(), os.O_RDWR)
        with mmap.mmap(stuck, 4096) as page:
            os.preadv(fd, [page], 0)
        os._exit(1)
    pid = as_attacker(attack)
    if not folder.asked.wait(DEADLINE_S):
        fail("the page is not asked for")
    service.shims.append(shim)
    return pid, folder


def recorder(service):
    """The lock of the recorder's inode is held as long as the write lasts; then it is to be drained."""
    folder = StuckFolder(os.path.join(service.work, "stuck"), READ)
    shim = service.spawn(ATTACKER, "attack", rate=2000)
    wait_for("the attacker's rows", lambda: any(
        s["stored"] for s in service.sessions(ATTACKER).get(ATTACKER.uid, [])))
    path, = [path for path in glob.glob("/proc/%d/fd/*" % shim.pid)
             if os.readlink(path).startswith("/memfd:")]

    def attack():
        if os.fork():
            return
        fd = os.open(path, os.O_RDWR)
        stuck = os.open(folder.file(), os.O_RDWR)
        with mmap.mmap(stuck, 4096) as page:
            os.pwritev(fd, [page], 0)
        os._exit(1)
    pid = as_attacker(attack)
    if not folder.asked.wait(DEADLINE_S):
        fail("the page is not asked for")
    reap(shim)
    return pid, folder


def check_stored(service, shim, user, job):
    kernels = told(shim)
    wait_for("the end of " + job, lambda: any(
        s["job"] == job and s["state"] == "closed" for s in service.sessions(user).get(user.uid, [])))
    session, = [s for s in service.sessions(user)[user.uid] if s["job"] == job]
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % session["database"], uri=True)) as db:
        stored, once, = db.execute("SELECT count(*), count(DISTINCT process_id || ':' || queueId || ':' "
                                   "|| sequenceId) FROM rocpd_op").fetchone()
        dropped, = db.execute("SELECT coalesce(sum(dropped), 0) FROM rtl_account").fetchone()
    if (stored, once, dropped) != (kernels, kernels, 0):
        fail("%s: %d dispatched, %d stored, %d of them once, %d dropped" % (
            job, kernels, stored, once, dropped))
    return kernels


def run_job(service, user, job):
    """rtl run by a user, in the service: it starts and ends, with all that it dispatched."""
    said = service.as_user(user, "env", "RTL_JOB_ID=" + job, service.program("rtl"), "run", "--",
                           "true")
    if said.returncode != 0:
        fail("%s: rtl run ended with %d: %s" % (user.name, said.returncode, said.stderr))


def beside(service, attack):
    process = service.start()
    ranks = [service.spawn(HONEST, "honest %d" % i, "--polite", rate=2000) for i in range(4)]
    wait_for("honest ranks", lambda: sum(
        s["stored"] > 0 for s in service.sessions(HONEST).get(HONEST.uid, [])) == len(ranks))
    attacker, folder = attack(service)
    try:
        took = others_go_on(service, process, ranks)
    finally:
        if folder:
            folder.release()  # or nothing that holds its files could end
        os.kill(attacker, signal.SIGKILL)
        os.waitpid(attacker, 0)
    print("4 honest ranks beside the attack: all stored, none dropped; told to end, the service took "
          "%.1f s, and a new one served them on" % took)


def others_go_on(service, process, ranks):
    """Also past the end of the service, which waits for nothing that the attacker holds: how long it took."""
    for i in range(5):
        run_job(service, OTHER, "other %d" % i)
        before = sum(s["stored"] for s in service.sessions(HONEST)[HONEST.uid])
        wait_for("honest ranks to go on", lambda least=before: sum(
            s["stored"] for s in service.sessions(HONEST)[HONEST.uid]) > least)
        if service.rtl(None, "ls", "--socket", service.socket).returncode != 0:
            fail("root is not answered")
    ranks[0].terminate()
    check_stored(service, ranks[0], HONEST, "honest 0")

    since = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(DEADLINE_S)
    took = time.monotonic() - since
    service.start()
    for i, shim in list(enumerate(ranks))[1:]:
        shim.terminate()
        check_stored(service, shim, HONEST, "honest %d" % i)
    run_job(service, OTHER, "after")
    return took


def kills(service):
    """Ranks of several tenants; nothing is lost, nothing twice."""
    users = [User("tenant %d" % i, 62100 + i) for i in range(8 if is_long() else 4)]
    each = 100 if is_long() else 3
    supervised = Supervised(service)
    supervised.start()
    ranks = {user: service.spawn(user, "kills", "--polite", rate=2000) for user in users}
    chance = random.Random(25)
    killed = {"supervisor": 2 * each, "worker": 5 * each, "all": each}
    order = [what for what, times in killed.items() for _ in range(times)]
    chance.shuffle(order)
    for what in order:
        stored = sum(s["stored"] for all in service.sessions().values() for s in all)
        wait_for("more to be stored", lambda least=stored: sum(
            s["stored"] for all in service.sessions().values() for s in all) != least)
        if what == "worker":
            wait_for("a worker", lambda: workers_of(supervised.process.pid))
        workers = workers_of(supervised.process.pid)
        if what == "worker":
            os.kill(chance.choice(workers), signal.SIGKILL)
        if what == "all":
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
        if what != "worker":
            reap(supervised.process)
            supervised.start()
    kernels = 0
    for shim in ranks.values():
        shim.terminate()
    for user, shim in ranks.items():
        kernels += check_stored(service, shim, user, "kills")
    supervised.stop()
    rows = check_index(service, users)
    if rows != len(users):
        fail("index.db has %d rows" % rows)
    print("%d tenants, killed: %s: %d dispatched, all stored, once; index.db is right" % (
        len(users), ", ".join("%s %d times" % pair for pair in killed.items()), kernels))


def door(service):
    process = service.start()
    service.sessions(HONEST)
    wait_for("a worker", lambda: worker_of(process.pid, service.store, HONEST))
    worker = worker_of(process.pid, service.store, HONEST)
    os.kill(worker, signal.SIGSTOP)
    progress = os.path.join(service.work, "progress")
    with open(progress, "wb") as file:
        os.chown(file.name, HONEST.uid, HONEST.uid)
    shim = service.spawn(HONEST, "door", "--marks", "1000000", "--progress", progress, rate=2000)

    def marks_made():
        with open(progress, "rb") as file:
            return int.from_bytes(file.read()[8:16], "little")
    wait_for("marks", lambda: marks_made() >= 1000)
    # What connected before this question was asked has been accepted when it is answered.
    if OTHER.uid in service.sessions(OTHER):
        fail("there is a session already")
    reap(shim)
    os.kill(worker, signal.SIGKILL)
    wait_for("the session of the dead rank", lambda: any(
        s["state"] == "closed" for s in service.sessions(HONEST).get(HONEST.uid, [])))
    session, = service.sessions(HONEST)[HONEST.uid]
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % session["database"], uri=True)) as db:
        marks, = db.execute("SELECT count(*) FROM rtl_marker").fetchone()
    if marks < marks_made():
        fail("%d marks were made, %d are stored" % (marks_made(), marks))
    print("%d marks of a rank whose connection no worker had read: all stored, beside %d kernels" % (
        marks, session["stored"]))


def count_fds(pid):
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except FileNotFoundError:
        return 0


def held(service):
    process = service.start()
    service.sessions(HONEST)
    wait_for("a worker", lambda: worker_of(process.pid, service.store, HONEST))
    worker = worker_of(process.pid, service.store, HONEST)
    wait_for("an acceptor", lambda: acceptor_of(process.pid))
    acceptor = acceptor_of(process.pid)
    before = count_fds(acceptor)
    os.kill(worker, signal.SIGSTOP)
    wait_for("the worker to stand still", lambda: read_status(worker)["State"].split()[0] == "T")
    asked = [question_of(service, HONEST) for _ in range(CHANNEL_DOOR_CONNECTIONS + 8)]
    wait_for("some to wait in the acceptor", lambda: count_fds(acceptor) >= before + 8)
    first, last = asked[:8], asked[-8:]
    ranks = [service.spawn(HONEST, "held %d" % i, "--polite", rate=2000) for i in range(3)]
    job = subprocess.Popen(
        HONEST.command([service.program("rtl"), "run", "--", "true"]), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd="/",
        env={**service.env, "RTL_JOB_ID": "held by rtl run"})
    service.shims.append(job)
    # The second one has those that came back.
    for least in (before + 8 + 3, before + 2):
        wait_for("the rest to wait in the acceptor", lambda pid=acceptor, n=least: count_fds(pid) >= n)
        os.kill(acceptor, signal.SIGKILL)
        wait_for("another acceptor", lambda pid=acceptor: acceptor_of(process.pid) not in (None, pid))
        acceptor = acceptor_of(process.pid)
    if any(map(is_answered, last)):
        fail("a question that waited in the acceptor is answered")
    with contextlib.suppress(ProcessLookupError):  # where all this took long it was given up
        os.kill(worker, signal.SIGCONT)
    if not all(map(is_answered, first)):
        fail("a question that lay in the door is not answered")
    for connection in asked:
        connection.close()
    if job.wait(DEADLINE_S) != 0:
        fail("rtl run ended with %d: %s" % (job.returncode, job.stderr.read()))
    for i, rank in enumerate(ranks):
        wait_for("rows", lambda name="held %d" % i: any(
            s["stored"] for s in service.sessions(HONEST).get(HONEST.uid, []) if s["job"] == name))
        rank.terminate()
        check_stored(service, rank, HONEST, "held %d" % i)
    print("two acceptors were killed while connections waited in them behind a full door: their clients were hung "
          "up on, 3 ranks and rtl run connected again, and all is stored")


def many(service):
    users = [User("tenant %d" % i, 62200 + i) for i in range(64 if is_long() else 12)]
    each = 4 if is_long() else 2
    process = service.start()
    service.rtl(None, "ls", "--socket", service.socket)
    idle, = workers_of(process.pid)
    sizes = [int(read_status(pid)["VmRSS"].split()[0]) / 1024 for pid in (process.pid, idle)]
    if not is_sanitized(service.program("collectord")):  # else most of it is the sanitizer's
        if max(sizes) > IDLE_MIB_MAX:
            fail("the supervisor has %.1f MiB, an idle worker %.1f" % tuple(sizes))
        with open("/proc/%d/limits" % idle, encoding="ascii") as limits:
            most, = [line.split()[3] for line in limits if line.startswith("Max data size")]
        if most != str((WORKER_DATA_MIB + QUOTA_MEMORY_MIB) << 20):
            fail("a worker may have %s bytes" % most)
    ranks = {user: [service.spawn(user, "many %d" % i, "--polite", rate=100) for i in range(each)]
             for user in users}
    wait_for("rows of all", lambda: sum(
        s["stored"] > 0 for all in service.sessions().values() for s in all) == each * len(users))
    busy = [int(read_status(pid)["VmRSS"].split()[0]) / 1024 for pid in workers_of(process.pid)]
    for shims in ranks.values():
        for shim in shims:
            shim.terminate()
    kernels = sum(check_stored(service, shim, user, "many %d" % i)
                  for user, shims in ranks.items() for i, shim in enumerate(shims))
    # What a worker has closed the next one tells of.
    for pid in workers_of(process.pid):
        os.kill(pid, signal.SIGKILL)
    for user in users:
        wait_for("what was closed", lambda u=user: sum(
            s["state"] == "closed" for s in service.sessions(u).get(u.uid, [])) == each)
    print("%d tenants with %d ranks each: %d dispatched, all stored; supervisor %.1f MiB, a worker with "
          "nothing open %.1f, %d workers that store %.1f at most" % (
              len(users), each, kernels, *sizes, len(busy), max(busy)))


def question_of(service, user):
    """A connection of that user's, over which a tool has asked."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(DEADLINE_S)
    os.seteuid(user.uid)  # the kernel records the uid that connects
    try:
        connection.connect(service.socket)
    finally:
        os.seteuid(0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(wire.frame(sessions_request={"version_min": 1, "version_max": 1}))
    return connection


def is_answered(connection):
    """False: it was closed instead."""
    try:
        return bool(connection.recv(1))
    except ConnectionResetError:
        return False


def crowd(service):
    """While all have something open the next user is refused; one that has nothing open makes way."""
    process = service.start()
    shim = service.spawn(HONEST, "honest", "--polite", rate=100)
    wait_for("the rank", lambda: service.sessions(HONEST).get(HONEST.uid))
    users = [User("asker %d" % i, 62400 + i) for i in range(WORKERS_MAX + 15)]
    held = []
    for user in users[:WORKERS_MAX - 1]:
        held.append(question_of(service, user))
        if not is_answered(held[-1]):
            fail("%s is not served beside %d workers" % (user.name, len(held)))
    if is_answered(question_of(service, users[-1])):
        fail("there are more than %d workers" % WORKERS_MAX)
    if len(workers_of(process.pid)) != WORKERS_MAX:
        fail("there are %d workers" % len(workers_of(process.pid)))
    for connection in held:
        connection.close()
    for user in users[WORKERS_MAX - 1:]:
        wait_for(user.name + " to be served", lambda u=user: is_answered(question_of(service, u)))
    if len(workers_of(process.pid)) > WORKERS_MAX:
        fail("there are %d workers" % len(workers_of(process.pid)))
    shim.terminate()
    kernels = check_stored(service, shim, HONEST, "honest")
    print("%d users: as many at once as there may be workers, the next ones in the place of those that had "
          "nothing open any more; another's %d dispatches: all stored" % (len(users) + 1, kernels))


INDEX_ROWS = (
    "SELECT database, name, job, uid, end_realtime_ns, complete, completeness, stored, bytes, kept FROM session",
    "SELECT database, name, uid, why, removed_realtime_ns FROM removed")


def read_index(path, which=""):
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=DEADLINE_S)) as db:
        return [sorted(map(repr, db.execute(sql + which))) for sql in INDEX_ROWS]


def is_listed(service, user, job):
    try:
        rows, _ = read_index(service.store + "/index.db", " WHERE uid = %d" % user.uid)
    except sqlite3.OperationalError:  # it is just being made
        return False
    return any(repr(job) in row and "complete" in row for row in rows)


def index_writer_of(pid):
    for path in glob.glob("/proc/[0-9]*"):
        status = read_status(int(os.path.basename(path)))
        if int(status.get("PPid", 0)) == pid and status["Name"].strip() == "index-writer":
            return int(status["Pid"])
    return None


def check_index(service, users):
    """The service has ended: what the tenants' indexes say the node's says, and nothing else."""
    whole = [[], []]
    for user in users:
        for rows, more in zip(whole, read_index("%s/.index-%d" % (service.store, user.uid))):
            rows.extend(more)
    whole = [sorted(rows) for rows in whole]
    listed = read_index(service.store + "/index.db")
    if listed != whole:
        fail("index.db says %s; its tenants' say %s" % (listed, whole))
    return sum(map(len, listed))


def index(service):
    users = [ATTACKER, HONEST, OTHER]
    process = service.start(service.collector("--keep-sessions", "3"))
    for i in range(100 if is_long() else 8):
        wait_for("a process that writes index.db", lambda: index_writer_of(process.pid))
        writer = index_writer_of(process.pid)
        ranks = [service.spawn(user, "index %d" % i, dispatches=50, rate=1000) for user in users]
        if i % 2:
            os.kill(writer, signal.SIGKILL)
        for rank in ranks:
            rank.communicate(timeout=DEADLINE_S)
        if not i % 2:
            os.kill(writer, signal.SIGKILL)
        for user in users:
            wait_for("a session in index.db", lambda u=user, n=i: is_listed(service, u, "index %d" % n))

    # Root is told of all that was closed or removed, also of tenants whose workers have gone, and once.
    def told():
        return sorted((s["uid"], s["state"], s["job"]) for all in service.sessions().values() for s in all)
    for user in users:
        wait_for("sessions to be removed", lambda u=user: sum(
            uid == u.uid and state == "closed" for uid, state, _ in told()) == 3)
    before = told()
    for pid in workers_of(process.pid):
        os.kill(pid, signal.SIGKILL)
    wait_for("all to be told of", lambda: told() == before)
    if len(before) != len(users) * (100 if is_long() else 8) or len(set(before)) != len(before):
        fail("root is told of %s" % before)

    # The one stands still, with its index locked, as if it hung while it commits.
    service.sessions(ATTACKER)
    worker = worker_of(process.pid, service.store, ATTACKER)
    with contextlib.closing(sqlite3.connect("%s/.index-%d" % (service.store, ATTACKER.uid),
                                            timeout=DEADLINE_S, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        held.execute("UPDATE session SET job = 'held'")
        os.kill(worker, signal.SIGSTOP)
        service.spawn(HONEST, "beside", dispatches=50, rate=1000).communicate(timeout=DEADLINE_S)
        wait_for("another's session in index.db", lambda: is_listed(service, HONEST, "beside"))
        os.kill(index_writer_of(process.pid), signal.SIGKILL)
        service.spawn(OTHER, "beside", dispatches=50, rate=1000).communicate(timeout=DEADLINE_S)
        wait_for("another's session in index.db", lambda: is_listed(service, OTHER, "beside"))
        if is_listed(service, ATTACKER, "held"):
            fail("what is not committed is listed")
        held.execute("COMMIT")
    os.kill(worker, signal.SIGCONT)
    wait_for("what was held in index.db", lambda: is_listed(service, ATTACKER, "held"))
    process.send_signal(signal.SIGTERM)
    process.wait(DEADLINE_S)
    count = check_index(service, users)

    # As an older rtl leaves it: one index of all. A user is still told of its sessions that went.
    for user in users:
        os.unlink("%s/.index-%d" % (service.store, user.uid))
    process = service.start()
    for user in users:
        went = sum(state == "removed" for uid, state, _ in before if uid == user.uid)
        wait_for("the history of a tenant", lambda u=user, least=went: sum(
            s["state"] == "removed" for s in service.sessions(u).get(u.uid, [])) >= least)
    process.send_signal(signal.SIGTERM)
    process.wait(DEADLINE_S)
    if check_index(service, users) != count:
        fail("an index of an older rtl was not taken over")

    os.unlink(service.store + "/index.db")
    process = service.start()
    wait_for("index.db", lambda: is_listed(service, OTHER, "beside"))
    os.unlink(service.store + "/index.db")
    service.spawn(OTHER, "last", dispatches=50, rate=1000).communicate(timeout=DEADLINE_S)
    wait_for("another index.db", lambda: is_listed(service, OTHER, "last"))
    process.send_signal(signal.SIGTERM)
    process.wait(DEADLINE_S)
    if check_index(service, users) != count + 1:
        fail("made anew, index.db says something else")
    print("the process that writes index.db was killed %d times: %d rows, those of %d tenants" % (
        101 if is_long() else 9, count, len(users)))


TESTS = {"linger": linger, "flush": flush, "log": log, "recorder": recorder}
ALONE = {"kills": kills, "door": door, "held": held, "many": many, "crowd": crowd, "index": index}


def check(service, options):
    sys.stdout.reconfigure(line_buffering=True)
    bring_up_loopback()
    if options.what in ALONE:
        ALONE[options.what](service)
    else:
        beside(service, TESTS[options.what])


if __name__ == "__main__":
    run(check, *ALONE, *TESTS)
