#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""whatif.py RTL: what rtl whatif predicts of simulated jobs with a cause, held to the same jobs simulated
without it. RTL_TEST_LONG=1: three seeds of each."""
import json
import os
import subprocess
import sys
import tempfile

from jobs import ATTENTION, GEMM, MS, NORM, US, HipRank, Job, Rank
from reasons import (FAULTS, HEALTHY, data_parallel, from_storage, in_turn, late, sharded, slow, store,
                     tensor_parallel, two_streams)


def step_ns(job):
    """Mean length of a step, from the second on, of each rank from the end of what it did before; without
    steps of the run."""
    lengths = []
    for rank in job.ranks:
        ends = {}
        for kernel in rank.kernels:
            ends[kernel[6]] = max(ends.get(kernel[6], 0), kernel[3] + kernel[4])
        steps = sorted(ends)
        first = ends[steps[0]] if len(steps) > 1 else min(kernel[3] for kernel in rank.kernels)
        lengths.append((ends[steps[-1]] - first) / max(1, len(steps) - 1))
    return sum(lengths) / len(lengths)


def simulate(ranks, seed, program, spoil=None, rank_type=HipRank, **settings):
    job = Job(ranks, seed=seed, rank_type=rank_type, **settings)
    if spoil:
        spoil(job)
    return job.run(program)


def ask(rtl, job, folder, *options, status=0, change=""):
    path = store(job, folder, change)
    done = subprocess.run([rtl, "whatif", "--json", *options, path], capture_output=True, text=True, check=False)
    assert done.returncode == status, (options, done.returncode, done.stderr)
    assert len(done.stderr.splitlines()) == bool(status), done.stderr
    return json.loads(done.stdout) if status != 1 else None


def is_right(predicted_pct, truth_pct):
    """Within 15 % of the truth, or a point."""
    return abs(predicted_pct - truth_pct) <= max(0.15 * truth_pct, 1)


def check(rtl, folder, name, job, mended, *options):
    """The prediction is what the job gains where it is simulated without the cause."""
    said = ask(rtl, job, folder, *options)
    truth = 100 * (1 - step_ns(mended) / step_ns(job))
    predicted = said["predictions"][0]["gain_pct"]
    print("%s, %s: %.1f %%, of %.1f %%" % (name, " ".join(options), predicted, truth))
    assert is_right(predicted, truth), (name, options, truth, predicted)
    assert not job.steps or abs(said["step_ns"] / step_ns(job) - 1) < 0.01, (name, said["step_ns"], step_ns(job))
    # The negative control: a replay that keeps the offsets of the recording predicts no gain, and fails this test.
    assert not is_right(0, truth), (name, truth)


def with_transfers(factor):
    class Other(HipRank):
        def meet(self, key, ranks, op, comm, ns, *more, **others):
            return (yield from super().meet(key, ranks, op, comm, ns * factor, *more, **others))
    return Other


def check_causes(rtl, folder, seed):
    for name, ranks, program, spoil, at_fault, cause, settings in FAULTS:
        bad, good = program if isinstance(program, tuple) else (program, program)
        job, mended = simulate(ranks, seed, bad, spoil, **settings), simulate(ranks, seed, good, **settings)
        if cause == "transfer":
            check(rtl, folder, name, job, mended, "--comm", "3002")
        elif len(at_fault) == 1:
            check(rtl, folder, name, job, mended, "--rank", str(at_fault[0]))
            if cause == "host":
                check(rtl, folder, name, job, mended, "--host", str(at_fault[0]))
    # Of two at fault each leaves the other.
    job = simulate(8, seed, data_parallel(), lambda job: (slow(2, 1.25)(job), slow(6, 1.15)(job)))
    check(rtl, folder, "two slow GPUs", job, simulate(8, seed, data_parallel(), slow(6, 1.15)), "--rank", "2")
    job, other = simulate(8, seed, data_parallel(in_turn)), late(2, 4 * MS, 1)
    mended = simulate(8, seed, data_parallel(lambda rank, step: other(rank, step) if step % 2 else None))
    check(rtl, folder, "late hosts in turn", job, mended, "--host", "6")
    job = simulate(8, seed, sharded(), lambda job: setattr(
        job.ranks[3], "slow", lambda name, at: 1.8 if name == ATTENTION else 1.0))
    check(rtl, folder, "a slow kernel", job, simulate(8, seed, sharded()), "--kernel", "*FmhaFwd*")
    job, mended = (simulate(8, seed, tensor_parallel(), rank_type=kind) for kind in (HipRank, with_transfers(0.5)))
    check(rtl, folder, "transfers", job, mended, "--transfer", "0.5x")
    job, mended = (simulate(8, seed, tensor_parallel(), rank_type=kind) for kind in (with_transfers(0.5), HipRank))
    assert ask(rtl, job, folder, "--transfer", "2x")["predictions"][0]["gain_pct"] < -3
    job = simulate(8, seed, data_parallel(late(0, 200 * US)))
    check(rtl, folder, "a rank that logs", job, simulate(8, seed, data_parallel()), "--rank", "0")


def check_healthy(rtl, folder, seed):
    """No rank of a healthy job gains by being as the others, whichever it is."""
    for name, ranks, program, settings in HEALTHY:
        if name in ("a rank that logs", "chips apart by 1 %", "lengths that vary"):
            continue  # there is something to be gained
        said = ask(rtl, simulate(ranks, seed, program, **settings), folder)
        assert len(said["predictions"]) == ranks, said["predictions"]
        gains = [prediction["gain_pct"] for prediction in said["predictions"]]
        assert gains == sorted(gains, reverse=True) and -1 < gains[-1] and gains[0] < 1, (name, seed, gains)
    # What is in the slack costs nothing: batches come when they come, as fast as the slow rank is.
    job, mended = simulate(8, seed, from_storage, slow(3, 1.3)), simulate(8, seed, from_storage)
    assert abs(1 - step_ns(mended) / step_ns(job)) < 0.01
    said = ask(rtl, job, folder)
    assert said["paced"] and all(abs(row["gain_pct"]) < 1 for row in said["predictions"]), (seed, said)


def ahead(rank):
    """One stream, and a host that never waits and is far ahead."""
    rank.LAUNCH = 500
    for step in range(6):
        rank.step(step)
        for _ in range(20):
            rank.kernel(GEMM, 60 * US)
            done = rank.kernel(NORM, 40 * US)
        yield from rank.collective(rank.job.world, "ncclAllReduce", 15 * US, 64 << 10, "compute", (done,))


def alone(rank):
    for step in range(4):
        rank.step(step)
        rank.kernel(GEMM, 60 * US)
        rank.synchronize()
    yield from ()


def check_refusals(rtl, folder):
    """What was not recorded is not guessed: status 4, and one line that says why."""
    refused = lambda job, *options, **more: ask(rtl, job, folder, *options, status=4, **more)["refused"]
    job = simulate(8, 1, data_parallel(late(4, 3 * MS)), rank_type=Rank)
    assert "used 3 queues, and neither host calls nor barrier packets" in refused(job)
    # A replay without the edges between queues has nothing that explains when kernels start.
    job = simulate(8, 1, two_streams(3 * MS))
    said = refused(job, change="DELETE FROM rtl_call_base WHERE api_id = "
                   "(SELECT id FROM rocpd_string WHERE string = 'hipStreamWaitEvent')")
    assert "delay that nothing recorded explains" in said, said
    # Without host calls a rank of one queue needs none, unless it is its host that decides.
    job = simulate(4, 1, ahead, slow(2, 1.3), rank_type=Rank)
    said = ask(rtl, job, folder, "--rank", "2")
    truth = 100 * (1 - step_ns(simulate(4, 1, ahead, rank_type=Rank)) / step_ns(job))
    assert said["either_way"] and is_right(said["predictions"][0]["gain_pct"], truth) and truth > 10, (said, truth)
    job = simulate(8, 1, tensor_parallel(), slow(2, 1.2), rank_type=Rank)
    assert "whether hosts wait for their GPUs was not recorded" in refused(job, "--rank", "2")
    assert "nothing else does the same work" in refused(simulate(1, 1, alone))
    job = simulate(2, 1, alone)
    assert "no kernel has a time" in refused(job, change="UPDATE rtl_dispatch SET start = NULL")
    for options in ("--rank", "9"), ("--host", "9"), ("--kernel", "none*"), ("--comm", "abc"):
        ask(rtl, job, folder, *options, status=1)


def main():
    rtl, is_long = sys.argv[1], bool(os.environ.get("RTL_TEST_LONG"))
    with tempfile.TemporaryDirectory() as folder:
        check_refusals(rtl, folder)
        for seed in range(1, 4 if is_long else 2):
            check_causes(rtl, folder, seed)
            check_healthy(rtl, folder, seed)
    print("ok")


if __name__ == "__main__":
    main()
