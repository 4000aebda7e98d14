#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions whose every name is a stranger's (hostile_names.py): what rtl and the collector write
about them is what each form promises to every reader. Text holds no byte that steers a terminal,
JSON and CSV are read back by parsers of others, no cell of a CSV is a formula, names of files are
plain. Then the same of a database into which another program wrote such texts wherever a text may stand."""
import argparse
import csv
import html.parser
import io
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

import hostile_names
from node import fail, wait_for

DEADLINE_S = 900
# The colour of a verdict is all that rtl itself sends to steer a terminal (cli/base/color.c).
VERDICT_COLOUR = re.compile(rb"^((?:SIMULATED )?)\x1b\[(?:1;31|36|32)m(INCOMPLETE|RUNNING|complete)\x1b\[0m:", re.M)
# What changes order or shows nothing, besides C0 and C1: as cli/base/escape.c.
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
                    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
                    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
NUMBER = re.compile(r"[-+]?[0-9][0-9.e+-]*$")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

WHOLE = ["summary", "info", "timeline", "collectives", "outstanding", "tree"]
# Verb, whether it can: JSON, CSV.
OF_A_FILE = [
    (["summary", "--top", "0"], True, True), (["summary", "--by", "category"], True, False),
    (["info"], True, False), (["info", "--counters"], False, False),
    (["info", "--clocks"], True, True), (["timeline", "--steps", "."], True, True),
    (["collectives"], True, True), (["outstanding"], True, True),
    (["tree", "--min-percent", "0"], True, True), (["tree", "--by", "rank"], True, True),
    (["diagnose"], True, False),
]
TABLES = ["kernels", "ranks", "gpus", "losses"]
QUERIES = [
    "SELECT * FROM rtl_kernel", "SELECT * FROM rocpd_op LIMIT 2000", "SELECT * FROM rtl_marker",
    "SELECT * FROM rtl_host_call", "SELECT * FROM rtl_session", "SELECT * FROM rtl_process",
    "SELECT * FROM rtl_meta", "SELECT * FROM rtl_category", "SELECT * FROM rtl_metric",
    "SELECT symbol AS \"=a,\x1b[31m\"\"\" FROM rtl_kernel",
]


def text_of(data, what):
    """@data as text that is safe on a terminal."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        fail("%s is not UTF-8: %s" % (what, error))
    bad = UNSAFE.search(text)
    if bad:
        fail("%s has %r: %r" % (what, bad.group(), text[max(0, bad.start() - 60):bad.end() + 20]))
    return text


class Page(html.parser.HTMLParser):
    """What a browser would make of it: no element and no attribute is a stranger's."""

    def __init__(self, what):
        super().__init__(convert_charrefs=True)
        self.what, self.scripts, self.kind = what, 0, None

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key.startswith("on") or "javascript:" in (value or "").lower():
                fail("%s has <%s %s=%r>" % (self.what, tag, key, value))
        if tag in ("img", "iframe", "object", "embed", "base", "form"):
            fail("%s has <%s %r>" % (self.what, tag, attributes))
        if tag == "script":
            self.scripts += 1
            self.kind = dict(attributes).get("type")

    def handle_data(self, data):
        if self.kind == "application/json":
            json.loads(data, parse_constant=no_constant)
        self.kind = None


def html_of(data, what):
    """How many scripts it has."""
    text = text_of(data.replace(b"\t", b" "), what)
    page = Page(what)
    page.feed(text)
    page.close()
    if not page.scripts or not text.rstrip().endswith("</html>"):
        fail("%s is no page" % what)
    return page.scripts


def no_constant(word):
    raise ValueError("%s is no JSON" % word)


def json_of(data, what):
    text = text_of(data, what)
    try:
        return json.loads(text, parse_constant=no_constant)
    except ValueError as error:
        fail("%s is not JSON: %s: %r" % (what, error, text[:300]))


def csv_of(data, what):
    text = text_of(data, what)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for row in rows:
        if len(row) != len(rows[0]):
            fail("%s has a row of %d cells, not %d: %r" % (what, len(row), len(rows[0]), row))
        for cell in row:
            if cell.startswith(FORMULA) and not NUMBER.match(cell):
                fail("%s has a formula: %r" % (what, cell[:100]))
    return rows


