# SPDX-License-Identifier: MIT
"""The shim loaded and not recording: instructions of the submitting thread over no tool.

`off` is RTL_MODE=off, which installs nothing; `dormant` waits for rtl ctl start, its queues followed and
every packet counted. Waits: how often threads of the shim came out of one while the program submitted.
"""
from bench import Figure
from hook import Hooks


def measure(bench):
    hooks = Hooks(bench)
    cost = {name: hooks.instructions(name) for name in ("none", "off", "dormant")}
    bench.samples["instructions"] = cost
    yield Figure("capture off", cost["off"], "instructions", baseline="no tool",
                 baseline_value=cost["none"], ratio=cost["off"] / cost["none"] - 1, goal="<= 0.01",
                 note="of a dispatch without any runtime's own cost")
    said = hooks.run("off", 50)
    yield Figure("capture off, waits of its threads", said["switches"], "waits", baseline="threads",
                 baseline_value=said["threads"], goal="= 0")
    yield Figure("dormant", cost["dormant"] - cost["none"], "instructions", baseline="no tool",
                 baseline_value=cost["none"])
    said = hooks.run("dormant", 50)
    yield Figure("dormant, waits of its threads", said["switches"], "waits", baseline="threads",
                 baseline_value=said["threads"])
