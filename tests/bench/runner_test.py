# SPDX-License-Identifier: MIT
"""The runner itself, with figures that measure nothing much: what it prints, writes and returns."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from bench import Bench, BenchError, Figure, PeerError, Turns, compare_added, reaches  # noqa: E402
from hook import Hooks, alone_note  # noqa: E402

RUN = pathlib.Path(__file__).resolve().parent / "run"
TINY = '''"""Counts to a number.\n\nAgainst twice that."""
from bench import Figure
def measure(bench):
    turns = bench.interleaved({"ours": lambda: 2, "base": lambda: 4})
    ratio = turns["ours"].over(turns["base"])
    yield Figure("tiny", turns["ours"].median, "steps", ratio.low, ratio.high, "twice", 4, ratio.median, GOAL)
    yield bench.needs_peer("tiny against the peer", "steps", "<= 0.25")
'''
BROKEN = '''"""Fails half-way."""
from bench import BenchError, Figure
def measure(bench):
    yield Figure("before", 1, "steps")
    raise BenchError("the reason")
'''


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.put("tiny", TINY.replace("GOAL", "'<= 0.5', '<= 0.5'"))

    def put(self, name, text):
        (self.folder / f"{name}.py").write_text(text)

    def run_it(self, *words, status=0):
        done = subprocess.run([sys.executable, RUN, "--build", self.folder, "--figures", self.folder,
                               "--runs", "2", *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def test_table_and_json(self):
        out = self.run_it("--json", str(self.folder / "out.json")).stdout.splitlines()
        self.assertEqual(out[0].split("  ")[0], "figure")
        self.assertRegex(out[1], r"^tiny +2 steps +twice: 4 +0.5 \[0.5-0.5\] +<= 0.5 +yes \(stretch")
        self.assertRegex(out[2], r"^tiny against the peer +- steps +rocm-trace-lite +- +<= 0.25 +- \(needs --peer\)")
        told = json.loads((self.folder / "out.json").read_text())
        self.assertEqual(set(told["machine"]), {"cpu", "cores", "kernel", "load"})
        self.assertIn("commit", told)
        self.assertRegex(told["date"], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(told["figures"][0]["samples"], {"ours": [2, 2], "base": [4, 4]})
        self.assertGreaterEqual(told["figures"][0]["seconds"], 0)
        self.assertIs(told["figures"][0]["figures"][0]["met"], True)
        self.assertIsNone(told["figures"][0]["figures"][1]["met"])

    def test_rows_for_the_page(self):
        """Those with a goal; what was missed stands out."""
        self.put("tiny", TINY.replace("GOAL", "'<= 0.4'") + '    yield Figure("no goal", 1, "steps")\n')
        out = str(self.folder / "out.json")
        self.run_it("--json", out, status=3)
        said = self.run_it("--table", out).stdout.splitlines()
        self.assertRegex(said[0], r"^\d{4}-\d\d-\d\d, commit \w+, \d+ cores \(.+\), load [0-9.]+ at its start, 2 turns:$")
        self.assertEqual(said[2:4], ["| figure | value | baseline | ratio [spread] | goal | met | command |",
                                     "| --- | --- | --- | --- | --- | --- | --- |"])
        self.assertEqual(said[4:], [
            "| tiny | 2 steps | twice: 4 | 0.5 [0.5-0.5] | <= 0.4 | **missed** | `tiny` |",
            "| tiny against the peer | - steps | rocm-trace-lite | - | <= 0.25 | - (needs --peer) | `tiny` |"])
        self.assertIn("is no file", self.run_it("--table", str(self.folder / "none"), status=2).stderr)
        self.put("tiny", TINY.replace("GOAL", "'<= 0.5', '<= 0.5'"))
        self.run_it("--json", out)
        self.assertIn("| yes (stretch <= 0.5 too) |", self.run_it("--table", out).stdout)

    def test_one_table_of_several_runs(self):
        """Each figure as the last run that measured it has it; of one machine only."""
        runs = [self.folder / name for name in ("first", "second", "third")]
        self.put("other", TINY.replace("GOAL", "'<= 0.5'").replace("tiny", "other"))
        self.run_it("--json", str(runs[0]))
        self.put("tiny", TINY.replace("GOAL", "'<= 0.4'"))
        self.run_it("--json", str(runs[1]), "tiny", status=3)
        self.put("other", BROKEN)
        self.run_it("--json", str(runs[2]), "other", status=1)
        for day, path in enumerate(runs, 1):
            self.change(path, date=f"2026-01-0{day}T00:00:00Z", commit=str(day) * 40)
        said = self.run_it("--table", *map(str, reversed(runs))).stdout.splitlines()
        self.assertRegex(said[0], r"^- 2026-01-01, commit 1{12}, .* 2 turns: `other`$")
        self.assertRegex(said[1], r"^- 2026-01-02, commit 2{12}, .* 2 turns: `tiny`$")
        self.assertEqual([line.split(" | ")[4:] for line in said[5:]], [
            ["<= 0.5", "yes", "`other` |"], ["<= 0.25", "- (needs --peer)", "`other` |"],
            ["<= 0.4", "**missed**", "`tiny` |"], ["<= 0.25", "- (needs --peer)", "`tiny` |"]])
        self.assertIn("`other` was not measured: the reason", self.run_it("--table", str(runs[2])).stdout)
        self.change(runs[1], machine={"cpu": "another", "cores": 2, "kernel": "", "load": [0]})
        self.assertIn("is of another machine", self.run_it("--table", *map(str, runs), status=2).stderr)

    @staticmethod
    def change(path, **values):
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    def test_a_missed_goal_is_a_status(self):
        self.put("tiny", TINY.replace("GOAL", "'<= 0.4'"))
        self.assertRegex(self.run_it(status=3).stdout, "(?m)^tiny .*<= 0.4 +NO$")

    def test_one_fails_and_the_others_go_on(self):
        self.put("broken", BROKEN)
        out = self.run_it(status=1).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in out[1:]],
                         ["before", "tiny", "tiny", "broken:"])
        self.assertEqual(out[-1], "broken: not measured: the reason")

    def test_what_was_measured_before_an_end_is_written(self):
        self.put("zzz", '"""Ends all."""\nimport os\ndef measure(bench):\n    os._exit(9)\n    yield\n')
        self.run_it("--json", str(self.folder / "out.json"), status=9)
        told = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([figure["name"] for figure in told["figures"]], ["tiny"])

    def test_list_and_names(self):
        self.assertEqual(self.run_it("--list").stdout.split(None, 1), ["tiny", "Counts to a number.\n"])
        self.assertIn("no figure 'other'; there are: tiny", self.run_it("other", status=2).stderr)

    def test_turns_are_in_turns(self):
        bench, seen = Bench(self.folder, runs=20), []
        bench.interleaved({"a": lambda: seen.append("a") or 1, "b": lambda: seen.append("b") or 1})
        turns = ["".join(seen[i:i + 2]) for i in range(0, len(seen), 2)]
        self.assertEqual(set(turns), {"ab", "ba"})
        self.assertEqual(len(turns), 21)

    def test_a_peer_that_fails_leaves_the_others(self):
        bench, tries = Bench(self.folder, runs=3), []

        def fails():
            tries.append(1)
            raise PeerError("it hung")
        turns = bench.interleaved({"ours": lambda: 1, "peer": fails})
        self.assertEqual((set(turns), len(tries), turns["ours"].samples), ({"ours"}, 1, [1, 1, 1]))

    def test_a_command_that_hangs_goes_with_all_it_started(self):
        bench = Bench(self.folder)
        with bench.scratch(), self.assertRaisesRegex(BenchError, "sh: still running after 1 s"):
            bench.run("sh", "-c", f"sleep 1000 & echo $! >{self.folder}/pid; wait", seconds=1)
        child = int((self.folder / "pid").read_text())
        deadline = time.monotonic() + 30
        while not self.is_gone(child):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    @staticmethod
    def is_gone(pid):
        """Or dead, and not reaped yet."""
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True

    def test_a_function_that_is_not_in_the_profile(self):
        bench = Bench(self.folder)

        def run(*command, **_):
            out = next(word for word in command if word.startswith("--callgrind-out-file="))
            pathlib.Path(out.split("=", 1)[1]).write_text("fn=(1) submit_batch\n1 2\ntotals: 7\n")
        bench.run = run
        with bench.scratch():
            self.assertEqual(bench.callgrind(["true"], ["submit_batch"]), 7)
            with self.assertRaisesRegex(BenchError, "callgrind saw no worker_entry"):
                bench.callgrind(["true"], ["submit_batch", "worker_entry"])

    def test_calls_of_a_function(self):
        bench = Bench(self.folder)
        with bench.scratch() as folder:
            (folder / "callgrind.out").write_text(
                "fn=(1) f\ncfn=(2) clock_gettime@@GLIBC_2.17\ncalls=3 +1\n5 6\n"
                "fn=(2)\ncfn=(3) other\ncalls=9 1\nfn=(4) g\ncfn=(2)\ncalls=4 1\n")
            self.assertEqual((bench.calls("clock_gettime"), bench.calls("other"), bench.calls("f")), (7, 9, 0))

    def test_goals(self):
        self.assertTrue(reaches("= 0", 0) and reaches(">= 0.75", 0.8) and not reaches("< 2", 2))
        with self.assertRaises(BenchError):
            reaches("fast", 1)
        self.assertIsNone(Figure("a", 1, "s").met)

    def test_what_adds_nothing_is_not_judged(self):
        def compare(ours, peer):
            return compare_added("a", "ns", Turns(ours), ("peer", Turns(peer)), ("<= 0.25", "<= 0.1"))
        met = compare([1, 2, 3], [10, 20, 30])
        self.assertEqual((met.ratio, met.met, met.note), (0.1, True, "stretch <= 0.1 too"))
        self.assertIs(compare([9, 2, 9], [10, 20, 30]).met, False)
        for ours, peer in (([1, 1, 1], [10, -5, 10]), ([1, 1, 1], [0, 0, 0]), ([-1, -1, -1], [10, 10, 10])):
            figure = compare(ours, peer)
            self.assertIsNone(figure.met)
            self.assertIn("not judged: in", figure.note)

    def test_the_ratio_is_the_median_of_the_turns(self):
        """Of the medians it would be 2 / 10."""
        figure = compare_added("a", "ns", Turns([1, 2, 30]), ("peer", Turns([1, 10, 20])), ("", ""))
        self.assertEqual(figure.ratio, 1)

    def test_a_run_beside_a_neighbour_is_measured_again(self):
        def measure(*runs):
            """Of 100 batches each: (alone, the best probe)."""
            hooks = Hooks.__new__(Hooks)
            hooks.probe_ns, left = 1000, list(runs)
            hooks.run = lambda name, batches, words: dict(zip(("alone", "probe_ns"), left.pop(0), strict=True))
            return hooks.run_alone("shadow", 100), left
        said, left = measure((5, 1000), (60, 1400), (40, 1010), (100, 1000))
        self.assertEqual((said["alone"], left), (40, [(100, 1000)]))
        self.assertEqual(alone_note([said, {"alone": 80}], 100), "alone on its core in 60% of the batches")
        said, left = measure(*[(100, 2000)] * 9)
        self.assertEqual((said["alone"], len(left)), (0, 4))
        self.assertIn("not judged: ", alone_note([said, {"alone": 80}], 100))

    def test_spread_is_between_quartiles(self):
        turns = Turns([1, 2, 3, 4, 100])
        self.assertEqual((turns.low, turns.high, turns.spread), (2, 4, 2))
        self.assertEqual(Turns([5]).spread, 0)

    def test_storm_within_and_beyond_the_spread(self):
        sys.path.insert(0, str(RUN.parent / "figures"))
        self.addCleanup(sys.path.pop, 0)
        import storm  # noqa: PLC0415
        bench, tools = Bench(self.folder), types.SimpleNamespace(failed={}, coverage=lambda _: "")

        def judge(none, ours, peer):
            return storm.against_peer(bench, tools, {"none": Turns(none), "shadow": Turns(ours), "standard": Turns(peer)},
                                      "shadow", "1 rank")
        none = [1.0, 1.1, 1.2]
        within = judge(none, [1.01, 1.11, 1.21], [2, 2.1, 2.2])
        self.assertIs(within.met, True)
        self.assertIn("within the spread", within.note)
        self.assertIs(judge(none, [1.5, 1.6, 1.7], [2, 2.1, 2.2]).met, False)
        self.assertIs(judge(none, [1.5, 1.6, 1.7], [9, 9.1, 9.2]).met, True)
        wild = judge([1, 2, 3], [1.1, 2.1, 3.1], [9, 9, 9])
        self.assertIsNone(wild.met)
        self.assertIn("not judged: more than a quarter", wild.note)

    def test_identity_that_does_not_hold(self):
        bench = Bench(self.folder)
        info = {"dispatched": 5, "skipped": 0, "stored": 3, "outstanding": 1, "dropped": 1, "torn": 0,
                "pending": 0, "live": False, "counters": [{"pid": 7, "balanced": True}]}
        bench.run = lambda *_, **__: json.dumps(info)
        self.assertEqual(bench.identity("t.db")["stored"], 3)
        for change in ({"stored": 2}, {"stored": 2, "pending": 1},
                       {"counters": [{"pid": 7, "balanced": False}]}):
            bench.run = lambda *_, change=change, **__: json.dumps(info | change)
            with self.assertRaises(BenchError):
                bench.identity("t.db")

    def test_rounds_that_were_slept_through(self):
        """dispatch-cost says: median, least, median of the awake rounds, how many these were."""
        sys.path.insert(0, str(RUN.parent / "figures"))
        self.addCleanup(sys.path.pop, 0)
        from signals import awake  # noqa: PLC0415
        fine, slept = [4000, 90, 100, 4], [5000, 4000, 0, 0]
        this, none, note = awake([[900, 90, 120, 5], slept, fine], [fine] * 3, 10)
        self.assertEqual((this.samples, none.samples), ([120, 100], [100, 100]))
        self.assertEqual(note, "slept in 70% of the rounds, without a tool 60%; of all 1.00")
        this, _, note = awake([slept, slept, fine], [[100, 90, 100, 10]] * 3, 10)
        self.assertEqual(this.samples, [5000, 5000, 4000])
        self.assertEqual(note, "slept in 87% of the rounds, without a tool 0%: this is of all")
        self.assertTrue(awake([slept], [slept], 10)[2].startswith("not judged: "))


if __name__ == "__main__":
    unittest.main()