class Rtl:
    def __init__(self, build, work, socket):
        self.build, self.work, self.socket = build, work, socket
        self.runs = 0

    def run(self, words, statuses=(0,), reader=text_of):
        """What it says, checked."""
        what = "rtl " + " ".join(repr(w)[2:-1] if isinstance(w, bytes) else w for w in words)
        done = subprocess.run(
            [os.path.join(self.build, "bin/rtl")] + words, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=DEADLINE_S,
            env={**os.environ, "RTL_SOCKET": self.socket, "TMPDIR": self.work})
        self.runs += 1
        said = text_of(done.stderr, "stderr of " + what)
        if done.returncode not in statuses:
            fail("%s ended with %d: %s" % (what, done.returncode, said[-2000:]))
        if reader is not text_of and done.returncode == 1 and not done.stdout:
            return None
        return reader(done.stdout, what)

    def run_on_terminal(self, words):
        """All that a terminal of 200 columns gets."""
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(RTL_SOCKET=self.socket, TERM="xterm", COLUMNS="200", LINES="50")
            os.execv(os.path.join(self.build, "bin/rtl"), ["rtl"] + words)
        data = b""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                got = os.read(fd, 65536)
            except OSError:
                break
            if not got:
                break
            data += got
        os.close(fd)
        os.waitpid(pid, 0)
        self.runs += 1
        return data


def check_file(rtl, path, statuses):
    """Every verb about @path, in every form."""
    for verb, has_json, has_csv in OF_A_FILE:
        rtl.run(verb + [path], statuses)
        if has_json:
            rtl.run(verb + ["--json", path], statuses, json_of)
        if has_csv:
            rtl.run(verb + ["--csv", path], statuses, csv_of)
    for table in TABLES:
        rtl.run(["summary", "--csv=" + table, path], statuses, csv_of)
    rtl.run(["timeline", "--json", "--segments", path], statuses, json_of)
    for line in (rtl.run(["tree", "--folded", path], statuses) or "").splitlines():
        if not re.search(r" [0-9]+$", line):
            fail("a line of tree --folded has no number: %r" % line[-100:])
    for sql in QUERIES:
        rtl.run(["query", path, sql], statuses)
        rtl.run(["query", "--json", path, sql], statuses, json_of)
        rtl.run(["query", "--csv", path, sql], statuses, csv_of)


def check_pages(rtl, paths):
    scripts = {rtl.run(["report", path, "--html", "-"], (0, 3), html_of) for path in paths}
    scripts.add(rtl.run(["report", *paths, "--html", "-", "--label", "<script>", "--label",
                         "\x1b[31m"], (0, 3), html_of))
    if len(scripts) != 1:
        fail("pages have %r scripts" % scripts)


def check_terminal(rtl, path):
    for verb in WHOLE:
        data = rtl.run_on_terminal([verb, path])
        text_of(VERDICT_COLOUR.sub(rb"\1\2:", data.replace(b"\r\n", b"\n")), "rtl %s on a terminal" % verb)
    # ncurses writes sequences of its own, but neither titles, nor the clipboard, nor C1.
    data = rtl.run_on_terminal(["stat", "--count", "1"])
    for bad in (b"\x1b]", b"\x1bP", b"\x1b[6n", b"\xc2\x9b", b"\x9b31m", b"\xe2\x80\xae"):
        if bad in data:
            fail("rtl stat on a terminal wrote %r" % bad)
    if not data:
        fail("rtl stat wrote nothing to a terminal")


def check_live(rtl):
    for verb in (["ls"], ["ctl", "status"], ["ctl", "flush"], ["stat", "-n", "1", "--batch"]):
        rtl.run(verb)
    sessions = rtl.run(["ls", "--json"], reader=json_of)["sessions"]
    if len(sessions) < 6:
        fail("%d sessions" % len(sessions))
    rtl.run(["ls", "--csv"], reader=csv_of)
    for verb in (["stat", "-n", "1", "--json"],):
        for line in rtl.run(verb).splitlines():
            json.loads(line, parse_constant=no_constant)
    rtl.run(["stat", "--outstanding"], (0, 1))
    for session in sessions:
        rtl.run(["ctl", "status", "--session", session["session"]], (0, 1))
        rtl.run(["stat", "-n", "1", "--batch", "--", session["session"]], (0, 1))


def check_words(rtl, path):
    """Names as arguments: whatever the answer, it is safe to read."""
    for name in hostile_names.NAMES[::5]:
        word = name[:2000].replace(b"\0", b"")
        rtl.run(["summary", "--", word], (0, 1, 2))
        rtl.run([word], (0, 1, 2))
        rtl.run(["query", path, b"SELECT '" + word.replace(b"'", b"''") + b"'"], (0, 1))
        rtl.run(["query", path, b"SELECT " + word], (0, 1))


