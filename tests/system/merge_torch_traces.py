#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""merge_torch_traces.py tracefuse|aorta FILE...: the traces of rank 0, 1, ... as one, in the shape in which
TraceLens's TraceFuse or AORTA's merge_gpu_trace_ranks.py write it."""
import json
import sys

STRIDE = {"id": 1000, "pid": 100000, "correlation": 1000}


def tracefuse(event, rank):
    args = event.setdefault("args", {})
    args["rank"] = rank
    for field, stride in STRIDE.items():
        where = args if field == "correlation" else event
        if field in where:
            args[field + "_raw"] = where[field]
            where[field] += rank * stride
    return event


def aorta(event, rank):
    is_gpu = event["cat"] == "kernel"
    event["pid"] = rank * 1000 + (0 if is_gpu else 500)
    event["tid"] = 0
    event.setdefault("args", {})["rank"] = rank
    event["name"] = f"[R{rank}] {event['name']}"
    return event


def main():
    how = {"tracefuse": tracefuse, "aorta": aorta}[sys.argv[1]]
    merged = [how(event, rank) for rank, name in enumerate(sys.argv[2:])
              for event in json.load(open(name))["traceEvents"]]
    json.dump({"traceEvents": merged}, sys.stdout)


if __name__ == "__main__":
    main()
