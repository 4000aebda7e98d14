#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write docs/debian13.md from a run of ctest.

usage: report.py JUNIT_XML KNOWN VERSIONS ONLY REPORT

VERSIONS: lines "package version"; ONLY: the expression that chose the tests. Exits 1 if a test failed that KNOWN does not name, or one
that it names passed.
"""
import collections
import datetime
import sys
import xml.etree.ElementTree


def read_known(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return dict(lines)


def main():
    junit, known_path, versions_path, only, report_path = sys.argv[1:]
    known = read_known(known_path)
    cases = xml.etree.ElementTree.parse(junit).getroot().findall("testcase")
    failed = sorted(c.get("name") for c in cases if c.get("status") != "run")
    by_area = collections.Counter(c.get("name").split(".")[0] for c in cases)
    bad_area = collections.Counter(name.split(".")[0] for name in failed)
    with open(versions_path, encoding="utf-8") as file:
        versions = [line.split() for line in file]
    unknown = [name for name in failed if name not in known]
    names = {c.get("name") for c in cases}
    stale = [name for name in known if name in names and name not in failed]
    with open(report_path, "w", encoding="utf-8") as out:
        out.write("# On Debian 13\n\n")
        out.write("Written by `tests/debian13/run`, which is not part of `./test.sh`. The last run: %s, the tests\n`%s`.\n\n"
                  % (datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), only))
        out.write("| package | version |\n|---|---|\n")
        for package, version in versions:
            out.write("| %s | %s |\n" % (package, version))
        out.write("\n| tests | ran | passed | failed |\n|---|---|---|---|\n")
        for area in sorted(by_area):
            out.write("| %s | %d | %d | %d |\n" % (
                area, by_area[area], by_area[area] - bad_area[area], bad_area[area]))
        out.write("| all | %d | %d | %d |\n" % (len(cases), len(cases) - len(failed), len(failed)))
        if failed:
            out.write("\nFailed:\n\n")
        for name in failed:
            out.write("- `%s`: %s\n" % (name, known.get(name, "**to be looked into**")))
        out.write("\nNot run there: launchers (torch, Open MPI and Slurm are not installed), the "
                  "installation\nbelow systemd, sanitizers, lint.\n")
    print("%s: %d ran, %d failed, %d of them known" % (
        report_path, len(cases), len(failed), len(failed) - len(unknown)))
    for name in stale:
        print("passes now, remove it from %s: %s" % (known_path, name))
    sys.exit(1 if unknown or stale or not cases else 0)


main()
