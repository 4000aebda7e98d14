#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cells of cells.py on the runtimes that are there, and prints the table. `run` makes the mounts before.

usage: matrix.py --root DIR --source DIR --build DIR --work DIR --column NAME=FOLDER... [--only REGEX] [--long]
                 [--report FILE] [--in RUNTIME COMMAND...]
       matrix.py --list

--list prints the cells that ctest runs, one RUNTIME/TEST a line: not those that take long, be it with one runtime
alone, and of a runtime between two others not all that is asked of both (LONG_CELLS).
"""
import argparse
import datetime
import os
import re
import subprocess
import sys

from bench import Bench, Fault, Runtime
import programs  # noqa: F401 pylint: disable=unused-import # its cells are CELLS, too
from cells import CELLS, topology

RUNTIMES = [
    Runtime("7.2.4", 7, {"HSA_ENABLE_DTIF": "1"}),
    Runtime("6.1.2", 5, {}),
    Runtime("6.4.3", 6, {}, registers=True, has_own_thunk=True),
]
LONG_RUNTIMES = ("6.4.3",)
# ROCm 6.1.2 lies between the distribution's 5.2.3, of which tests/shim asks the same, and 7.2.4.
# RCCL 7.2.4 takes 50 s of processor time to load its kernels; the default run has 6.1.2's.
LONG_CELLS = {"7.2.4": ("rccl",),
              "6.1.2": ("flood_64", "flood_4096", "batch", "threads", "signals_shared", "device_rings", "hip_streams",
                        "hip_threads", "graphs_long", "graphs_forked", "opened_deepbind", "opened_cleared",
                        "opened_namespace")}


class Outcome:
    def __init__(self, bench, fault):
        self.rows, self.timed, self.truth = bench.rows, bench.timed, bench.truth
        self.notes = bench.notes
        self.fault = fault

    def text(self):
        if self.rows is None:
            return "**did not run**"
        words = ["{:,} of {:,}".format(self.rows, self.truth)] if self.rows or self.truth else []
        if self.timed != self.rows:
            words[0] += ", {:,} timed".format(self.timed)
        counted = "; ".join(words + self.notes)
        return "**%s**" % counted if self.fault else counted


def said(folder):
    """What the programs of a cell wrote, for the reader of a failure: its folder is gone then."""
    for name in ("alone.err", "watched.out", "watched.err"):
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                text = file.read()[-2000:]
        except OSError:
            continue
        if text.strip():
            print("--- %s ends with:\n%s" % (name, text.rstrip()), file=sys.stderr)


def run_cell(args, runtime, cell):
    folder = "%s/%s-%s" % (args.work, runtime.name, cell.name)
    os.mkdir(folder)
    bench = Bench((args.root, args.source, args.build), runtime, folder, cell.gpus)
    fault = None
    try:
        cell.function(bench)
    except Fault as error:
        fault = str(error)
    except subprocess.TimeoutExpired as error:
        fault = "it did not end within %d s" % error.timeout
    if fault:
        print("%s/%s: %s: %s" % (runtime.name, cell.name, cell.claim, fault), file=sys.stderr)
        said(folder)
    return Outcome(bench, fault)


def table(runtimes, outcomes):
    lines = ["| test | " + " | ".join("ROCm " + runtime.name for runtime in runtimes) + " |",
             "|---" * (len(runtimes) + 1) + "|"]
    for cell in CELLS:
        row = [outcomes.get((runtime.name, cell.name)) for runtime in runtimes]
        if any(row):
            lines.append("| %s | %s |" % (cell.claim, " | ".join(o.text() if o else "" for o in row)))
    return "\n".join(lines)


def versions(folder):
    with open(folder + "/versions", encoding="utf-8") as file:
        return [line.split() for line in file]


def report(path, args, runtimes, outcomes):
    bad = [(key, outcome) for key, outcome in sorted(outcomes.items()) if outcome.fault]
    with open(path, "w", encoding="utf-8") as file:
        print("# Runtimes\n\nWritten by `tests/runtimes/run --report docs/runtimes.md`, on %s. Real programs on "
              "unmodified ROCm releases\nover the software GPU, each alone and below `rtl run`: the dispatches that "
              "were stored, of those that the\ndevice ran. A cell is as it must be if every dispatch is stored with "
              "its kernel, its GPU and the device's\ntimes, and the program ends and prints as it does alone; "
              "**bold** is what is not.\n" %
              datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), file=file)
        if args.only:
            print("Only the cells `%s` were run.\n" % args.only, file=file)
        print(table(runtimes, outcomes), file=file)
        print("\n%d cells, %d of them not as they must be%s" % (
            len(outcomes), len(bad), ":\n" if bad else "."), file=file)
        for (runtime, name), outcome in bad:
            print("- %s, `%s`: %s" % (runtime, name, outcome.fault), file=file)
        print("\n| ROCm | packages of Debian |\n|---|---|", file=file)
        for runtime in runtimes:
            print("| %s | %s |" % (runtime.name, ", ".join(
                " ".join(version) for version in versions(args.root + runtime.folder))), file=file)
        base = dict(versions(args.root + "/opt/rocm"))
        print("\nThe root is Debian 13 with glibc %s. Debian's ROCr does not register at rocprofiler-register, AMD's "
              "does: for 7.2.4\nthe real librocprofiler-register is called from the place where ROCr would. ROCr 6.4.3 "
              "(`--long`) is built from Debian's\nsource, with its thunk as a library of its own, and registers "
              "itself. What stands for rocprofiler-sdk is loaded by\nrocprofiler-register in both." % base["libc6"],
              file=file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--root")
    parser.add_argument("--source")
    parser.add_argument("--build")
    parser.add_argument("--work")
    parser.add_argument("--column", action="append", default=[])
    parser.add_argument("--only", default="")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--in", dest="runtime")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    if args.list:
        for runtime in RUNTIMES:
            for cell in CELLS:
                if (cell.has(runtime) and not cell.is_long and runtime.name not in LONG_RUNTIMES
                        and cell.name not in LONG_CELLS.get(runtime.name, ())):
                    print("%s/%s" % (runtime.name, cell.name))
        return 0
    folders = dict(column.split("=", 1) for column in args.column)
    runtimes = [runtime for runtime in RUNTIMES if runtime.name in folders]
    for runtime in runtimes:
        runtime.folder = folders[runtime.name]
        runtime.llama = folders.get("llama")
        runtime.torch = folders.get("torch")
        runtime.build_thunk(args.root, args.source, args.work)
    if args.runtime:
        bench = Bench((args.root, args.source, args.build), {r.name: r for r in runtimes}[args.runtime], args.work, 2)
        topology(args.root, 2)
        return subprocess.run(bench.command(args.command, {}), check=False).returncode
    outcomes = {}
    for runtime in runtimes:
        for cell in CELLS:
            name = "%s/%s" % (runtime.name, cell.name)
            if cell.has(runtime) and (args.long or not cell.is_long) and re.search(args.only, name):
                outcomes[runtime.name, cell.name] = run_cell(args, runtime, cell)
    if not outcomes:
        print("runtimes: no cell is called '%s'" % args.only, file=sys.stderr)
        return 2
    print(table(runtimes, outcomes))
    bad = sum(1 for outcome in outcomes.values() if outcome.fault)
    print("\n%d cells, %d not as they must be" % (len(outcomes), bad))
    if args.report:
        report(args.report, args, runtimes, outcomes)
    return 1 if bad else 0


sys.exit(main())
