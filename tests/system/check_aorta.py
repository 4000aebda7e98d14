#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""AORTA's metrics of a database: check_aorta.py TIMELINE FOLDER.

TIMELINE is what `rtl timeline --json --segments` says: each line has the figures of its row. What overlap_report.py
reads is there, and summary.json is what that makes of it."""
import json
import math
import pathlib
import re
import sys


def known_or_0(value):
    """AORTA has no null: where the times of copies are unknown, it has 0."""
    return {k: v or 0.0 for k, v in value.items()} if isinstance(value, dict) else value


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = {(r["rank"], r["gpuId"], r["step"]): r for r in json.load(file)["rows"]
                if r["step"] is not None and r["rank"] is not None}
    sums = dict.fromkeys(("loss", "overlap", "compute", "allreduce", "reducescatter"), 0.0)
    count = known = 0
    for path in sorted(pathlib.Path(sys.argv[2]).glob("rank_*_metrics.jsonl")):
        # As overlap_report.py takes it.
        rank = int(path.stem.split("_")[1])
        assert re.fullmatch(r"rank_\d\d+(_p\d+_gpu\d+)?_metrics.jsonl", path.name)
        for line in path.read_text(encoding="utf-8").splitlines():
            payload = json.loads(line)
            assert payload["rank"] == rank and payload["global_step"] == payload["step"]
            assert isinstance(payload["loss"], float) and isinstance(payload["epoch"], int)
            row = rows.pop((rank, payload["rtl"]["gpuId"], payload["step"]))
            profile = payload["profile"]
            overlap = profile["overlap"]
            for key in ("per_stream_ms", "overlap_ms", "utilization", "active_segments", "total_ms"):
                assert overlap[key] == known_or_0(row[key]), (key, payload["step"])
            assert profile["total_ms"] == row["total_ms"] and profile["ranges"] == profile["markers"] == []
            sums["loss"] += payload["loss"]
            sums["overlap"] += overlap["overlap_ms"].get("compute_comm", 0.0)
            sums["compute"] += overlap["per_stream_ms"].get("compute", 0.0)
            sums["allreduce"] += overlap["overlap_ms"].get("compute_allreduce", 0.0)
            sums["reducescatter"] += overlap["overlap_ms"].get("compute_reducescatter", 0.0)
            count += 1
            known += payload["rtl"]["loss_known"]
            assert payload["rtl"]["loss_known"] or payload["loss"] == 0.0
    assert not rows, "a step is missing"
    summary = json.loads((pathlib.Path(sys.argv[2]) / "summary.json").read_text(encoding="utf-8"))
    means, = summary["datasets"].values()
    wanted = {"count": count}
    if count:
        wanted.update(mean_loss=sums["loss"] / count, mean_overlap_ms=sums["overlap"] / count,
                      mean_compute_ms=sums["compute"] / count, mean_allreduce_overlap_ms=sums["allreduce"] / count,
                      mean_reducescatter_overlap_ms=sums["reducescatter"] / count,
                      overlap_ratio=sums["overlap"] / sums["compute"] if sums["compute"] else 0.0)
    assert means.keys() == wanted.keys()
    assert all(math.isclose(means[key], wanted[key], rel_tol=1e-9, abs_tol=1e-12) for key in wanted), (means, wanted)
    print(f"steps {count}, losses {known}")


main()
