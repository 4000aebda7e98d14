#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the pages of what others get wrong from their tables, or check that they are so and that the
tests in them exist.

usage: table.py --write SOURCE_DIR
       table.py --check SOURCE_DIR BUILD_DIR

A row must name tests that ctest knows, and its title must stand in a file of the tests.
"""
import json
import pathlib
import subprocess
import sys

DEFECTS = """# What rocm-trace-lite gets wrong, and what happens here

Made by `tests/system/peer/table.py --write .` from `tests/system/peer/defects.tsv`; `peer.table` checks that, and
that every test named here exists. *Documented* is what its sources, issues and release notes say of
its revision 16f0482; *measured* is what that revision did in the same scenario on the software GPU
with ROCr 5.2.3 (`tests/system/peer/measure`). Numbers in the first column are of its list of known defects,
of its judgement (§11), of claims that did not hold (§0), and of measurements (A6).

"""
CLAIMS = """# Answers, and how they are known to be right

Made by `tests/system/peer/table.py --write .` from `tests/system/answers/*.tsv`; `peer.table` checks that, and that
every test named here exists.

## What others answer

AORTA 7eeb04e, TraceLens 171dd74, rocm-trace-lite 16f0482: run, or read where it says so. What
rocm-trace-lite records wrongly is in [its own table](../peer/README.md).

"""
CASES = """
## By hand: case by question

Each on the real schema through the real program, all figures of a row in one test, worked out by hand. Ranks
count their ids from 1 in every one of them. Parts of `timeline` are wall, computation, exposed communication,
exposed copies, idle.

"""
END = """
## By model

`answers.properties` asks random sessions (nested ranges and calls, several GPUs and queues a rank, groups, two
communicators, lost parts, kernels without times, of no time, at the same time, submitted at an unknown time, a host that
waits or does not) and holds every figure, each cause of an idle time by itself, to `tests/system/answers/model.py`, which
works them out by brute force from the formulas of the documents. The same session
with its rows in another order, with ids of which none occurs twice, with another clock on one rank, and one rank alone
must give the same answers; a file is as itself, and the other way round the other sign. `RTL_TEST_LONG=1` asks a thousand.

`answers.noise` has jobs of which all ranks are alike, at five levels of noise: no rank may be blamed
([why, and the rates](../../../docs/adr/0019-match-collectives-by-number-and-charge-the-waiting.md)).
"""
PAGES = {"tests/system/peer/README.md": [DEFECTS, "tests/system/peer/defects.tsv"],
         "tests/system/answers/README.md": [CLAIMS, "tests/system/answers/claims.tsv", CASES, "tests/system/answers/cases.tsv", END]}
TITLES = {"from": "", "ours": "here"}
EMPTY = {"measured": "not measured"}


def read_rows(source, name):
    path = source / name
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    names = lines[0].split("\t")
    rows = [line.split("\t") for line in lines[1:]]
    for row in rows:
        if len(row) != len(names):
            sys.exit("%s: %d columns, not %d: %s" % (path, len(row), len(names), row))
    return [dict(zip(names, row)) for row in rows]


def all_rows(source):
    return [row for parts in PAGES.values() for part in parts if part.endswith(".tsv")
            for row in read_rows(source, part)]


def table(rows):
    columns = [name for name in rows[0] if name not in ("tests", "title")]
    titles = [TITLES.get(name, name) for name in columns] + ["tests"]
    out = "|" + "".join(" %s |" % title if title else " |" for title in titles) + "\n" + "|---" * len(titles) + "|\n"
    for row in rows:
        tests = " ".join("`%s`" % name for name in row["tests"].split())
        if row["title"]:
            tests += ": " + row["title"].replace("_", " ")
        out += "| " + " | ".join([row[name] or EMPTY.get(name, "") for name in columns] + [tests]) + " |\n"
    return out


def page(source, parts):
    return "".join(table(read_rows(source, part)) if part.endswith(".tsv") else part for part in parts)


def known_tests(build):
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True,
                             capture_output=True, text=True).stdout
    return {test["name"] for test in json.loads(listing)["tests"]}


def problems(source, build, rows):
    known = known_tests(build)
    text = "\n".join(path.read_text(encoding="utf-8") for path in (source / "tests").rglob("*")
                     if path.suffix in (".bats", ".c", ".cc", ".sh", ".py"))
    for row in rows:
        if not row["tests"].split():
            yield "no test: " + row["defect"]
        for name in row["tests"].split():
            if name not in known:
                yield "no such test: %s (%s)" % (name, row["defect"])
        if row["title"] and row["title"] not in text:
            yield "no test of that title: " + row["title"]
    for name, parts in PAGES.items():
        if (source / name).read_text(encoding="utf-8") != page(source, parts):
            yield "%s is not of its tables: tests/system/peer/table.py --write ." % name


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "--write":
        for name, parts in PAGES.items():
            (source / name).write_text(page(source, parts), encoding="utf-8")
        return
    rows = all_rows(source)
    found = list(problems(source, sys.argv[3], rows))
    print("\n".join(found) or "%d rows, each with its tests" % len(rows))
    sys.exit(1 if found else 0)


main()
