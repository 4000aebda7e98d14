# SPDX-License-Identifier: MIT
"""One program on one runtime: alone, below rtl, and what the database has of what the device did."""
import collections
import csv
import glob
import io
import os
import re
import shutil
import signal
import sqlite3
import subprocess

LIBRARIES = "/usr/lib/x86_64-linux-gnu"


# HIP's exit handler destroys what a callback on ROCr's thread may still use: alone, without rtl, 9 of 450 programs that
# return from main() as soon as hipDeviceSynchronize() has returned crash on ROCm 7.2.4, on a loaded machine. Below
# `rtl run` the status is a shell's.
CRASHES_AT_EXIT = [status for number in (signal.SIGSEGV, signal.SIGABRT) for status in (-number, 128 + number)]
RUNS_MAX = 4


class Fault(Exception):
    """What is wrong with a cell, in one line."""


class Runtime:
    """A column: what its programs are told so that they find this runtime and the software GPU."""

    def __init__(self, name, hip_version, env, registers=False, has_own_thunk=False):
        self.name = name
        self.hip = "libamdhip64.so.%d" % hip_version
        self.env = env
        self.registers = registers
        self.has_own_thunk = has_own_thunk
        self.folder = self.llama = self.torch = None
        self.thunk = "lib/softgpu"

    def build_thunk(self, root, source, folder):
        """The software GPU in the layout of this release's own headers, where its folder has some."""
        if not self.has_own_thunk:
            return
        headers = root + self.folder + "/usr/include"
        files = [path for path in sorted(glob.glob(source + "/tests/softgpu/*.c"))
                 if not re.search(r"/test_|/truth_main|/dtif", path)]
        self.thunk = folder + "/softgpu-" + self.name
        os.mkdir(self.thunk)
        subprocess.run(
            ["gcc", "-shared", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-DLITTLEENDIAN_CPU=1",
             "-I", source, "-isystem", headers, "-isystem", headers + "/hsakmt", "-Wl,-soname,libhsakmt.so.1",
             "-Wl,--version-script=%s/tests/softgpu/softgpu.map" % source, "-o", self.thunk + "/libhsakmt.so.1",
             *files, source + "/tests/runtimes/thunk_6.4.c", "-pthread"], check=True)

    def libraries(self):
        return self.folder + LIBRARIES


