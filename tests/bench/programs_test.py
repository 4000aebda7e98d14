# SPDX-License-Identifier: MIT
"""What the figures of whole programs run: each variant does what its name says. No time is judged."""
import csv
import io
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent / "figures"))
from bench import Bench, BenchError  # noqa: E402
from history import ANSWERS, NEWEST, Store, answers  # noqa: E402
from tools import OURS, Tools, processor_s  # noqa: E402

BUILD = sys.argv.pop(1)
DEMO = ["--dispatches", 500]


class Programs(unittest.TestCase):
    def setUp(self):
        self.bench = Bench(BUILD)
        scratch = self.bench.scratch()
        scratch.__enter__()
        self.addCleanup(scratch.__exit__, None, None, None)
        self.tools = Tools(self.bench, SOFTGPU_COUNT=1)
        self.demo = [self.bench.program("rtl-demo", "bin"), *DEMO]

    def recorded(self):
        info = self.bench.identity(self.tools.database)
        front = info["processes"][0]["front_end"] if info["processes"] else None
        return info["dispatched"], info["stored"], front

    def test_what_each_variant_records(self):
        want = {"shadow": (500, 500, "shadow"), "intercept": (500, 500, "intercept"),
                "dormant": (500, 0, "shadow"), "off": (0, 0, None)}
        self.assertEqual(set(want), set(OURS))
        for variant, expected in want.items():
            said, took = self.tools.run(variant, *self.demo, dispatches=500)
            self.assertIn("kernels=500", said)
            self.assertGreater(took, 0)
            self.assertEqual(self.recorded(), expected, variant)

    def test_the_collector_is_in_the_cost(self):
        wall, alone = self.tools.cost("none", *self.demo)
        self.assertGreater(wall, 0)
        self.assertGreater(alone, 0)
        begin = processor_s()
        self.tools.cost("shadow", *self.demo, dispatches=500)
        self.assertGreater(processor_s() - begin, 0)
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)

    def test_another_number_is_refused(self):
        with self.assertRaisesRegex(BenchError, "501 dispatches, and rtl knows .*'stored': 500"):
            self.tools.run("shadow", *self.demo, dispatches=501)

    def test_another_front_end_or_none_is_refused(self):
        self.tools.run("shadow", *self.demo, dispatches=500)
        for variant, why in (("intercept", "its front end is shadow"), ("off", "rtl knows .*'stored': 500"),
                             ("dormant", "rtl knows .*'stored': 500")):
            with self.assertRaisesRegex(BenchError, why):
                self.tools._check(variant, 500)  # pylint: disable=protected-access
        self.tools.run("off", *self.demo, dispatches=500)
        with self.assertRaisesRegex(BenchError, "rtl knows .*'stored': 0"):
            self.tools._check("shadow", 500)  # pylint: disable=protected-access

    def test_the_wrong_device_is_refused(self):
        self.bench.is_soft = False
        self.tools.env["LD_LIBRARY_PATH"] = self.bench.build / "lib/softgpu"
        with self.assertRaisesRegex(BenchError, "on a software GPU: see --device"):
            self.tools.run("shadow", *self.demo)

    def test_the_empty_tool_intercepts(self):
        """rtl does not follow a queue that is already another tool's, and says so."""
        said, _ = self.tools.run("empty", *self.demo)
        self.assertIn("kernels=500", said)
        self.bench.run(self.tools.rtl, "run", "-q", "-f", "-o", self.tools.database, "--", *self.demo,
                       env=self.bench.environment(HSA_TOOLS_LIB=self.tools.empty, SOFTGPU_COUNT=1))
        self.assertEqual(self.bench.identity(self.tools.database)["queues_not_followed"], 1)

    def test_a_history_is_of_sessions(self):
        """Copies with names of their own, each whole, that rtl lists and the collector removes."""
        store = Store(self.bench, 6)
        store.list()
        names = [row["session"] for row in csv.DictReader(io.StringIO(store.said))]
        self.assertEqual(len(set(names)), 6)
        for i in range(5):
            self.assertEqual(self.bench.identity(store.path_of(i))["stored"], 500)
        self.assertGreater(store.life()[f"rtl ls -n {NEWEST}"], 0)
        self.assertEqual(store.closed(), 6)
        other = Store(self.bench, 4)
        self.assertEqual([figure.name.split(":")[0] for figure in answers(self.bench, (other, store), (4, 6))],
                         ["history of 6"] * 3)
        self.assertEqual((other.closed() - 4, store.closed() - 6), (ANSWERS + 1,) * 2)  # of rtl run
        store.retire(2)
        self.assertFalse(store.path_of(1).exists())
        self.assertTrue(store.path_of(2).exists())

    def test_dispatch_cost(self):
        for how, signals in (("cpu", 0), ("cpu", 64), ("wall", 64), ("apart", 64)):
            said, _ = Tools(self.bench, is_strict=False).run(
                "shadow", self.bench.program("dispatch-cost"), 1, how, signals, dispatches=2 * 8192)
            median, least, awake_ns, awake = map(int, said.split())
            self.assertGreaterEqual(median, least)
            self.assertEqual(awake_ns, median if awake else 0)
            dispatched, stored, _ = self.recorded()
            self.assertEqual((dispatched, stored), (2 * 8192, 2 * 8192))


if __name__ == "__main__":
    unittest.main()
