# SPDX-License-Identifier: MIT
"""look_gate.py BUILD: what a wait or a load costs the program's thread beside the runtime's, in instructions.

callgrind's count, as in hook_gate.py. A wait that was met, and a load below 1, take a look at what has ended
(shim/capture/ends.h): so much, and so much for each dispatch that is looked at. Any other load takes next to nothing.
"""
import sys

from bench import Bench

# HIP has at most four queues a GPU, and a few of its own.
QUEUES = 8
TIMES = 5000
# Measured with GCC 12: 732, 72, 9.
LOOK, SLOT, LOAD = 1000, 90, 10


def main():
    bench = Bench(sys.argv[1])
    with bench.scratch():
        program = bench.program("look-cost")

        def cost(functions, slots=0, loads=0):
            return bench.callgrind([program, QUEUES, slots, loads], functions, bench.environment())

        look = cost(["look_once"])
        slot = (cost(["look_once"], slots=TIMES) - look) / TIMES
        # What comes once is the same in both.
        load = (cost(["load_often"], loads=TIMES) - cost(["load_plainly"], loads=TIMES)) / TIMES
    print(f"a look at {QUEUES} queues: {look} instructions, limit {LOOK}; a dispatch that has ended: {slot:.1f}, limit "
          f"{SLOT}; a load that cannot be an end: {load:.1f} more, limit {LOAD}")
    wrong = look > LOOK or not SLOT / 9 < slot <= SLOT or not 0 < load <= LOAD
    return "out of bounds" if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
