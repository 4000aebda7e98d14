# SPDX-License-Identifier: MIT
"""hook_gate.py BUILD: what a dispatch costs the thread that submits it, in instructions and clock readings, has a limit.

The loop and the runtime without ROCr are taken off, the front end is in; callgrind's count is the same on
any machine, and differs a little between compilers. A change that needs more says why, here and in
docs/performance.md.
"""
import pathlib
import sys

from bench import Bench
from hook import Hooks


# shim/base/tsc_clock.c: the counter itself, and the counter along a hypervisor's line.
COUNTERS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page")


def is_counter():
    source = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return source.exists() and source.read_text().strip() in COUNTERS


# Measured: 482 alone, 486 and a little more beside other tests (463 to 466 before ADR 0001), and 827 to 830 with the
# synthetic intercept queue itself. Of these, 20 ask for the cache lines of the next dispatch (dispatch_ahead), which takes
# more instructions and less time.
LIMITS = {"shadow": 496, "intercept": 868}
# A reading is 21 ns and few instructions: the limits above would not see it. Where the clock is the processor's
# counter it is asked a few times in four milliseconds, which are a hundred dispatches here; else once a dispatch.
CLOCK_READINGS = 0.3 if is_counter() else 1.01
# The loop alone takes 72: callgrind has seen it, and nothing else.
LOOP = range(40, 140)


def main():
    bench = Bench(sys.argv[1])
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
              f"{readings[name]:.3f} readings of the clock, limit {CLOCK_READINGS}")
        if not limit / 3 < spent <= limit or readings[name] > CLOCK_READINGS:
            worst.append(name)
    return f"out of bounds: {', '.join(worst)}" if worst else 0


if __name__ == "__main__":
    sys.exit(main())