class Bench:
    """Runs a cell's programs in the root, in a folder of their own. After run(): alone, watched, rows, truth."""

    def __init__(self, places, runtime, folder, gpus):
        self.root, self.source, self.build = places
        self.runtime = runtime
        self.folder = folder
        self.program = None
        self.rows = self.timed = self.truth = None
        self.alone = self.watched = None
        self.notes = []
        self.tracer = []  # what programs are started by: strace and its options
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": folder,
            "LC_ALL": "C.UTF-8",
            "TMPDIR": folder,
            "XDG_RUNTIME_DIR": folder + "/run",
            "XDG_STATE_HOME": folder + "/state",
            "LD_LIBRARY_PATH": "%s:%s" % (self.built(runtime.thunk), runtime.libraries()),
            "SOFTGPU_COUNT": str(gpus),
            # However loaded the machine is: the end waits until the last records are out.
            "RTL_EXIT_MS": "60000",
            # HIP compiles kernels of its own at each start: two thirds of what a short program takes. ROCm 7 keeps
            # them here from one program to the next, as it does in the home of a user.
            "AMD_COMGR_CACHE": "1",
            "AMD_COMGR_CACHE_DIR": self.built("comgr"),
        }
        self.env.update(runtime.env)
        for name in ("RTL_FRONT_END", "RTL_DEBUG"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        for name in ("run", "state"):
            os.makedirs(os.path.join(folder, name), mode=0o700)

    def another(self, name):
        """A bench for one more run of the same cell, in a folder within this one's."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        return Bench((self.root, self.source, self.build), self.runtime, folder, int(self.env["SOFTGPU_COUNT"]))

    def built(self, name):
        return os.path.join(self.build, name)

    def hip_program(self, name):
        """The program NAME of tests-bin linked to this runtime's HIP: the distribution's has another number."""
        ours = os.path.join(self.folder, name)
        shutil.copy(self.built("tests-bin/" + name), ours)
        # Its path is that of the distribution's compiler library (tests/shim/comgr).
        for change in (["--replace-needed", "libamdhip64.so.5", self.runtime.hip], ["--remove-rpath"]):
            done = self.inside(["patchelf", *change, ours], {})
            if done.returncode:
                raise Fault("patchelf: " + done.stderr.decode("utf-8", "replace"))
        return ours

    def command(self, command, env):
        """The command as it is run in the root."""
        environment = ["%s=%s" % item for item in {**self.env, **env}.items()]
        return ["chroot", self.root, "env", "-i", "-C", self.folder] + environment + command

    def inside(self, command, env, name="out"):
        """Runs the command in the root; its streams go to files too, for the reader of a failure."""
        # A program of the matrix takes seconds: one that hangs is found before ctest gives up.
        done = subprocess.run(
            self.tracer + self.command(command, env), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=900)
        for stream, data in (("out", done.stdout), ("err", done.stderr)):
            with open("%s/%s.%s" % (self.folder, name, stream), "wb") as file:
                file.write(data)
        return done

    def run_alone(self, command, env=None):
        os.makedirs(self.folder + "/alone", exist_ok=True)
        self.alone = self.inside(command, {**(env or {}), "SOFTGPU_TRUTH": self.folder + "/alone/%p"}, "alone")

    def run_watched(self, command, env=None, options=()):
        shutil.rmtree(self.folder + "/truth", ignore_errors=True)
        os.makedirs(self.folder + "/truth")
        rtl = [self.built("bin/rtl"), "run", "-f", "-o", "t.db", *options, "--"]
        self.watched = self.inside(
            rtl + command, {**(env or {}), "SOFTGPU_TRUTH": self.folder + "/truth/%p"}, "watched")

    def until_exit(self, run, done, status):
        """Runs it; again, and the cell says so, while it ends as the runtime does that crashes in exit()."""
        for _ in range(RUNS_MAX):
            shutil.rmtree(self.folder + "/alone", ignore_errors=True)
            run()
            if done().returncode == status or done().returncode not in CRASHES_AT_EXIT:
                return
            self.notes.append("ended with %d at exit, run again" % done().returncode)

    def run(self, command, env=None, options=(), status=0, said=bytes):
        """The program alone and below rtl: it ends the same and says the same. status: how it has to end; said:
        what of its output is the same in every run. A run that the runtime's own crash at exit ends is repeated."""
        self.until_exit(lambda: self.run_alone(command, env), lambda: self.alone, status)
        if self.alone.returncode != status:
            raise Fault("alone it ends with %d: %s" % (self.alone.returncode, last_line(self.alone.stderr)))
        self.until_exit(lambda: self.run_watched(command, env, options), lambda: self.watched, status)
        self.count()
        self.compare_ends(said)

    def compare_ends(self, said=bytes):
        # A program that a signal ends is to rtl run what it is to a shell.
        alone = self.alone.returncode if self.alone.returncode >= 0 else 128 - self.alone.returncode
        if self.watched.returncode != alone:
            raise Fault("ends with %d, alone with %d: %s" % (
                self.watched.returncode, alone, last_line(self.watched.stderr)))
        if said(self.watched.stdout) != said(self.alone.stdout):
            raise Fault("says something else on stdout than alone")

    def truth_rows(self, folder="truth", kind=()):
        """The device's log of each process as rows; what the runtime itself copied by kernels is not among them."""
        rows = []
        for path in sorted(glob.glob("%s/%s/*" % (self.folder, folder))):
            done = subprocess.run([self.built("bin/softgpu-truth"), *kind, path], capture_output=True, check=False)
            if done.returncode:
                raise Fault("softgpu-truth: " + last_line(done.stderr))
            with open("%s/%s.%s.csv" % (self.folder, folder, os.path.basename(path)), "wb") as file:
                file.write(done.stdout)
            rows += csv.DictReader(io.StringIO(done.stdout.decode()))
        if kind:
            return rows
        return [row for row in rows if not row["kernel"].startswith("softgpu_rocr_") and
                "done" in row["flags"].split("|")]

    def sql(self, query):
        """Rows of the database; none where it does not open."""
        database = sqlite3.connect("file:%s/t.db?mode=ro" % self.folder, uri=True)
        try:
            return database.execute(query).fetchall()
        finally:
            database.close()

    def value(self, query):
        return self.sql(query)[0][0]

    def count(self):
        self.truth = len(self.truth_rows())
        self.rows = self.timed = 0
        if not os.path.exists(self.folder + "/t.db"):
            raise Fault("no database: " + last_line(self.watched.stderr))
        self.rows, self.timed = self.sql("SELECT count(*), count(start) FROM rocpd_op")[0]

    def compare_counts(self):
        """Rows per GPU and kernel are the device's."""
        device = collections.Counter((int(row["gpu"]), row["kernel"].removesuffix(".kd")) for row in self.truth_rows())
        ours = collections.Counter()
        for gpu, symbol, number in self.sql("""SELECT gpuId, k.symbol, count(*) FROM rocpd_op
                JOIN rtl_kernel k ON k.id = description_id GROUP BY 1, 2"""):
            ours[gpu, symbol.removesuffix(".kd")] += number
        if not device:
            raise Fault("the device ran nothing")
        for key in sorted(device.keys() | ours.keys(), key=str):
            if device[key] != ours[key]:
                raise Fault("GPU %s, %s: %d rows, the device ran %d" % (*key, ours[key], device[key]))

    def compare_truth(self, *options):
        """Every dispatch: its place in its queue, its name, its GPU and its times are the device's."""
        self.compare_counts()
        logs = sorted(glob.glob(self.folder + "/truth.*.csv"))
        done = subprocess.run(
            ["/usr/bin/python3", self.source + "/tests/system/compare_truth.py", *options,
             self.folder + "/t.db", *logs], capture_output=True, check=False)
        if done.returncode:
            raise Fault(last_line(done.stderr))

    def compare_verdict(self, is_timed=True):
        """The last line says that all is there, and so does the ledger."""
        if is_timed and self.timed != self.rows:
            reasons = self.sql("SELECT reason, sum(count) FROM rtl_loss GROUP BY 1")
            raise Fault("%d of %d have no time (%s)" % (
                self.rows - self.timed, self.rows, ", ".join("%s %d" % row for row in reasons)))
        line = last_line(self.watched.stderr)
        if is_timed and "complete: %d dispatched, %d stored" % (self.rows, self.rows) not in line:
            raise Fault("the last line is: " + line)
        pending = self.value("SELECT coalesce(sum(pending), 0) FROM rtl_account")
        if pending:
            raise Fault("%d dispatches are neither stored nor accounted for" % pending)


def last_line(data):
    lines = [line for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "(nothing on stderr)"
