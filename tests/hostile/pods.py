#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two pods whose root is the host's root, the root of the host, and a user who builds a cgroup that is
called like a pod's: neither pod is shown what the other has, or root; root is shown all, and of which
pod it is; the user stays that user. What the store has of a pod goes with its last session.

usage: pods.py --build DIR
"""
import contextlib
import glob
import itertools
import os
import re
import signal
import socket
import sqlite3

import wire
from neighbours import acceptor_of, workers_of
from node import DEADLINE_S, fail, reap, told, wait_for
from service import Supervised, User, run

IDS = ("6b1f0c2e-3f43-4c7e-9a51-0d7c5c1f0a01", "6b1f0c2e-3f43-4c7e-9a51-0d7c5c1f0a02")
PLAIN = User("a user", 62501)


class Inside(User):
    """A user in a cgroup."""

    def __init__(self, name, uid, hierarchy, path):
        super().__init__(name, uid)
        self.cgroup = hierarchy + path
        self.is_root = uid == 0

    def __enter__(self):
        os.makedirs(self.cgroup, exist_ok=True)
        return self

    def __exit__(self, *_):
        """It is removed with those above it that are empty."""
        path = self.cgroup
        with contextlib.suppress(OSError):
            while True:
                os.rmdir(path)
                path = os.path.dirname(path)

    def command(self, command):
        inner = command if self.is_root else super().command(command)
        return ["sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"', self.cgroup, *inner]


def hierarchy():
    """Where cgroups can be made: of version 2, or one of version 1."""
    with open("/proc/mounts", encoding="ascii") as mounts:
        found = [line.split()[:3] for line in mounts]
    for kind in ("cgroup2", "cgroup"):
        for _, path, which in found:
            if which == kind and "cpuset" not in path and os.access(path, os.W_OK):
                return path
    fail("no hierarchy of cgroups is mounted")
    return None


def jobs(service, user=None):
    """What rtl ls shows: {(uid, job)}."""
    return {(session["uid"], session["job"]) for all in service.sessions(user).values() for session in all}


def check_sight(service, pods, fake, names):
    for pod in pods:
        shown = jobs(service, pod)
        if shown != {(0, pod.name)}:
            fail("%s is shown %s" % (pod.name, shown))
        for other in names - {pod.name}:
            said = service.rtl(pod, "stat", "-n", "1", other)
            none = service.rtl(pod, "stat", "-n", "1", "no such job")
            if said.returncode == 0 or said.stdout or \
                    said.stderr.replace(other, "X") != none.stderr.replace("no such job", "X"):
                fail("%s asks for %s: %d %s %s" % (
                    pod.name, other, said.returncode, said.stdout, said.stderr))
    for user in (fake, PLAIN):
        if jobs(service, user) != {(PLAIN.uid, fake.name)}:
            fail("%s is shown %s" % (user.name, jobs(service, user)))
    every = {(0, name) for name in names - {fake.name}} | {(PLAIN.uid, fake.name)}
    if jobs(service) != every:
        fail("root is shown %s" % jobs(service))
    check_names(service, pods)


def check_names(service, pods):
    """rtl ls of root says of which pod a session is."""
    pods_of = {pod.name: name for pod, name in zip(pods, IDS)}
    for all_of_uid in service.sessions().values():
        for session in all_of_uid:
            if session["container"] != pods_of.get(session["job"]):
                fail("%s is of container %s" % (session["job"], session["container"]))
    said = service.rtl(None, "ls", "--socket", service.socket).stdout
    if said.count(" in container " + IDS[0][:12]) != len(pods):  # of both, as their names begin alike
        fail("rtl ls does not name the pods: " + said)


def check_gone(service, pid, pod, frame):
    """A process of the pod connects and ends before its container can be read: its connection is no root's."""
    acceptor = acceptor_of(pid)
    os.kill(acceptor, signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        child = os.fork()
        if not child:
            with open(pod.cgroup + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
            connection.connect(service.socket)
            os._exit(0)
        os.waitpid(child, 0)
        os.kill(acceptor, signal.SIGCONT)
        connection.settimeout(DEADLINE_S)
        connection.sendall(frame)
        answer = connection.recv(1 << 16)
    if b"container is not known" not in answer:
        fail("a connection whose process has ended is answered: %r" % answer)


def session_of(service, pod):
    found, = [s for all_of_uid in service.sessions().values() for s in all_of_uid if s["job"] == pod.name]
    return found


def check_owning(service, pod, others):
    """The pod keeps its closed session, and is the only one that can; a kept one is not removed."""
    session = session_of(service, pod)
    for verb, name in itertools.product(("keep", "rm"), (session["session"], session["database"])):
        for other in others:
            said = service.rtl(other, verb, name)
            if said.returncode != 1 or said.stdout or not said.stderr.startswith("rtl: %s: %s: " % (verb, name)):
                fail("%s of %s by %s: %d %s" % (
                    verb, name, other.name if other else "root of the host", said.returncode, said.stderr))
    if session_of(service, pod) != session or not os.path.exists(session["database"]):
        fail("others changed %s to %s" % (session, session_of(service, pod)))

    def told(verb, *options):
        said = service.rtl(pod, verb, *options, session["session"])
        return said.returncode, said.stderr
    if told("keep") != (0, "") or not session_of(service, pod)["kept"]:
        fail("the pod does not keep its session: %s" % session_of(service, pod))
    status, text = told("rm")
    if status != 1 or "it is kept; rtl keep --off ends that" not in text:
        fail("rm of a session that the pod keeps: %d %s" % (status, text))
    if told("keep", "--off") != (0, "") or session_of(service, pod)["kept"]:
        fail("the pod still keeps %s" % session_of(service, pod))


def check_removing(service, supervised, pod, session, number):
    """The pod removes its only session, of an earlier life of the service, and nothing is left of the pod."""
    supervised.start()
    said = service.rtl(pod, "rm", session["session"])
    if said.returncode or said.stderr or os.path.exists(session["database"]):
        fail("rm by the pod: %d %s" % (said.returncode, said.stderr))
    supervised.stop()  # its worker ends with it, at once
    if left_of(service, number):
        fail("of the pod are left: %s" % left_of(service, number))


def processor_s(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def check_groups(service, pid):
    """Root in so many groups that a list of them takes the kernel 4 ms: it is answered, and costs the others
    no such time for each of its connections."""
    out, into = os.pipe()
    acceptor = acceptor_of(pid)
    before_s = processor_s(acceptor)
    child = os.fork()
    if not child:
        os.setgroups(range(100000, 165000))
        for _ in range(300):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(service.socket)
                connection.settimeout(DEADLINE_S)
                connection.sendall(wire.frame(sessions_request={"version_min": 1, "version_max": 1}))
                answer = connection.recv(4096)
        os.write(into, answer)
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer or b"container is not known" in answer:
        fail("root in many groups is answered: %r" % answer)
    if processor_s(acceptor) - before_s > 0.6:  # 1.3 s if it read the groups, else 0.02
        fail("300 connections of a process in many groups took the acceptor %.1f s" % (
            processor_s(acceptor) - before_s))


def check(service, _options):
    top = hierarchy()
    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(Inside("pod %d" % i, 0, top, path % IDS[i])) for i, path in enumerate((
            "/kubepods/burstable/pod%s/0123456789abcdef", "/kubepods/pod%s/0123456789abcdef"))]
        fake = stack.enter_context(Inside(
            "a false pod", PLAIN.uid, top,
            "/user.slice/user-%d.slice/kubepods/pod%s/0123456789abcdef" % (PLAIN.uid, IDS[0])))
        root = stack.enter_context(Inside("root", 0, top, "/system.slice/sshd.service"))
        pods_and_others(service, pods, fake, root)


def pods_and_others(service, pods, fake, root):
    supervised = Supervised(service)
    supervised.start()
    users = [*pods, fake, root]
    names = {user.name for user in users}
    ranks = {user: service.spawn(user, user.name, "--polite", rate=500) for user in users}
    wait_for("rows of all", lambda: sum(
        s["stored"] > 0 for all in service.sessions().values() for s in all) == len(users))
    check_sight(service, pods, fake, names)
    for first in ("sessions_request", "hello"):
        frame = wire.frame(**{first: {"version_min": 1, "version_max": 1}})
        check_gone(service, supervised.process.pid, pods[0], frame)
    check_groups(service, supervised.process.pid)

    # A rank of each pod is killed while there is no service; its recorder is kept for its own pod.
    wait_for("recorders to be kept", lambda: len(supervised.manager.kept) == len(users))
    supervised.process.kill()
    supervised.process.wait(DEADLINE_S)
    for user in pods:
        reap(ranks[user])
    supervised.start()
    for user in (fake, root):
        ranks[user].terminate()
    kernels = {user.name: told(ranks[user]) for user in (fake, root)}
    wait_for("all sessions to be closed", lambda: [
        s["state"] for all in service.sessions().values() for s in all] == ["closed"] * len(users))
    check_sight(service, pods, fake, names)
    for all_of_uid in service.sessions().values():
        for session in all_of_uid:
            check_rows(session, kernels.get(session["job"]))

    # Closed sessions are shown without the workers that closed them, too.
    for pid in workers_of(supervised.process.pid):
        os.kill(pid, signal.SIGKILL)
    wait_for("the workers to end", lambda: jobs(service) and len(jobs(service)) == len(users))
    check_sight(service, pods, fake, names)
    numbers = [number_of(service, pod) for pod in pods]
    for pod, other in zip(pods, reversed(pods)):
        in_pod = Inside("a user in " + pod.name, PLAIN.uid, "", pod.cgroup)
        check_owning(service, pod, (other, in_pod, fake, PLAIN, root, None))
    session = session_of(service, pods[1])
    supervised.stop()
    check_lines(service)
    check_leaving(service, supervised, pods, numbers)
    check_removing(service, supervised, pods[1], session, numbers[1])
    print("two pods of uid 0, root and a user with a cgroup like a pod's: each is shown its own, root all; "
          "each keeps and removes its own alone; a pod whose last session was removed has nothing in the store")


def check_lines(service):
    with open(service.log.name, encoding="utf-8", errors="replace") as log:
        lines = log.read()
    for name in IDS:
        for said in (": session ", ": its worker was killed by signal 9"):
            if not re.search(r"container %s \([34]\d{9}\)%s" % (name, said), lines):
                fail("no line says of container %s%s" % (name, said))


def number_of(service, pod):
    """What the folder of the pod is called."""
    database, = [s["database"] for all in service.sessions().values() for s in all if s["job"] == pod.name]
    return database.split("/")[-3]


def left_of(service, number):
    return sorted(os.path.basename(path) for name in (number, ".*-%s*" % number)
                  for path in glob.glob(os.path.join(service.store, name)))


def make_old(service, number):
    with contextlib.closing(sqlite3.connect("%s/.index-%s" % (service.store, number))) as index:
        index.execute("UPDATE session SET end_realtime_ns = 1000")
        index.commit()


def check_leaving(service, supervised, pods, numbers):
    """The service has ended. A pod's only session grows old; worker and service die on the way."""
    def removed():
        return sum(s["state"] == "removed" for all in service.sessions().values() for s in all)

    for rounds, point in enumerate((None, "container_uids_removed", "container_unnamed"), 1):
        make_old(service, numbers[0])
        supervised.options = ["--keep-days", "30"]
        supervised.start("collectord-faults", {"RTL_FAULT": point} if point else {})
        wait_for("the session to be removed", lambda n=rounds: removed() == n)
        supervised.process.send_signal(signal.SIGTERM)
        supervised.process.wait(DEADLINE_S)
        if point:  # the folder is still there; the next life of the service removes it
            if numbers[0] not in left_of(service, numbers[0]):
                fail("no process died at " + point)
            supervised.start()
            jobs(service)
            supervised.stop()
        if left_of(service, numbers[0]) or not left_of(service, numbers[1]):
            fail("of the pods are left: %s; %s" % tuple(left_of(service, n) for n in numbers))
        supervised.options = []
        # It comes again: as before, and it is told what it had.
        supervised.start()
        again = service.spawn(pods[0], pods[0].name, dispatches=100)
        kernels = told(again)
        wait_for("the end of its session", lambda: any(
            s["state"] == "closed" for s in service.sessions(pods[0]).get(0, [])))
        if {s["state"] for s in service.sessions(pods[0])[0]} != {"closed", "removed"}:
            fail("the pod is shown %s" % service.sessions(pods[0]))
        session, = [s for s in service.sessions(pods[0])[0] if s["state"] == "closed"]
        check_rows(session, kernels)
        supervised.stop()


def check_rows(session, kernels):
    """@kernels: None: nothing told how many there were."""
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % session["database"], uri=True)) as db:
        stored, = db.execute("SELECT count(*) FROM rocpd_op").fetchone()
        drained, = db.execute("SELECT min(drained) FROM rtl_process").fetchone()
    if not drained or not stored or kernels not in (None, stored):
        fail("%s: %s dispatched, %d stored" % (session["job"], kernels, stored))


if __name__ == "__main__":
    run(check)
