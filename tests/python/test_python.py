#!/usr/bin/env python3
"""test_python.py PROGRAM: the Python module against the program, with PYTHONPATH at the module."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy
import pandas

import railyard

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import support  # noqa: E402

ROOT = support.ROOT
SMALL = ROOT / "tests/cli/small.json"


class FirstFit(railyard.Scheduler):
    """fifo with best_fit once more: in order of arrival, nobody passes one that waits."""

    made = 0

    def __init__(self):
        FirstFit.made += 1

    def decide(self, now_s, events):
        if any(event["event"] == "no_place" for event in events):
            return []
        return [railyard.start(job, place="best_fit") for job in self.waiting[:1]]

    def again(self):
        return True


class Module(support.Case):
    # One result, two ways to it: the program prints what the module returns, to the byte.
    def test_a_run_is_that_of_the_program_to_the_byte(self):
        printed = self.good("run", SMALL, "--format", "json", "--seed", "7").stdout
        scenario = railyard.load(SMALL, seed=7)
        for jobs in (1, 2):
            self.assertEqual(scenario.run(jobs=jobs).json, printed)
        self.assertEqual(
            str(scenario.run()), self.good("run", SMALL, "--seed", "7", "--quiet").stdout
        )
        self.assertEqual(scenario.seed, 7)

    def test_changes_are_those_of_set(self):
        changes = {"/jobs/0/iterations": 3}
        printed = self.good("run", SMALL, "--format", "json", *support.changed(changes)).stdout
        self.assertEqual(railyard.load(SMALL, changes).run().json, printed)

    def test_records_and_arrays_are_what_the_result_says(self):
        result = railyard.load(SMALL).run()
        data = json.loads(result.json)
        frame = pandas.DataFrame(result.records()).set_index("policy")
        self.assertEqual(tuple(frame.index), result.policies)
        arrays = result.arrays()
        for number, (name, policy) in enumerate(data["policies"].items()):
            for metric, value in policy["metrics"].items():
                if isinstance(value, dict):
                    continue
                self.assertEqual(result.metric(name, metric), value)
                if value is None:
                    self.assertTrue(numpy.isnan(arrays[metric][number]), metric)
                else:
                    self.assertEqual(arrays[metric][number], value)
                    self.assertEqual(frame.loc[name, metric], value)
            jobs = pandas.DataFrame(result.jobs(name))
            self.assertEqual(list(jobs["name"]), [job["name"] for job in policy["jobs"]])
            finish = result.job_arrays(name)["finish_s"]
            self.assertEqual(finish.dtype, numpy.float64)
            self.assertEqual(list(finish), [job["finish_s"] for job in policy["jobs"]])

    def test_a_sweep_is_that_of_the_program(self):
        path = self.sweep(grid={"/jobs/0/iterations": [2, 3], "/seed": [1, 2]})
        self.good("sweep", path, "--out", self.folder / "out", "--quiet")
        points = pandas.read_csv(self.folder / "out/points.csv")
        sweep = railyard.load_sweep(path)
        self.assertEqual(len(sweep), 4)
        frame = pandas.DataFrame(sweep.run().records())
        self.assertEqual(list(frame["policy"]), list(points["policy"]))
        self.assertEqual(list(frame["/jobs/0/iterations"]), list(points["/jobs/0/iterations"]))
        self.assertEqual(list(frame["jct_s_mean"]), list(points["jct_s_mean"]))

    def test_wrong_input_is_a_value_error_with_every_line_of_the_program(self):
        path, text = self.scenario()
        path.write_text(text.replace('"jobs"', '"jobbs"', 1))
        told = self.refused(2, path.name, "run", path).stderr.splitlines()
        with self.assertRaises(railyard.ConfigError) as caught:
            railyard.load(path)
        self.assertIsInstance(caught.exception, ValueError)
        for line in str(caught.exception).splitlines():
            self.assertTrue(any(line.strip() in other for other in told), (line, told))

    def test_saved_results_compare_as_equal(self):
        railyard.load(SMALL).run().save(self.folder / "a")
        self.good("run", SMALL, "--out", self.folder / "b", "--quiet")
        self.good("compare", self.folder / "a", self.folder / "b")

    def test_progress_is_told_and_what_it_raises_ends_the_run(self):
        class Enough(Exception):
            pass

        told = []

        def progress(policy, simulated_s, done, jobs):
            told.append((policy, simulated_s, done, jobs))
            raise Enough

        scenario = railyard.load(ROOT / "scenarios/philly_2k.json")
        with self.assertRaises(Enough):
            scenario.run(jobs=1, progress=progress)
        policy, simulated_s, done, jobs = told[0]
        self.assertIn(policy, scenario.policies)
        self.assertLess(done, jobs)

    def test_ctrl_c_ends_a_run_within_a_second(self):
        scenario = railyard.load(ROOT / "scenarios/philly_2k.json")
        sent = []

        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(0.3, interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(100):
                scenario.run(jobs=1)
        self.assertLess(time.monotonic() - sent[0], 1)


class Schedulers(support.Case):
    POLICIES = {
        "mine": {"scheduler": {"name": "python", "class": "first_fit"}},
        "theirs": {"queue": "fifo", "placement": "best_fit"},
    }

    def scenario_with(self, **policies):
        return railyard.load(
            ROOT / "scenarios/philly_2k.json",
            {"/policies": policies, "/baseline": "theirs", "/job_trace/span": "2h"},
        )

    # The same decisions, whoever takes them: every number of fifo with best_fit.
    def test_fifo_with_best_fit_in_python_is_the_one_in_the_tree(self):
        railyard.register_scheduler("first_fit", FirstFit)
        before = FirstFit.made
        result = self.scenario_with(**self.POLICIES).run(jobs=2)
        mine, theirs = (result.to_dict()["policies"][name] for name in ("mine", "theirs"))
        self.assertEqual(
            [job["finish_s"] for job in mine["jobs"]], [job["finish_s"] for job in theirs["jobs"]]
        )
        self.assertEqual(FirstFit.made, before + 1)

    def fault_of(self, make):
        railyard.register_scheduler("faulty", make)
        policies = {**self.POLICIES, "mine": {"scheduler": {"name": "python", "class": "faulty"}}}
        with self.assertRaises(railyard.ConfigError) as caught:
            self.scenario_with(**policies).run()
        return str(caught.exception)

    def test_what_a_class_does_wrong_ends_the_run_with_its_name_and_a_reason(self):
        class Raises(railyard.Scheduler):
            def decide(self, now_s, events):
                raise ZeroDivisionError("by design")

        class Nonsense(railyard.Scheduler):
            def decide(self, now_s, events):
                return [{"strat": 1}]

        self.assertIn('the scheduler "faulty": ZeroDivisionError: by design', self.fault_of(Raises))
        self.assertIn('a decision has "start"', self.fault_of(Nonsense))
        self.assertIn("TypeError", self.fault_of(3))

    def test_a_class_that_nobody_registered_is_refused_by_name(self):
        policies = {**self.POLICIES, "mine": {"scheduler": {"name": "python", "class": "nobody"}}}
        with self.assertRaisesRegex(railyard.ConfigError, '"nobody": no such class'):
            self.scenario_with(**policies).run()

    def test_the_program_itself_has_no_scheduler_python(self):
        self.refused(
            2, '"python"', "run", SMALL, *support.changed({"/policies/x": self.POLICIES["mine"]})
        )


class Example(unittest.TestCase):
    def test_the_example_runs_and_names_a_winner(self):
        done = subprocess.run(
            [sys.executable, ROOT / "python/examples/which_placement.py"],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fastest:", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