def check_stored(path, names):
    """Names that are UTF-8 are in the database as they are."""
    with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
        symbols = {row[0] for row in db.execute("SELECT symbol FROM rtl_kernel")}
    for name in names:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        if text and "\0" not in text and text not in symbols:
            fail("no kernel has the symbol %r" % text[:100])


def make_hostile(source, target, names):
    """A copy of a database with @names wherever a text may stand."""
    shutil.copy(source, target)
    db = sqlite3.connect(target)
    count = 0

    def next_name():
        nonlocal count
        count += 1
        return names[count % len(names)]  # as bytes: a cast makes a text of them, UTF-8 or not

    db.create_function("hostile", 0, next_name)
    db.execute("PRAGMA ignore_check_constraints = 1")
    tables = [row[0] for row in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")]
    for table in tables:
        for column in db.execute("PRAGMA table_info(%s)" % table).fetchall():
            if column[2].upper() == "TEXT" and (table, column[1]) != ("rtl_meta", "key"):
                db.execute("UPDATE OR IGNORE %s SET %s = CAST(hostile() AS TEXT)" %
                           (table, column[1]))
    db.execute("INSERT OR IGNORE INTO rtl_loss (process_id, reason, count) VALUES "
               "(1, CAST(hostile() AS TEXT), 3), (1, char(27) || '[31m', NULL)")
    db.commit()
    db.close()
    return count


def run_job(rtl, names):
    """What rtl run says of jobs of such names."""
    for name in names[3:40:7]:
        if b"\0" in name or not name:
            continue
        done = subprocess.run(
            [os.path.join(rtl.build, "bin/rtl"), "run", "--socket", rtl.socket, "--", "true", name],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE_S,
            env={**os.environb, b"RTL_JOB_ID": name[:200]})
        text_of(done.stderr, "rtl run with the job %r" % name)
        if done.returncode not in (0, 2):
            fail("rtl run ended with %d: %r" % (done.returncode, done.stderr[-500:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    names = hostile_names.NAMES
    work = tempfile.mkdtemp(prefix="rtl-names-")
    socket = os.path.join(work, "c.sock")
    store = os.path.join(work, "store")
    os.mkdir(store)
    log_path = os.path.join(work, "log")
    rtl = Rtl(build, work, socket)
    with open(log_path, "wb") as log:
        collector = subprocess.Popen(
            [os.path.join(build, "bin/collectord"), "--socket", socket, "--db-dir", store,
             "--verbose"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    client = None
    try:
        wait_for("the collector", lambda: os.path.exists(socket))
        client = subprocess.Popen(
            [os.path.join(build, "tests-bin/hostile-names"), socket],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in names:
            client.stdin.write(struct.pack("<I", len(name)) + name)
        client.stdin.write(b"\xff\xff\xff\xff")
        client.stdin.flush()
        if client.stdout.readline() != b"ready\n":
            fail("the sessions did not come to be")
        check_live(rtl)
        client.stdin.close()
        if client.wait(DEADLINE_S):
            fail("hostile-names ended with %d" % client.returncode)
        wait_for("the sessions to close", lambda: all(
            s["state"] != "live" for s in rtl.run(["ls", "--json"], reader=json_of)["sessions"]))
        run_job(rtl, names)
        files = [os.path.join(root, file) for root, _, found in os.walk(store) for file in found]
        for file in files:
            if not re.match(r"[A-Za-z0-9._-]+$", os.path.relpath(file, store).replace("/", "")):
                fail("a file is called %r" % file)
        databases = sorted(f for f in files if f.endswith(".db") and not f.endswith("index.db"))
        whole = max(databases, key=os.path.getsize)
        check_stored(whole, names)
        check_file(rtl, whole, (0, 1))
        check_terminal(rtl, whole)
        check_words(rtl, whole)
        hostile = os.path.join(work, "hostile.db")
        written = make_hostile(whole, hostile, names)
        check_file(rtl, hostile, (0, 1, 3))
        check_terminal(rtl, hostile)
        check_pages(rtl, [whole, hostile])
    finally:
        for process in (client, collector):
            if process and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait()
    with open(log_path, "rb") as log:
        said = text_of(log.read(), "the log")
    for line in said.splitlines():
        if not line.startswith("collectord: "):
            fail("a line of the log was broken: %r" % line)
    if collector.returncode != 0:
        fail("the collector ended with %d: %s" % (collector.returncode, said[-3000:]))
    print("%d names in 6 sessions, %d texts of a database: %d outputs are safe" %
          (len(names), written, rtl.runs))
    shutil.rmtree(work)


if __name__ == "__main__":
    sys.exit(main())
