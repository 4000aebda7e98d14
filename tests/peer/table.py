#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make docs/defects.md from defects.tsv, or check that it is so and that its tests exist.

usage: table.py --write SOURCE_DIR
       table.py --check SOURCE_DIR BUILD_DIR

A row must name tests that ctest knows, and its title must stand in a file of the tests.
"""
import json
import pathlib
import subprocess
import sys

HEAD = """# What rocm-trace-lite gets wrong, and what happens here

Made by `tests/peer/table.py --write .` from `tests/peer/defects.tsv`; `peer.table` checks that, and
that every test named here exists. *Documented* is what its sources, issues and release notes say of
its revision 16f0482; *measured* is what that revision did in the same scenario on the software GPU
with ROCr 5.2.3 (`tests/peer/measure`). Numbers in the first column are of its list of known defects,
of its judgement (§11), of claims that did not hold (§0), and of measurements (A6).

| | defect | scenario | documented | measured | here | tests |
|---|---|---|---|---|---|---|
"""


def read_rows(source):
    path = source / "tests/peer/defects.tsv"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    names = lines[0].split("\t")
    rows = [line.split("\t") for line in lines[1:]]
    for row in rows:
        if len(row) != len(names):
            sys.exit("%s: %d columns, not %d: %s" % (path, len(row), len(names), row))
    return [dict(zip(names, row)) for row in rows]


def page(rows):
    out = HEAD
    for row in rows:
        tests = " ".join("`%s`" % name for name in row["tests"].split())
        if row["title"]:
            tests += ": " + row["title"].replace("_", " ")
        cells = [row["from"], row["defect"], row["scenario"], row["documented"],
                 row["measured"] or "not measured", row["ours"], tests]
        out += "| " + " | ".join(cells) + " |\n"
    return out


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
    if (source / "docs/defects.md").read_text(encoding="utf-8") != page(rows):
        yield "docs/defects.md is not of defects.tsv: tests/peer/table.py --write ."


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[2])
    rows = read_rows(source)
    if sys.argv[1] == "--write":
        (source / "docs/defects.md").write_text(page(rows), encoding="utf-8")
        return
    found = list(problems(source, sys.argv[3], rows))
    print("\n".join(found) or "%d defects, each with its tests" % len(rows))
    sys.exit(1 if found else 0)


main()
