# SPDX-License-Identifier: MIT
"""check_seen.py DB TOLD: of each process that seen-killer killed, the kernels that it had seen end are stored.

TOLD has a line "pid told point" a process. The first so many of its kernels, by their numbers in its one queue,
may be neither outstanding nor absent.
"""
import sqlite3
import sys


def main():
    db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    stored, lost, instances = {}, {}, {}
    # A thousand processes have some numbers twice: those of one number come in the order of TOLD.
    for process, pid in db.execute("SELECT id, pid FROM rtl_process ORDER BY start_ns"):
        instances.setdefault(pid, []).append(process)
    for process, seq in db.execute(
            "SELECT p.id, o.sequenceId FROM rocpd_op o JOIN rtl_process p ON p.id = o.process_id"
            " JOIN rtl_kernel k ON k.id = o.description_id WHERE k.symbol LIKE '\\_Z4seen%' ESCAPE '\\'"):
        stored.setdefault(process, set()).add(seq)
    for process, seq in db.execute(
            "SELECT p.id, o.sequenceId FROM rtl_outstanding o JOIN rtl_process p ON p.id = o.process_id"):
        lost.setdefault(process, set()).add(seq)
    processes = wrong = told_all = held = 0
    for line in open(sys.argv[2], encoding="ascii"):
        pid, told, point = line.split()
        pid, told = int(pid), int(told)
        process = instances[pid].pop(0) if instances.get(pid) else None
        first_lost = min(lost.get(process, [1 << 62]))
        kept = sum(seq < first_lost for seq in stored.get(process, ()))
        processes, told_all, held = processes + 1, told_all + told, held + (point != "-")
        if kept < told:
            wrong += 1
            print(f"WRONG: process {pid} ({point}): {told} seen to end, {kept} kept")
    print(f"{processes} processes, {held} with the shim's thread held, {told_all} kernels seen to end, "
          f"{sum(map(len, lost.values()))} others outstanding")
    return 1 if wrong or not processes or not told_all or not held else 0


if __name__ == "__main__":
    sys.exit(main())
