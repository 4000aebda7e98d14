# SPDX-License-Identifier: MIT
"""The collector inside of the sandbox that its unit describes: not one system call is denied, and
nothing that it needs is hidden or read-only.

  life   what it does from start to end, on /run/rtl.sock and /var/lib/rtl of the test's own mount
         namespace, started without any option as its unit does
  suite  tests of tests/reliability with their collectors in there; --long: every test that starts
         one
"""
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

from node import DEADLINE_S, fail, is_long, reap, told, wait_for
from service import Supervised, User, leave_no_user, run

ROOT, A, B = User("root", 0), User("A", 61901), User("B", 61902)
DISK_BYTES = 192 << 20
HERE = os.path.dirname(os.path.abspath(__file__))
# Each of them must be refused, or the sandbox is none.
ESCAPES = """
chroot / true; exec 3<>/dev/tcp/127.0.0.1/80; touch /tmp/x; chmod u+s /tmp/x; unshare --net true
echo x >/etc/rtl-was-here; ls /root; kill -0 1
"""


class Confined(Supervised):
    def __init__(self, service, build):
        self.unit = os.path.join(build, "systemd", "rtl-collectord.service")
        self.report = os.path.join(service.work, "denied")
        self.options = []  # of COLLECTORD_OPTIONS
        self.is_root = False  # started by root: behind the filter, without the unit's user
        super().__init__(service)

    def command(self, program):
        return self.sandboxed(self.report, program, *self.options)

    def sandboxed(self, report, *command):
        return [sys.executable, os.path.join(HERE, "sandbox.py"), self.unit, report,
                self.service.store, *command]

    def denied(self, report):
        try:
            with open(report, encoding="ascii") as lines:
                return [line for line in lines.read().splitlines()
                        if not (self.is_root and OF_ROOT.match(line))]
        except FileNotFoundError:
            return []


def make_node(service):
    """Empty /run and /var/lib, for us alone; the store has a disk of its own."""
    for path in ("/run", "/var/lib"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", path], check=True)
    os.mkdir("/run/rtl", 0o755)
    os.mkdir("/var/lib/rtl", 0o711)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=711,size=%d" % DISK_BYTES, "none",
                    "/var/lib/rtl"], check=True)
    service.socket, service.store = "/run/rtl.sock", "/var/lib/rtl"


def check_sandbox(confined):
    """What must not work in there does not, and is told of."""
    report = confined.report + "-escapes"
    said = subprocess.run(
        confined.sandboxed(report, "/bin/bash", "-c", ESCAPES), capture_output=True, text=True,
        timeout=DEADLINE_S, check=False)
    names = {line.split()[1].split("(")[0] for line in confined.denied(report)}
    wanted = {"chroot", "socket", "fchmodat", "unshare"}
    if not wanted <= names or os.path.exists("/etc/rtl-was-here") or \
            said.stderr.count("denied") + said.stderr.count("Read-only") < 2:
        fail("the sandbox lets pass: %s %s" % (wanted - names, said.stderr))
    # What it looks at of others: when they began.
    said = subprocess.run(
        confined.sandboxed(report, "/bin/bash", "-c", "cat /proc/1/stat"),
        capture_output=True, timeout=DEADLINE_S, check=False)
    if said.returncode != 0:
        fail("the sandbox hides what is needed: %r" % said.stderr)
    print("the sandbox denies " + ", ".join(sorted(names)) + ", and writing elsewhere")


