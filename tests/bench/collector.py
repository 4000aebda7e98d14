# SPDX-License-Identifier: MIT
"""A real collector for a figure, and ranks that only send (feeders.c)."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

from bench import BenchError

WAIT_S = 600


def until(condition, what, poll_s=0.02):
    """What condition() says once it is true."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        if time.monotonic() > end:
            raise BenchError(f"{what}: nothing in {WAIT_S} s")
        time.sleep(poll_s)
    return value


class Collector:
    """collectord with one file, or with a folder of them. With *wrap* before it (valgrind). Its files have its name."""

    def __init__(self, bench, *options, wrap=(), poll_s=0.02, name="collector", **environment):
        self.bench, self.usage, self.poll_s = bench, None, poll_s
        self.socket, self.db = bench.folder / f"{name}.sock", bench.folder / f"{name}.db"
        self.log = bench.folder / f"{name}.log"
        for path in bench.folder.glob(f"{name}.*"):
            path.unlink()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*wrap, bench.program("collectord", "bin"), "--socket", self.socket,
                 *(options or ("--db", self.db))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=bench.environment(**environment))

    def __enter__(self):
        try:
            until(self.is_up, "collectord does not come up", self.poll_s)
        except BaseException:
            self.process.kill()
            raise
        return self

    def is_up(self):
        said = self.log.read_text()
        if self.process.poll() is not None:
            raise BenchError(f"collectord ended: {said.strip().splitlines()[-1:]}")
        return "listening on" in said

    def __exit__(self, *error):
        if self.usage is None:
            self.process.kill()
            self.process.wait()

    def feed(self, ranks, rows, *more):
        """@ranks with @rows dispatches each; what feeders say."""
        return json.loads(self.bench.run(self.bench.program("feeders"), "--socket", self.socket,
                                         "--ranks", ranks, "--rows", rows, *more))

    def peak_mib(self):
        """Resident at most until now, by the kernel."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        raise BenchError("the kernel says no VmHWM")

    def until_closed(self, sessions=1):
        """Until @sessions of the file are closed: complete, or said what is missing."""
        with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True) as db:
            def closed():
                try:
                    return db.execute("SELECT count(end_ns) FROM rtl_session").fetchone()[0] >= sessions
                except sqlite3.OperationalError:
                    return False  # it is being closed
            until(closed, "the session is not closed")
        db.close()

    def until_ended(self, ranks):
        """Until the last rows of @ranks processes are committed."""
        with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True) as db:
            until(lambda: db.execute("SELECT sum(ended IS NOT NULL) FROM rtl_process").fetchone()[0]
                  == ranks, "ranks have not ended")
        db.close()

    def stop(self):
        """SIGTERM; status 0. Its processor time in seconds is cpu then."""
        self.process.send_signal(signal.SIGTERM)
        _, status, self.usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            raise BenchError(f"collectord: status {self.process.returncode}")

    @property
    def cpu(self):
        return self.usage.ru_utime + self.usage.ru_stime

    def check(self, dispatches, is_closed=True):
        """All of them are there, with their times, and the books balance."""
        info = self.bench.identity(self.db)
        wrong = {what: info[what] for what in ("dispatched", "stored") if info[what] != dispatches}
        if wrong or info["untimed"] or info["complete"] != is_closed:
            raise BenchError(f"of {dispatches} dispatches: {wrong}, untimed {info['untimed']}")
        return info
