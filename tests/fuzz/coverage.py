#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which lines of what strangers' bytes pass through the fuzz targets reach: coverage.py PROGRAMS
[--seconds N] [--missed FILE] [TARGET...], with programs of the preset fuzz-coverage. Runs the corpus
and the edges, then N seconds of new inputs, of each target. Two tables: each target with the files it is meant for,
each file with what all targets reach; --missed: the lines of FILE that none has reached."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What reads a stranger's bytes: frames, recorders, requests, files, options.
PARSERS = {
    "cli/base": "escape",
    "cli/database": "file query query_pages",
    "cli/output": "html table",
    "cli/trace/kernels": "category_file",
    "collectord/catalog": "index",
    "collectord/db": "damaged_file database migrate wal",
    "collectord/db/rows": "intern text",
    "collectord/ingest": "call_arguments calls copies ingest markers step_metrics",
    "collectord/ingest/completeness": "ledger losses",
    "collectord/ingest/process": "definitions process process_clock recording_intervals "
                                 "tick_conversion",
    "collectord/loop": "shim_peer",
    "collectord/loop/connections": "peer peer_limits",
    "collectord/loop/sessions": "admission control_memory recording_control runner",
    "collectord/loop/tools": "ctl queries",
    "collectord/recorder": "counters drain drain_events drain_slots reader",
    "collectord/service": "config limit_options",
    "collectord/store": "open_session",
    "collectord/store/thread": "recover",
    "proto/names": "collectives completeness control copies counters",
    "proto/settings": "config_file environment selection",
    "proto/wire": "frame msg"}
# What a target is there for; what else it reaches is the others' merit.
MEANT = {
    "frames": "proto/wire/frame proto/wire/msg",
    "defines": "collectord/ingest/process/definitions collectord/db/rows/intern "
               "collectord/ingest/process/recording_intervals",
    "dispatches": "collectord/ingest/ingest collectord/ingest/process/process_clock",
    "markers": "collectord/ingest/markers collectord/ingest/step_metrics",
    "counters": "collectord/ingest/completeness/ledger collectord/ingest/completeness/losses",
    "anchors": "collectord/ingest/process/process_clock collectord/ingest/process/tick_conversion",
    "copies": "collectord/ingest/copies proto/names/copies",
    "host_calls": "collectord/ingest/calls collectord/ingest/call_arguments",
    "collectives": "collectord/ingest/calls proto/names/collectives",
    "recorder": "collectord/recorder/drain collectord/recorder/drain_events "
                "collectord/recorder/drain_slots collectord/recorder/counters "
                "collectord/recorder/reader",
    "peers": "collectord/loop/connections/peer collectord/loop/shim_peer "
             "collectord/loop/tools/queries collectord/loop/sessions/runner",
    "sessions": "collectord/ingest/process/process collectord/store/open_session "
                "collectord/store/session_row collectord/db/database",
    "hello": "collectord/loop/sessions/admission collectord/loop/shim_peer "
             "collectord/ingest/process/process",
    "requests": "collectord/loop/tools/ctl collectord/loop/sessions/runner "
                "collectord/loop/tools/queries",
    "settings": "cli/trace/kernels/category_file collectord/service/config "
                "collectord/loop/sessions/control_memory collectord/service/limit_options "
                "proto/settings/selection proto/settings/environment",
    "config": "proto/settings/config_file",
    "texts": "cli/output/html cli/output/table cli/base/escape collectord/ingest/step_metrics "
             "collectord/db/rows/text",
    "database": "collectord/db/damaged_file collectord/catalog/index collectord/db/migrate "
                "collectord/store/thread/recover collectord/store/open_session "
                "collectord/store/session_row collectord/db/wal",
    "readers": "cli/database/query cli/database/file",
    "pages": "cli/database/query cli/database/query_pages"}


def files():
    return [os.path.join(folder, name + ".c")
            for folder, names in PARSERS.items() for name in names.split()]


def targets():
    with open(os.path.join(HERE, "targets.txt"), encoding="ascii") as file:
        for line in file.read().splitlines():
            name, words = line.split(": ")
            yield name, words.split()


