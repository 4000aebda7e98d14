# SPDX-License-Identifier: MIT
"""hook_gate.py BUILD: what a dispatch costs the thread that submits it, in instructions and clock readings, has a limit.

The loop and the runtime without ROCr are taken off, the front end is in; callgrind's count is the same on
any machine, and differs a little between compilers. A change that needs more says why, here and in
docs/performance.md.
"""
import sys

from bench import Bench
from hook import Hooks

# Measured: 532, and 923 with the synthetic intercept queue itself; and 5 % more.
LIMITS = {"shadow": 560, "intercept": 970}
# A dispatch is rung for once here. A reading is 21 ns and few instructions: the limits above would not see it.
CLOCK_READINGS = 1
# One in a hundred dispatches may have another reason to look.
MORE = 0.01
# The loop alone takes 72: callgrind has seen it, and nothing else.
LOOP = range(40, 140)


def main():
    bench = Bench(sys.argv[1], quick=True)
    with bench.scratch():
        hooks = Hooks(bench)
        cost = {name: hooks.instructions(name) for name in ("none", *LIMITS)}
        readings = {name: hooks.clock_readings(name) for name in LIMITS}
    if int(cost["none"]) not in LOOP:
        return f"the loop takes {cost['none']:.0f} instructions: that is not what is measured here"
    worst = []
    for name, limit in LIMITS.items():
        spent = cost[name] - cost["none"]
        print(f"{name}: {spent:.0f} instructions a dispatch, limit {limit}; "
              f"{readings[name]:.3f} readings of the clock, wanted {CLOCK_READINGS}")
        if not limit / 3 < spent <= limit or abs(readings[name] - CLOCK_READINGS) > MORE:
            worst.append(name)
    return f"out of bounds: {', '.join(worst)}" if worst else 0


if __name__ == "__main__":
    sys.exit(main())