class Life:
    def __init__(self, confined):
        self.confined, self.service = confined, confined.service

    def session(self, user, job):
        return next((s for s in self.service.sessions().get(user.uid, []) if s["job"] == job), {})

    def wait_closed(self, user, job, kernels):
        """All of @kernels are stored or counted, as rtl ls has them; the owner can read them."""
        wait_for("the end of " + job, lambda: self.session(user, job).get("state") == "closed")
        session = self.session(user, job)
        said = self.service.as_user(user, "sqlite3", "-readonly", session["database"],
                                    "SELECT count(*) FROM rocpd_op")
        if session["dispatched"] != kernels or " complete: " not in session["line"] or \
                said.stdout.strip() != str(session["stored"]):
            fail("%s: %d dispatched: %s %s" % (job, kernels, session["line"], said))

    def stored(self, user, job):
        return self.session(user, job).get("stored") or 0

    def wait_more(self, user, job):
        before = self.stored(user, job)
        wait_for("more of " + job, lambda: self.stored(user, job) > before)

    # ---- what it does

    def real_ranks(self, build):
        env = {key: value for key, value in self.service.env.items() if key != "RTL_SOCKET"}
        said = subprocess.run(
            [os.path.join(build, "bin", "rtl"), "run", "--strict", "--device", "soft", "--",
             os.path.join(build, "bin", "rtl-demo"), "--ranks", "2", "--steps", "3"],
            capture_output=True, text=True, env=env, cwd=self.service.work, timeout=DEADLINE_S,
            stdin=subprocess.DEVNULL, check=False)
        if said.returncode != 0 or "in /var/lib/rtl/0/" not in said.stderr:
            fail("two ranks: %d %s" % (said.returncode, said.stderr))
        print("two ranks: " + said.stderr.strip().splitlines()[-1])

    def killed_rank(self):
        shim = self.service.spawn(A, "killed", rate=5000)
        wait_for("a rank", lambda: self.stored(A, "killed"))
        os.kill(shim.pid, signal.SIGKILL)
        wait_for("its end", lambda: self.session(A, "killed").get("state") == "closed")
        with sqlite3.connect("file:%s?mode=ro" % self.session(A, "killed")["database"],
                             uri=True) as db:
            row = db.execute("SELECT drained FROM rtl_process").fetchall()
        if row != [(1,)]:
            fail("a killed rank is not drained: %s" % row)
        print("a killed rank is drained")

    def questions(self):
        for user in (ROOT, A, B):
            for verb in (["stat", "-b", "-n", "1"], ["stat", "--outstanding"], ["ls"],
                         ["ctl", "status"], ["ctl", "flush"], ["ctl", "stop"], ["ctl", "start"]):
                said = (self.service.control(user, *verb[1:]) if verb[0] == "ctl" else
                        self.service.rtl(user, *verb))
                if user is not B and said.returncode != 0:
                    fail("%s: rtl %s: %s" % (user.name, " ".join(verb), said.stderr))
        print("rtl stat, ls, ctl")

    def killed_collector(self, job):
        reap(self.confined.process)
        self.confined.start()
        self.wait_more(A, job)
        print("killed and started again: its ranks come back")

    def damaged(self, job):
        """The file of an open session is overwritten while no process has it open."""
        path = self.session(A, job)["database"]
        reap(self.confined.process)
        with open(path, "r+b") as file:
            file.write(b"\x55" * 65536)
        self.confined.start()
        wait_for("it to be set aside", lambda: self.service.has_said("set aside: "))
        self.wait_more(A, job)
        print("a damaged database is set aside")

    def full_disk(self, job):
        filler = os.path.join(self.service.store, "filler")
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
                    file.flush()
            except OSError:
                pass

        def state():
            return self.service.rtl(A, "ctl", "status").stdout
        wait_for("the disk to be full", lambda: "degraded" in state())
        os.unlink(filler)
        wait_for("the disk to have room", lambda: "degraded" not in state())
        self.wait_more(A, job)
        print("a disk that was full")


    def retention(self):
        """Closed sessions go when they take too much."""
        self.confined.options = ["--keep-bytes", "1"]
        self.confined.start()
        wait_for("closed sessions to go", lambda: all(
            "removed" in s["state"] for s in self.service.sessions().get(A.uid, [{"state": ""}])))
        print("closed sessions are removed")


def live(confined, build):
    service, life = confined.service, Life(confined)
    confined.start()
    life.real_ranks(build)
    life.killed_rank()
    shim = service.spawn(A, "long", rate=2000)
    other = service.spawn(B, "other", dispatches=20000, rate=20000)
    wait_for("a rank", lambda: life.stored(A, "long"))
    life.questions()
    life.wait_closed(B, "other", told(other))
    life.killed_collector("long")
    life.full_disk("long")
    shim.terminate()
    life.wait_closed(A, "long", told(shim))
    shim = service.spawn(A, "damaged", rate=2000)
    wait_for("a rank", lambda: life.stored(A, "damaged"))
    life.damaged("damaged")
    shim.terminate()
    told(shim)
    wait_for("the end", lambda: life.session(A, "damaged").get("state") == "closed")
    confined.stop()
    life.retention()
    confined.stop()


# Short: two tests, with fewer rounds than they have by themselves.
SUITE = ("kills.py kept --count 2 --rate 5000", "disk.py full --cycles 1")
# --long: all tests that start a collector, but for those whose collector is not as the unit's.
EXCLUDED = {
    "reliability.memory_1": "whether an allocation fails is no call; a folder of root's",
    "reliability.memory_2": "likewise",
    "reliability.kill_collector_real": "a user starts it: FILTERED",
    "reliability.kill_rank_real": "a user starts it: FILTERED",
    "hostile.sandbox": "has the sandbox itself",
    "hostile.sandbox_suite": "is this test",
    "hostile.killed": "starts none",
    "hostile.access": "root starts it, which then becomes rtl: calls that the unit forbids",
    "hostile.quota": "root starts it",
    "hostile.retention": "root starts it",
    "hostile.requests": "root starts it",
    "hostile.container": "mounts of the test would have to reach its mount namespace",
    "hostile.places": "what root finds in the place of socket and store",
    "hostile.names": "has a store of its own, as a user",
    "hostile.skew": "has collectors of its own, as a user",
}
INNER = "^(reliability|hostile)[.]"
FILTERED = "^integration[.]|^reliability[.]kill_(collector|rank)_real$"
# Only a collector of root's gives files away: SQLite gives its logs to the owner of their file, and does
# not check the result; the collector gives away what it makes for another user. The unit's user is not root.
OF_ROOT = re.compile(r"^\d+ fchown\(")