def run(programs, work, seconds, wanted):
    """Raw profiles of all targets, one folder each."""
    for name, (program, *options) in targets():
        if wanted and name not in wanted:
            continue
        found, raw = os.path.join(work, "found-" + name), os.path.join(work, name)
        os.mkdir(found)
        edges = []
        if program in ("records", "first", "recorder", "frames"):
            edges = [os.path.join(work, "edges-" + name)]
            os.mkdir(edges[0])
            subprocess.run([sys.executable, os.path.join(HERE, "edges.py"), name, *edges], check=True)
        for how in (["-runs=0"], ["-max_total_time=%d" % seconds]) if seconds else (["-runs=0"],):
            done = subprocess.run(
                [os.path.join(programs, "fuzz_" + program), *options, *how, "-verbosity=0",
                 "-dict=" + os.path.join(HERE, "rtl.dict"), "-max_len=65536", "-timeout=60",
                 "-artifact_prefix=crash-%s-" % name, found, os.path.join(HERE, "corpus", name),
                 *edges],
                env={**os.environ, "LLVM_PROFILE_FILE": raw + "/%m-%p.profraw"},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit("%s ended with %d: %s" % (name, done.returncode, done.stderr[-3000:]))


def merge(work, names, into):
    raw = [os.path.join(work, name, file) for name in names
           for file in os.listdir(os.path.join(work, name)) if file.endswith(".profraw")]
    merged = os.path.join(work, into + ".profdata")
    subprocess.run(["llvm-profdata-14", "merge", "-sparse", "-o", merged, *raw], check=True)
    return merged


def objects(programs, names):
    paths = [os.path.join(programs, "fuzz_" + name) for name in sorted(set(names))]
    return paths[:1] + [word for path in paths[1:] for word in ("-object", path)]


def lines_of(programs, names, profile, paths):
    """{file: (lines, reached)} of @paths, below ROOT."""
    said = json.loads(subprocess.run(
        ["llvm-cov-14", "export", "-summary-only", *objects(programs, names), "-instr-profile",
         profile], check=True, capture_output=True, text=True).stdout)
    # A compiler's cache may have made names relative to where it ran.
    ran_in = os.path.dirname(os.path.dirname(programs))
    found = {os.path.relpath(os.path.join(ran_in, file["filename"]), ROOT): file["summary"]["lines"]
             for file in said["data"][0]["files"]}
    missing = [path for path in paths if path not in found]
    if missing:
        sys.exit("not in %s: %s" % (" ".join(names), " ".join(missing)))
    return {path: (found[path]["count"], found[path]["covered"]) for path in paths}


def row(name, lines, reached):
    print("| %s | %d | %.0f %% |" % (name, lines, 100 * reached / lines))


def show(programs, work, wanted, missed):
    ran = [(name, program) for name, (program, *_) in targets() if not wanted or name in wanted]
    merged = merge(work, [name for name, _ in ran], "all")
    names = [program for _, program in ran]
    if missed:
        text = subprocess.run(["llvm-cov-14", "show", *objects(programs, names), "-instr-profile",
                               merged], check=True, capture_output=True, text=True,
                              cwd=os.path.dirname(os.path.dirname(programs))).stdout
        part = re.search(r"^\S*/%s:\n(.*?)(?=^\S|\Z)" % re.escape(missed), text, re.M | re.S)
        print("\n".join(line for line in part.group(1).splitlines() if
                        line.split("|")[1:2] and line.split("|")[1].strip() == "0"))
        return
    print("| target | lines meant for it | reached |\n|---|---|---|")
    for name, program in ran:
        said = lines_of(programs, [program], merge(work, [name], name),
                        [path + ".c" for path in MEANT[name].split()])
        row("`%s`" % name, *(sum(counts) for counts in zip(*said.values())))
    print("\n| file | lines | reached |\n|---|---|---|")
    said = lines_of(programs, names, merged, files())
    for file in sorted(said):
        row("`%s`" % file, *said[file])
    row("all", *(sum(counts) for counts in zip(*said.values())))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--missed")
    options = parser.parse_args()
    programs = os.path.abspath(options.programs)
    with tempfile.TemporaryDirectory() as work:
        run(programs, work, options.seconds, options.targets)
        show(programs, work, options.targets, options.missed)


main()
