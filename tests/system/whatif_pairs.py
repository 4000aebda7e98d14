#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""whatif_pairs.py RTL DEMO: pairs of recorded runs of rtl-demo on the software GPU, with a cause and without it.
What rtl whatif predicts of the first is held to the step that the second took, within 15 % of the gain or a point.
Two controls must fail that: a replay of the same file without what its packets wait for and complete, and one that
keeps all offsets as recorded, which predicts no gain. RTL_TEST_LONG=1: all pairs, not the first two.

Kernels take a hundred times what softgpu.script says, on a virtual time line, so that it does not matter how fast the
machine is that runs the test. Where the cause is on a host they take ten times as long by the wall clock, for a host
that waits for a GPU must not see its end before it is, and of five runs that with the shortest steps counts, which
other programs disturbed least."""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "workload", "softgpu.script")
FORWARD, BACKWARD, WEIGHTS = "Cijk_Ailk_Bljk_*", "Cijk_Alik_Bljk_*", "Cijk_Ailk_Bjlk_*"
GEMM, COMM, ADAM, ATTENTION = "Cijk_*", "*ncclDevKernel_*", "*multi_tensor_apply*", "*FmhaBwd*"


def kernels():
    """Names and durations of the script, in its order."""
    with open(SCRIPT, encoding="utf-8") as script:
        found = re.findall(r"^kernel (\S+) duration=(\d+)$", script.read(), re.M)
    assert len(found) > 15, found
    return [(name, 100 * int(ns)) for name, ns in found]


def slower(pattern, factor, gpu=None):
    """Script lines by which kernels take longer, on one GPU or on all."""
    at = "" if gpu is None else " gpu=%d" % gpu
    prefix = re.compile(re.escape(pattern).replace(r"\*", ".*"))
    lines = ["kernel %s%s duration=%d" % (name, at, round(ns * factor))
             for name, ns in kernels() if prefix.fullmatch(name) or prefix.fullmatch(name.rstrip("*"))]
    assert lines, pattern
    return lines


def computing(factor, gpu):
    """Nearly all that a GPU computes takes longer on it; communication does not."""
    return sum((slower(kind, factor, gpu) for kind in (GEMM, ADAM, ATTENTION, "*FmhaFwd*", "*vllm*")), [])


class Pair:
    def __init__(self, name, options, cause=(), ranks=3, both=(), demo=(), demo_cause=(), is_host=False):
        self.name, self.options, self.cause, self.ranks, self.both = name, options, list(cause), ranks, list(both)
        self.demo, self.demo_cause = list(demo), list(demo_cause)
        self.is_host = is_host


def slow_gpu(factor, gpu, ranks=3, demo=(), both=()):
    return Pair("GPU %d computes %gx as long%s" % (gpu, factor, "".join(" " + word for word in demo)),
                ["--rank", str(gpu)], computing(factor, gpu), ranks, both, demo)


PAIRS = [
    slow_gpu(1.5, 1),
    Pair("communication takes 4x", ["--transfer", "0.25x"], slower(COMM, 4)),
    slow_gpu(1.2, 1),
    slow_gpu(2, 0),
    slow_gpu(1.1, 2),
    slow_gpu(1.5, 2, ranks=4),
    slow_gpu(1.3, 1, demo=["--layers", "2"]),
    slow_gpu(1.5, 1, demo=["--buckets", "4"]),
    slow_gpu(1.4, 1, demo=["--cause", "exposed-comm"]),
    slow_gpu(1.5, 1, both=computing(1.25, 2)),
    Pair("GEMMs take 2x on GPU 1", ["--kernel", GEMM], slower(GEMM, 2, 1)),
    Pair("GEMMs of weights take 2x on GPU 2", ["--kernel", WEIGHTS], slower(WEIGHTS, 2, 2)),
    Pair("attention takes 4x on GPU 1", ["--kernel", ATTENTION], slower(ATTENTION, 4, 1)),
    Pair("attention takes 4x on GPU 0", ["--rank", "0"], slower(ATTENTION, 4, 0)),
    Pair("the optimizer takes 5x on GPU 0", ["--kernel", ADAM], slower(ADAM, 5, 0)),
    Pair("communication takes 2x", ["--transfer", "0.5x"], slower(COMM, 2)),
    Pair("communication takes 8x", ["--transfer", "0.125x"], slower(COMM, 8)),
    Pair("communication takes 2x, exposed", ["--transfer", "0.5x"], slower(COMM, 2), demo=["--cause", "exposed-comm"]),
    Pair("communication takes 3x in 4 buckets", ["--transfer", "0.3333333x"], slower(COMM, 3), demo=["--buckets", "4"]),
    Pair("communication takes 2x, two ranks", ["--transfer", "0.5x"], slower(COMM, 2), ranks=2),
    Pair("--cause late-rank, its host", ["--host", "1"], demo_cause=["--cause", "late-rank"], is_host=True),
    Pair("--cause late-rank, the rank", ["--rank", "1"], demo_cause=["--cause", "late-rank"], ranks=2, is_host=True),
    Pair("--cause checkpoint, its host", ["--host", "0"], demo_cause=["--cause", "checkpoint"], is_host=True),
    Pair("--cause checkpoint, the rank", ["--rank", "0"], demo_cause=["--cause", "checkpoint"], ranks=2, is_host=True),
]


def record(rtl, demo, folder, name, pair, has_cause):
    path = os.path.join(folder, name + ".db")
    lines = slower("*", 0.1 if pair.is_host else 1) + ["kernel %s meet=ranks" % COMM] + pair.both
    lines += pair.cause if has_cause else []
    script = os.path.join(folder, name + ".script")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("RTL_", "SOFTGPU_"))}
    for place in ("run", "state"):
        os.makedirs(os.path.join(folder, place), mode=0o700, exist_ok=True)
    environment.update(XDG_RUNTIME_DIR=os.path.join(folder, "run"), XDG_STATE_HOME=os.path.join(folder, "state"),
                       TMPDIR=folder, SOFTGPU_SCRIPT=script, SOFTGPU_COUNT=str(pair.ranks), RTL_EXIT_MS="60000",
                       SOFTGPU_REALTIME=str(int(pair.is_host)))
    done = subprocess.run([rtl, "run", "-o", path, "--device", "soft", "--mode", "barriers", "--", demo, "--ranks",
                           str(pair.ranks), "--steps", "10", *pair.demo, *(pair.demo_cause if has_cause else [])],
                          capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0 and done.stderr.splitlines()[-1].startswith("SIMULATED complete: "), done.stderr
    return path


def ask(rtl, path, *options):
    done = subprocess.run([rtl, "whatif", "--json", *options, path], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 4), (done.returncode, done.stderr)
    return json.loads(done.stdout)


def is_right(predicted_pct, truth_pct):
    return abs(predicted_pct - truth_pct) <= max(0.15 * truth_pct, 1)


def without_edges(path):
    """The same recording without what packets and copies complete and wait for; what hosts wait for is in it still."""
    other = path[:-3] + "-apart.db"
    shutil.copy(path, other)
    with sqlite3.connect(other) as file:
        count = file.execute("DELETE FROM rtl_call_base WHERE api_id IN (SELECT id FROM rocpd_string WHERE string IN "
                             "('hsa_barrier_and_packet', 'hsa_amd_memory_async_copy'))").rowcount
    assert count > 100, count
    return other


def check(rtl, demo, folder, pair):
    runs = {kind: [record(rtl, demo, folder, "%s-%d" % (kind, i), pair, kind == "with")
                   for i in range(5 if pair.is_host else 1)] for kind in ("with", "without")}
    shortest = lambda kind: min(((ask(rtl, path, *pair.options), path) for path in runs[kind]),
                                key=lambda answer: answer[0]["step_ns"])
    (said, path), (truth, _) = shortest("with"), shortest("without")
    control = ask(rtl, without_edges(path), *pair.options)
    gain = 100 * (1 - truth["step_ns"] / said["step_ns"])
    predicted = None if said["refused"] else said["predictions"][0]["gain_pct"]
    apart = None if control["refused"] else control["predictions"][0]["gain_pct"]
    is_good = predicted is not None and is_right(predicted, gain)
    apart_fails, kept_fails = apart is None or not is_right(apart, gain), not is_right(0, gain)
    show = lambda value: "refused" if value is None else "%.1f" % value
    print("%-42s %-28s %9.3f %9.3f %7.1f %9s %9s %s" % (
        pair.name, " ".join(pair.options), said["step_ns"] / 1e6, truth["step_ns"] / 1e6, gain, show(predicted),
        show(apart), "right" if is_good else "WRONG: %s" % (said["refused"] or "")), flush=True)
    # Without the edges between queues a host that comes late still holds all of its queues back.
    is_held = kept_fails and (apart_fails or pair.is_host)
    if not is_held:
        print("    a control passes: without edges %s, kept offsets 0, of %.1f" % (show(apart), gain))
    return is_good, is_held, apart_fails


def main():
    rtl, demo = sys.argv[1:3]
    pairs = PAIRS if os.environ.get("RTL_TEST_LONG") else PAIRS[:2]
    print("%-42s %-28s %9s %9s %7s %9s %9s" % ("PAIR", "ASKED", "WITH ms", "WITHOUT", "GAIN %", "PREDICTED", "NO EDGES"))
    results = []
    for pair in pairs:
        with tempfile.TemporaryDirectory() as folder:
            results.append(check(rtl, demo, folder, pair))
    good, held, apart = (sum(result[i] for result in results) for i in range(3))
    print("%d of %d pairs predicted; the controls fail %d; the one without edges %d" % (
        good, len(pairs), held, apart))
    assert good == held == len(pairs)


if __name__ == "__main__":
    main()
