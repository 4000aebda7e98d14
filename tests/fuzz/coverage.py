#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which lines of what strangers' bytes pass through the fuzz targets reach: coverage.py PROGRAMS
[--seconds N] [--missed FILE], with programs of the preset fuzz-coverage. Runs the corpus, then N
seconds of new inputs, of each target; --missed shows the lines of FILE that none has reached."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What reads a stranger's bytes: frames, recorders, requests, files, options.
PARSERS = {
    "proto": "choice collectives completeness control copies counters frame host_calls msg variable",
    "collectord": "admit aside config control control_memory ctl database defines drain "
                  "drain_events index ingest ingest_calls ingest_copies ingest_markers intern "
                  "ledger limit_options metric migrate peer process process_clock recorder_books "
                  "recorder_reader recover requests runner session_file shim_peer text tool wal",
    "cli": "category_file html query query_file render_text"}


def files():
    return [os.path.join(ROOT, folder, name + ".c")
            for folder, names in PARSERS.items() for name in names.split()]


def targets():
    with open(os.path.join(HERE, "targets.txt"), encoding="ascii") as file:
        for line in file.read().splitlines():
            name, words = line.split(": ")
            yield name, words.split()


def run(programs, work, seconds):
    """Raw profiles of all targets."""
    for name, (program, *options) in targets():
        found = os.path.join(work, name)
        os.mkdir(found)
        for how in (["-runs=0"], ["-max_total_time=%d" % seconds]) if seconds else (["-runs=0"],):
            done = subprocess.run(
                [os.path.join(programs, "fuzz_" + program), *options, *how, "-verbosity=0",
                 "-dict=" + os.path.join(HERE, "rtl.dict"), "-max_len=65536", "-timeout=60",
                 "-artifact_prefix=crash-%s-" % name, found, os.path.join(HERE, "corpus", name)],
                env={**os.environ, "LLVM_PROFILE_FILE": "%s/%s%%m-%%p.profraw" % (work, name)},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit("%s ended with %d: %s" % (name, done.returncode, done.stderr[-3000:]))


def show(programs, work, missed):
    merged = os.path.join(work, "all.profdata")
    raw = [os.path.join(work, name) for name in os.listdir(work) if name.endswith(".profraw")]
    subprocess.run(["llvm-profdata-14", "merge", "-sparse", "-o", merged, *raw], check=True)
    names = sorted({program for _, (program, *_) in targets()})
    objects = [os.path.join(programs, "fuzz_" + name) for name in names]
    objects = objects[:1] + [word for name in objects[1:] for word in ("-object", name)]
    if missed:
        text = subprocess.run(["llvm-cov-14", "show", *objects, "-instr-profile", merged,
                               os.path.join(ROOT, missed)], check=True, capture_output=True,
                              text=True).stdout
        print("\n".join(line for line in text.splitlines() if line.split("|")[1:2] and
                        line.split("|")[1].strip() == "0"))
        return
    said = json.loads(subprocess.run(
        ["llvm-cov-14", "export", "-summary-only", *objects, "-instr-profile", merged, *files()],
        check=True, capture_output=True, text=True).stdout)
    total = [0, 0]
    print("| file | lines | reached |\n|---|---|---|")
    for file in sorted(said["data"][0]["files"], key=lambda f: f["filename"]):
        lines = file["summary"]["lines"]
        total = [total[0] + lines["count"], total[1] + lines["covered"]]
        print("| `%s` | %d | %.0f %% |" % (os.path.relpath(file["filename"], ROOT),
                                          lines["count"], lines["percent"]))
    print("| all | %d | %.1f %% |" % (total[0], 100 * total[1] / total[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        run(os.path.abspath(options.programs), work, options.seconds)
        show(os.path.abspath(options.programs), work, options.missed)


main()
