# SPDX-License-Identifier: MIT
"""Runs a program behind the unit's filter of system calls, and as the same user: filtered.py UNIT
REPORT PROGRAM [ARG...]. For collectors that a user starts: mounts, user and limits are his."""
import os
import sys

import sandbox

if __name__ == "__main__":
    unit, report_path, program = sys.argv[1:4]
    sandbox.execute(sandbox.filter_of(sandbox.read_unit(unit), report_path + ".filter"),
                    sandbox.open_listener(report_path),
                    os.open(program, os.O_RDONLY), sys.argv[3:])
