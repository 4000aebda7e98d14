# SPDX-License-Identifier: MIT
"""Ranks in containers that have /run/rtl of the host and nothing else: they find the node's
collector by themselves, are recorded with their uid and pid of the host, and go on after the
collector was killed and started again.

Of two kinds: with uids of its own (root inside is an ordinary user of the host), and with the
host's. Both have processes, mounts and /proc of their own. The socket is the manager's."""
import os
import sqlite3
import subprocess

from node import DEADLINE_S, fail, reap, wait_for
from service import Supervised, User, run

USER = User("of the host", 61907)
# What a container's runtime does: an empty /run, the folder of the host's in it.
RUNTIME = """
set -e
rtl=$1 store=$2; shift 2
mount -t tmpfs none "$store"
mount --bind "$rtl" /mnt
mount -t tmpfs -o mode=755 none /run
mkdir /run/rtl
mount --move /mnt /run/rtl
exec "$@"
"""


class Container:
    """One that stays: programs are started in it as its init is told."""

    def __init__(self, service, has_own_uids):
        self.service, self.has_own_uids = service, has_own_uids
        self.name = "with uids of its own" if has_own_uids else "with the host's uids"
        self.folder = os.path.join(service.work, "own" if has_own_uids else "hosts")
        os.mkdir(self.folder)
        os.chown(self.folder, USER.uid, USER.uid)
        as_user = ["setpriv", "--reuid", str(USER.uid), "--regid", str(USER.uid), "--clear-groups"]
        new = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if has_own_uids:
            inner = as_user + new[:1] + ["--user", "--map-root-user"] + new[1:]
        else:
            inner = new + as_user
        # Its init reads commands, one a line, and says their end.
        self.init = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", RUNTIME, "sh",
             service.run, service.store, *inner, "sh"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={key: value for key, value in service.env.items() if key != "RTL_SOCKET"}, cwd="/")
        service.shims.append(self.init)

    def run(self, line):
        """What the shell inside prints until the command has ended, and its exit status."""
        self.init.stdin.write("{ %s; } 2>&1; echo; echo ended=$?\n" % line)
        self.init.stdin.flush()
        said = []
        for text in self.init.stdout:
            if text.startswith("ended="):
                return "".join(said), int(text[6:])
            said.append(text)
        fail("a container %s ended: %s%s" % (self.name, "".join(said), self.init.stderr.read()))
        return "", 0

    def end(self):
        self.init.stdin.close()
        self.init.wait(DEADLINE_S)


def pids_of_host(pid_inside, program):
    """Of @program, which has @pid_inside in a namespace of its own and its user on the host."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % pid, encoding="ascii", errors="replace") as status:
                lines = dict(line.split(":", 1) for line in status.read().splitlines())
        except OSError:
            continue
        pids = lines.get("NSpid", "").split()
        if lines["Name"].strip() == program[:15] and len(pids) > 1 and pids[-1] == pid_inside and \
                lines["Uid"].split()[0] == str(USER.uid):
            found.append(int(pid))
    return found


def run_real(container, build):
    """rtl run in there: found by itself, and its last words, though the file is elsewhere."""
    text, status = container.run(
        "cd %s; RTL_JOB_ID= %s/bin/rtl run --strict --device soft -- %s/bin/rtl-demo --steps 3" %
        (container.folder, build, build))
    last = text.strip().splitlines()[-1]
    if status != 0 or not last.startswith("SIMULATED complete: ") or \
            container.service.store not in text:
        fail("rtl run in a container %s: %d %s" % (container.name, status, text))
    print("a container %s: rtl run: %s" % (container.name, last))


def look(container, supervised):
    """One rank before the collector is killed, and after; one more then, without any mount."""
    service, job = container.service, "in a container " + container.name.replace("'", "")
    shim = "%s --dispatches 10000000 --rate 2000" % service.program("synthetic-shim")
    container.run("unset RTL_SOCKET; export RTL_JOB_ID='%s'" % job)
    text, _ = container.run("%s --rank 0 >%s/said 2>&1 & echo $!" % (shim, container.folder))
    inside = text.split()[0]
    def session():
        return next((s for s in service.sessions().get(USER.uid, []) if s["job"] == job), {})
    wait_for("a rank in a container to be recorded", lambda: session().get("stored"))
    (pid,) = pids_of_host(inside, "synthetic-shim")
    text, status = container.run("%s stat --json -n 1" % service.program("rtl"))
    if status != 0 or '"socket":"/run/rtl/rtl.sock"' not in text.replace(" ", ""):
        fail("rtl stat in a container %s: %s" % (container.name, text))
    reap(supervised.process)
    supervised.start()
    before = session().get("stored", 0)
    wait_for("the rank to come back", lambda: session().get("stored", 0) > before)
    text, status = container.run("%s --rank 1 --dispatches 3000 --rate 20000" % service.program(
        "synthetic-shim"))
    if status != 0:
        fail("a second rank in a container %s: %s" % (container.name, text))
    container.run("kill %s; wait %s" % (inside, inside))
    with open(os.path.join(container.folder, "said"), encoding="utf-8") as said:
        first = next(int(line.split("kernels=")[1].split()[0]) for line in said
                     if line.startswith("dispatched "))
    wait_for("the session to be closed", lambda: session().get("state") == "closed")
    with sqlite3.connect("file:%s?mode=ro" % session()["database"], uri=True) as db:
        rows = db.execute("SELECT p.rank, p.uid, p.pid, count(*) FROM rtl_process p JOIN rocpd_op o"
                          " ON o.process_id = p.id GROUP BY p.id ORDER BY p.rank").fetchall()
    if [(row[0], row[1], row[3]) for row in rows] != [(0, USER.uid, first), (1, USER.uid, 3000)]:
        fail("a container %s: %s instead of %d and 3000 of uid %d" % (
            container.name, rows, first, USER.uid))
    if rows[0][2] != pid or not session()["database"].startswith(
            "%s/%d/" % (service.store, USER.uid)):
        fail("a container %s: pid %s (%s inside) is stored as %d in %s" % (
            container.name, pid, inside, rows[0][2], session()["database"]))
    print("a container %s: pid %s inside is pid %d of uid %d; %d + 3000 kernels, and a collector "
          "killed between them" % (container.name, inside, pid, USER.uid, first))


def check(service, options):
    supervised = Supervised(service)
    supervised.start()
    for has_own_uids in (True, False):
        container = Container(service, has_own_uids)
        run_real(container, options.build)
        look(container, supervised)
        container.end()
    supervised.stop()


if __name__ == "__main__":
    run(check)