def run_short(prefix, build):
    for line in SUITE:
        script, *arguments = line.split()
        said = subprocess.run(
            [sys.executable, os.path.join(HERE, "..", "reliability", script), *arguments,
             "--build", build], env={**os.environ, "RTL_TEST_PREFIX": prefix},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if said.returncode != 0:
            fail("%s: %s%s" % (line, said.stdout, said.stderr))
        print("%s: %s" % (line, said.stdout.strip().splitlines()[-1]))


def names_of(build, wanted, excluded):
    said = subprocess.run(["ctest", "--test-dir", build, "-N", "-R", wanted], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    part = re.compile(os.environ.get("RTL_TEST_PART", ""))
    return [name for name in re.findall(r"^ *Test +#\d+: (\S+)$", said, re.M)
            if name not in excluded and part.search(name)]


def run_one(confined, folder, name, env):
    """What is wrong with it, if anything: that it failed and what was denied are two things."""
    before = len(confined.denied(confined.report))
    said = subprocess.run(
        ["ctest", "--test-dir", folder, "--output-on-failure", "-R",
         "^%s$" % name.replace(".", "[.]")],
        env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    denied = sorted(set(confined.denied(confined.report)[before:]))
    wrong = ["%s: denied: %s" % (name, "; ".join(denied[:20]))] if denied else []
    if said.returncode != 0 or said.stdout.count("   Passed ") != 1:
        how = "outside of its time limit" if "***Timeout" in said.stdout else "failed"
        wrong.append("%s: %s: %s%s" % (name, how, said.stdout[-6000:], said.stderr))
    print("%s %s" % (name, " and ".join(text.split(": ")[1] for text in wrong) or "passed"), flush=True)
    return wrong


def run_tests(confined, build, wanted, excluded=(), prefix=""):
    """How many. One after the other, in a folder of their own, so that they share no files with the
        caller of this test; all of them, whatever becomes of one. RTL_TEST_PART: those whose names it finds."""
    folder = tempfile.mkdtemp(dir=confined.service.work)
    with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
        file.write('subdirs("%s")\n' % build)
    env = {name: value for name, value in os.environ.items() if name != "RTL_TEST_LONG"}
    env["RTL_TEST_PREFIX"] = prefix
    names = names_of(build, wanted, excluded)
    wrong = [text for name in names for text in run_one(confined, folder, name, env)]
    if wrong:
        fail("\n".join(wrong))
    return len(names)


def leave_no_service(confined):
    """A node with collectors of users only: no service answers for rtl there."""
    confined.manager.close()
    leave_no_user()


def put_in_front(confined, build):
    """A process that starts the build's collector starts it behind the filter, in this mount namespace."""
    real = os.path.join(confined.service.work, "real-collectord")
    front = os.path.join(confined.service.work, "front")
    program = os.path.join(build, "bin", "collectord")
    shutil.copy2(program, real)
    words = [sys.executable, os.path.join(HERE, "filtered.py"), confined.unit, confined.report, real]
    with open(front, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nexec %s "$@"\n' % shlex.join(words))
    os.chmod(front, 0o755)
    subprocess.run(["mount", "--bind", front, program], check=True)
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if "collectord" not in said.stdout:
        fail("no collector behind the filter: %s" % said.stderr)


def check_filter(confined):
    """As above: what it must not do is refused, and told of."""
    report = confined.report + "-planted"
    subprocess.run([sys.executable, os.path.join(HERE, "filtered.py"), confined.unit, report,
                    "/bin/bash", "-c", "chroot / true"], capture_output=True, check=False)
    if not any(" chroot(" in line for line in confined.denied(report)):
        fail("the filter lets chroot() pass, or does not report it")


def suite(confined, build):
    prefix = shlex.join(
        [sys.executable, os.path.join(HERE, "sandbox.py"), confined.unit, confined.report])
    if not is_long():
        run_short(prefix, build)
        return
    unknown = set(EXCLUDED) - set(names_of(build, INNER, ()))
    if unknown and not os.environ.get("RTL_TEST_PART"):
        fail("not run there, and no tests: %s" % ", ".join(sorted(unknown)))
    count = run_tests(confined, build, INNER, EXCLUDED, prefix)
    print("%d tests with their collectors in the sandbox" % count, flush=True)
    confined.is_root = True
    check_filter(confined)
    leave_no_service(confined)
    put_in_front(confined, build)
    count += run_tests(confined, build, FILTERED)
    if not count:
        fail("no test was run")
    print("%d tests in all, those of users with their collectors behind the filter" % count)


TESTS = {"life": live, "suite": suite}


def check(service, options):
    make_node(service)
    confined = Confined(service, options.build)
    check_sandbox(confined)
    TESTS[options.what](confined, options.build)
    denied = confined.denied(confined.report)
    if not os.path.exists(confined.report):
        fail("no collector was in the sandbox")
    if denied:
        fail("denied %d times: %s" % (len(denied), "; ".join(sorted(set(denied))[:20])))
    print("0 denials")


if __name__ == "__main__":
    run(check, *TESTS)
