# SPDX-License-Identifier: MIT
"""The node's service as an administrator starts it, and users of the node. Needs root.

The user and the group rtl exist in here only: /etc/passwd and /etc/group are mounted over, in a
mount namespace that ends with the test. Users are numbers: they need no entry."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import jail
from manager import Manager
from node import DEADLINE_S, fail, prefix_for, reap, wait_for

RTL = 61900  # uid and gid of the service
USER_LINES = (("/etc/passwd", "rtl:x:%d:%d::/nonexistent:/bin/false"), ("/etc/group", "rtl:x:%d:"))


def enter():
    """From here on this is a process in namespaces of its own, where the user rtl exists."""
    if os.geteuid() != 0:
        fail("needs root: it starts the service as an administrator does")
    jail.enter()
    for path, line in USER_LINES:
        text = read(path)
        if "rtl:x:%d:" % RTL not in text:  # else a test that a test runs
            put_over(path, without_rtl(text) + [line % ((RTL,) * line.count("%d"))])


def leave_no_user():
    """From here on the user rtl does not exist: a collector that root starts stays root."""
    for path, _ in USER_LINES:
        # What enter() has put there: over a file that is gone nothing can be mounted.
        subprocess.run(["umount", path], stderr=subprocess.DEVNULL, check=False)
        if "rtl:" in read(path):
            put_over(path, without_rtl(read(path)))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_rtl(text):
    return [line for line in text.splitlines() if not line.startswith("rtl:")]


def put_over(path, lines):
    with tempfile.NamedTemporaryFile("w") as copy:
        copy.write("\n".join(lines) + "\n")
        copy.flush()
        os.chmod(copy.name, 0o644)
        subprocess.run(["mount", "--bind", copy.name, path], check=True)


class User:
    """A user on the node. @container: root in a user namespace of its own."""

    def __init__(self, name, uid, group=False, container=False):
        self.name, self.uid, self.container = name, uid, container
        self.groups = ["--groups", str(RTL)] if group else ["--clear-groups"]

    def command(self, command):
        inner = ["unshare", "--user", "--map-root-user"] if self.container else []
        return ["setpriv", "--reuid", str(self.uid), "--regid", str(self.uid), *self.groups,
                *inner, *command]


class Service:
    """A folder that all users may pass, with what they run, a socket and a store."""

    def __init__(self, build):
        self.work = tempfile.mkdtemp(prefix="rtl-hostile-")
        os.chmod(self.work, 0o755)
        for name in ("bin/rtl", "bin/collectord", "tests-bin/synthetic-shim",
                     "tests-bin/collectord-faults"):
            shutil.copy2(os.path.join(build, name), self.work)  # the build may lie where few may go
        self.run = os.path.join(self.work, "run")
        os.mkdir(self.run, 0o755)
        self.socket = os.path.join(self.run, "rtl.sock")
        self.store = os.path.join(self.work, "store")
        self.log = open(os.path.join(self.work, "collector.log"), "ab")
        self.process = None
        self.shims = []
        self.env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "RTL_SOCKET": self.socket,
                    "LC_ALL": "C"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def program(self, name):
        return os.path.join(self.work, name)

    def collector(self, *options, socket=None, store=None):
        return [self.program("collectord"), "--socket", socket or self.socket, "--db-dir",
                store or self.store, *options]

    def start(self, command=None, socket=None):
        process = subprocess.Popen(command or self.collector(), stdin=subprocess.DEVNULL,
                                   stdout=self.log, stderr=self.log, env=self.env,
                                   start_new_session=True)
        self.shims.append(process)
        path = socket or self.socket
        wait_for("the collector to answer", lambda: process.poll() is not None
                 or self.rtl(None, "ctl", "status", socket=path).returncode == 0)
        if process.poll() is not None:
            fail("the collector ended with %d" % process.returncode)
        return process

    def spawn(self, user, job, *options, dispatches=10_000_000, rate=200, socket=None):
        """A rank of @user, whose launcher calls its job @job."""
        shim = subprocess.Popen(
            user.command([self.program("synthetic-shim"), "--socket", socket or self.socket,
                          "--rank", "0", "--dispatches", str(dispatches), "--rate", str(rate),
                          *options]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.env, "RTL_JOB_ID": job}, cwd="/")
        self.shims.append(shim)
        return shim

    def as_user(self, user, *command, socket=None):
        return subprocess.run(
            user.command(command) if user else command, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", cwd="/", timeout=DEADLINE_S,
            check=False, env={**self.env, "RTL_SOCKET": socket or self.socket})

    def rtl(self, user, *arguments, socket=None):
        return self.as_user(user, self.program("rtl"), *arguments, socket=socket)

    def control(self, user, *arguments):
        """rtl ctl, once more as long as a rank stands still: it names the ranks that have not answered in time."""
        said = None

        def is_answered():
            nonlocal said
            said = self.rtl(user, "ctl", *arguments)
            return "did not answer in time" not in said.stdout
        wait_for("every rank to answer", is_answered)
        return said

    def sessions(self, user=None):
        """{uid: [what rtl ls says]} of what @user sees (root)."""
        said = self.rtl(user, "ls", "--json", "--socket", self.socket)
        if said.returncode != 0:
            return {}
        found = {}
        for session in json.loads(said.stdout)["sessions"]:
            found.setdefault(session["uid"], []).append(session)
        return found

    def has_said(self, text):
        """A collector, in its log."""
        with open(self.log.name, errors="replace", encoding="utf-8") as log:
            return text in log.read()

    def end(self, show):
        for process in reversed(self.shims):
            if process.poll() is None:
                reap(process)
        self.log.close()
        if show:
            with open(os.path.join(self.work, "collector.log"), errors="replace",
                      encoding="utf-8") as log:
                sys.stdout.write(log.read()[-4000:])
        shutil.rmtree(self.work, ignore_errors=True)


class Supervised:
    """The service's program as the user that systemd starts it as."""

    def __init__(self, service):
        self.service = service
        os.makedirs(service.store, 0o711, exist_ok=True)
        os.chown(service.store, RTL, RTL)
        self.second = os.path.join(service.work, "second.sock")
        self.manager = Manager(service.socket, self.second)
        self.process = None
        self.options = []

    def start(self, program="collectord", env=None):
        self.process = self.manager.start(
            self.command(self.service.program(program)), env or {}, self.service.log,
            DEADLINE_S)
        self.service.shims.append(self.process)

    def command(self, program):
        prefix = prefix_for(self.service.store)
        command = [*prefix, program, "--db-dir", self.service.store, *self.options]
        return command if prefix else User("rtl", RTL).command(command)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(DEADLINE_S) != 0:
            fail("told to end, the collector ended with %d" % self.process.returncode)


def run(check, *what):
    """@check(service, options) as a program: --build DIR, and one of @what if there are any."""
    parser = argparse.ArgumentParser()
    if what:
        parser.add_argument("what", choices=what)
    parser.add_argument("--build", required=True, type=os.path.abspath)
    options = parser.parse_args()
    enter()
    service = Service(options.build)
    try:
        check(service, options)
    finally:
        service.end(show=sys.exc_info()[0] is not None)
