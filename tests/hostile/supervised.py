# SPDX-License-Identifier: MIT
"""The service under its manager, as systemd speaks to it: sockets that it owns (LISTEN_FDS), what
it is told (READY, STATUS, STOPPING, WATCHDOG), recorders that it keeps (FDSTORE).

  words     what is said from the start to the end; recorders are kept, and let go when stored
  stop      while one tenant's worker hangs, the service ends with the status 0, what the others have is
            complete, and the next service has the rest
  watchdog  it is fed while the service works, also on a disk that fails; a worker whose store hangs
            while its loop still answers is given up, and others are served; nothing is lost"""
import contextlib
import os
import signal
import sqlite3
import time

from neighbours import worker_of
from node import DEADLINE_S, fail, reap, told, wait_for
from service import Supervised, User, run

A = User("A", 61901)
B = User("B", 61902)
WATCHDOG_US = 600_000


class Watched(Supervised):
    """Under a watchdog, with one job of A."""

    def start(self, program="collectord", env=None):
        super().start(program, {"WATCHDOG_USEC": str(WATCHDOG_US), **(env or {})})

    def wait_fed(self):
        """The watchdog has heard us, again and again, from now on."""
        fed = self.manager.times("WATCHDOG")
        wait_for("the watchdog to be fed", lambda: self.manager.times("WATCHDOG") >= fed + 5)

    def session(self):
        """What rtl ls says of A's one session."""
        return self.service.sessions().get(A.uid, [{}])[0]

    def wait_stored(self, shim, kernels):
        """All that @shim says it dispatched is in its closed file, once."""
        wait_for("the session to be closed", lambda: self.session().get("state") == "closed")
        with sqlite3.connect("file:%s?mode=ro" % self.session()["database"], uri=True) as db:
            stored, times = db.execute("SELECT count(*), count(DISTINCT queueId || ':' || "
                                       "sequenceId) FROM rocpd_op").fetchone()
        if (stored, times) != (kernels, kernels):
            fail("%d dispatched by pid %d, %d stored, %d of them once" % (
                kernels, shim.pid, stored, times))


def words(supervised):
    service, manager = supervised.service, supervised.manager
    supervised.start()
    status = manager.value("STATUS")
    if service.socket not in status or service.store not in status:
        fail("STATUS=%s" % status)
    for path in (service.socket, supervised.second):
        wait_for("an answer on " + path,
                 lambda at=path: service.rtl(A, "ctl", "status", socket=at).returncode == 0)
    shim = service.spawn(A, "words", rate=2000)
    if not manager.wait_kept(1, DEADLINE_S):
        fail("the recorder was not kept")
    if not list(manager.kept)[0].startswith("recorder-%d-%d-" % (A.uid, shim.pid)):
        fail("kept as " + list(manager.kept)[0])
    wait_for("kernels", lambda: supervised.session().get("stored"))
    reap(supervised.process)
    os.kill(shim.pid, signal.SIGTERM)
    supervised.start()  # with both sockets and the recorder
    supervised.wait_stored(shim, told(shim))
    if not manager.wait_kept(0, DEADLINE_S):
        fail("the recorder was not let go of")
    supervised.stop()
    wait_for("STOPPING to be read", lambda: manager.times("STOPPING"))
    if manager.times("READY") != 2 or manager.times("STOPPING") != 1:
        fail("READY %d times, STOPPING %d times" % (
            manager.times("READY"), manager.times("STOPPING")))
    print("READY, STATUS, two sockets, FDSTORE and FDSTOREREMOVE, STOPPING: as systemd has them")


def watchdog(supervised):
    service, manager = supervised.service, supervised.manager
    supervised.start()
    supervised.wait_fed()
    supervised.stop()

    # A disk that fails is no reason to be killed.
    supervised.start("collectord-faults", {"RTL_VFS": "write,fail_at=200,for_ever"})
    shim = service.spawn(A, "disk", rate=2000)
    wait_for("the disk to fail", lambda: "degraded" in service.rtl(
        A, "ctl", "status").stdout)
    supervised.wait_fed()
    reap(supervised.process)
    print("fed while the disk fails")

    # A tenant's store that hangs is given up by the supervisor, and keeps no other user from being served.
    supervised.start("collectord-faults", {"RTL_FAULT": "before_commit:5:hang"})
    wait_for("the worker to be given up",
             lambda: service.has_said("uid %d: its worker does not answer" % A.uid))
    supervised.wait_fed()
    if service.rtl(B, "ctl", "status").returncode != 0:
        fail("another user is not served")
    print("a worker whose store hangs is given up; the others are served, and the watchdog is fed")
    # A supervisor that hangs the manager would kill; all else of the service ends with it.
    os.kill(supervised.process.pid, signal.SIGABRT)
    supervised.process.wait(DEADLINE_S)
    supervised.start()
    supervised.wait_fed()
    shim.terminate()
    supervised.wait_stored(shim, told(shim))
    supervised.stop()
    print("killed and started again: nothing lost")


def index_rows(path):
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % path, uri=True)) as db:
        return db.execute("SELECT database, name, end_realtime_ns, complete, stored FROM session "
                          "WHERE uid = %d" % B.uid).fetchall()


def stop(supervised):
    service = supervised.service
    supervised.start()
    ranks = [service.spawn(user, "stop", "--polite", rate=2000) for user in (A, B)]
    for user in (A, B):
        wait_for("rows of " + user.name, lambda user=user: any(
            s["stored"] for s in service.sessions().get(user.uid, [])))
    hanging = worker_of(supervised.process.pid, service.store, A)
    os.kill(hanging, signal.SIGSTOP)
    ranks[0].kill()
    ranks[1].terminate()
    kernels = told(ranks[1])
    since = time.monotonic()
    supervised.stop()  # fails unless the status is 0
    took = time.monotonic() - since
    if not service.has_said("uid %d: its worker does not end and is given up" % A.uid):
        fail("no line names the worker that was given up")
    listed, own = [index_rows(os.path.join(service.store, name)) for name in (
        "index.db", ".index-%d" % B.uid)]
    if not own or listed != own:
        fail("index.db says %s of B, whose own index says %s" % (listed, own))
    supervised.start()
    wait_for("both sessions to be closed", lambda: [
        s["state"] for user in (A, B) for s in service.sessions().get(user.uid, [])] == ["closed"] * 2)
    session, = service.sessions()[B.uid]
    if session["stored"] != kernels:
        fail("%d kernels of B, %d stored" % (kernels, session["stored"]))
    if not service.sessions()[A.uid][0]["stored"]:
        fail("nothing of A is stored")
    supervised.stop()
    print("one worker hangs: the service ended after %.1f s" % took)


TESTS = {"words": words, "stop": stop, "watchdog": watchdog}

if __name__ == "__main__":
    run(lambda service, options: TESTS[options.what](Watched(service)), *TESTS)
