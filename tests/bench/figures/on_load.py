# SPDX-License-Identifier: MIT
"""What the shim adds to hsa_init and to a process's memory, on the software GPU.

tests/bench/on_load.c, in turns without a tool, under rtl run --mode off and recording: the program's own
clock around hsa_init, and what is resident after one kernel, by the kernel's count. guest.on_load holds
OnLoad to a number of instructions and page faults; wall clock times here are those of this machine's load.
"""
from bench import Figure

KIB = 1024


def measure(bench):
    program, db = bench.program("on-load"), bench.folder / "on_load.db"
    record = [bench.build / "bin/rtl", "run", "-q", "-f", "-o", db, "--device=soft"]
    ways = {"alone": [], "off": [*record, "--mode=off", "--"], "recording": [*record, "--"]}
    said = {name: [] for name in ways}

    def once(name, kernels):
        words = bench.run(*ways[name], program, kernels).split()
        said[name].append([int(word) for word in words[:4]])
        return said[name][-1]

    runs = bench.runs * 3
    init = bench.interleaved(
        {name: lambda name=name: once(name, 0)[0] / 1000 for name in ways}, runs)
    added = init["recording"].minus(init["alone"])
    yield Figure("hsa_init, added", added.median, "us", added.low, added.high, "alone",
                 init["alone"].median)
    memory = bench.interleaved(
        {name: lambda name=name: once(name, 1)[1] / KIB for name in ways}, 3)
    bench.identity(db)
    bench.samples["on_load"] = said
    added = memory["recording"].minus(memory["alone"])
    yield Figure("resident memory, added", added.median, "MiB", added.low, added.high, "alone",
                 memory["alone"].median)
