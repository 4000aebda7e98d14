# SPDX-License-Identifier: MIT
"""Asks rtl (the first argument of the test), and compares."""
import csv
import io
import json
import subprocess
import sys

RTL = sys.argv[1]


def rtl(*arguments, status=0):
    done = subprocess.run([RTL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    assert status or not done.stderr or arguments[0] == "report", done.stderr
    return done.stdout


def ask(verb, path, *more, **options):
    return json.loads(rtl(verb, "--json", *more, path, **options))


def table(verb, path, name):
    return list(csv.DictReader(io.StringIO(rtl(verb, f"--csv={name}", path))))


def compare(reference, candidate, *more):
    """The only comparison of two files."""
    document = json.loads(rtl("diff", "--json", "--label", "a", "--label", "b", "--top", "0", *more, reference, candidate))
    return document["comparisons"][0]


def same(what, have, want):
    assert have == want, f"{what}: {have!r}, not {want!r}"


def close(what, have, want):
    assert abs(have - want) <= 1e-9 * max(1, abs(want)), f"{what}: {have!r}, not {want!r}"
