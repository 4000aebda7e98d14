#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""replaced.py RTL: which kernels take the place of others in rtl diff, of simulated jobs that launch other
kernels at the same sites."""
import json
import os
import subprocess
import sys
import tempfile

from jobs import ADAM, ADD, ATTENTION, GEMM, NORM, US, Job

TUNED, FUSED, SPLIT = "Cijk_tuned_MT128x128x64", "triton_poi_fused_add_norm_0", "gemm_split_k_reduce(float*)"
SAME = {name: ((name, 1),) for name in (GEMM, ATTENTION, NORM, ADD, ADAM)}


def program(layers):
    """@layers(layer): what is launched for a name, as (name, times as long)."""
    lengths = {GEMM: 400, ATTENTION: 200, NORM: 30, ADD: 20, ADAM: 300}

    def run(rank):
        for step in range(8):
            rank.step(step)
            for layer in range(4):
                put = lambda name, at=layer: [rank.kernel(new, lengths[name] * US * ratio)
                                              for new, ratio in (SAME | layers(at))[name]]
                for name in (ATTENTION, GEMM, NORM, ADD, ATTENTION):
                    put(name)
                yield from rank.collective(rank.job.world, "ncclAllReduce", 50 * US, 8 << 20)
            put(ADAM)
            rank.synchronize()
    return run


def make(folder, name, layers):
    path = os.path.join(folder, name + ".db")
    Job(2, seed=len(name)).run(program(layers)).store(path)
    return path


def compare(rtl, before, after, status=0, options=()):
    done = subprocess.run([rtl, "diff", "--json", *options, before, after], capture_output=True, text=True, check=False)
    assert done.returncode == status, (status, done.returncode, done.stderr, done.stdout[-600:])
    return json.loads(done.stdout)["comparisons"][0]


def pairs(diff):
    return {(row["name"], row["replaced_by"]) for row in diff["replaced"]}


def main():
    rtl = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        same = make(folder, "same", lambda layer: {})
        # One for one, 1.2x as long.
        slower = make(folder, "slower", lambda layer: {GEMM: ((TUNED, 1.2),)})
        diff = compare(rtl, same, slower)
        assert pairs(diff) == {(GEMM, TUNED)}, diff["replaced"]
        row = diff["replaced"][0]
        assert abs(row["ratio"] - 1.2) < 0.01 and row["reference_calls"] == row["candidate_calls"] == 64, row
        # Of 64 launches in two ranks' 8 steps, and one that is begun.
        assert abs(row["candidate_of_step_ns"] - 64 * 1.2 * 400 * US / 18) < 0.02 * 1700 * US, row
        assert "which %s replaces" % TUNED in diff["reading"], diff["reading"]
        # It has not grown from nothing: 20 % are over 5, and under 50.
        assert compare(rtl, same, slower, 5, ("--threshold", "kernel=5"))["replaced"][0]["regression"]
        assert not compare(rtl, same, slower, 0, ("--threshold", "kernel=50"))["regression"]
        # Two for one, and one for two.
        fused = make(folder, "fused", lambda layer: {NORM: ((FUSED, 1),), ADD: ()})
        assert pairs(compare(rtl, same, fused)) == {(NORM + " + " + ADD, FUSED)}
        assert pairs(compare(rtl, fused, same)) == {(FUSED, NORM + " + " + ADD)}
        # Two beside each other, each for one.
        both = make(folder, "both", lambda layer: {GEMM: ((TUNED, 1),), NORM: ((FUSED, 1),)})
        assert pairs(compare(rtl, same, both)) == {(GEMM, TUNED), (NORM, FUSED)}
        # Nothing takes the place of what is gone, and what is new stands elsewhere.
        gone = make(folder, "gone", lambda layer: {NORM: (), ADAM: ((ADAM, 1), (SPLIT, 1))})
        assert not pairs(compare(rtl, same, gone))
        assert not pairs(compare(rtl, same, make(folder, "again", lambda layer: {})))
        # Now this, now that at the same site: what replaces it is not told.
        mixed = make(folder, "mixed", lambda layer: {GEMM: ((TUNED if layer % 2 else SPLIT, 1),)})
        assert not pairs(compare(rtl, same, mixed)), pairs(compare(rtl, same, mixed))
    print("ok")


if __name__ == "__main__":
    main()
