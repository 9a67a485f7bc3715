#!/usr/bin/env python3
"""test_symptoms.py PROGRAM: what a run warns of. Each symptom in a small scenario that has the
fault, and gone from one that lacks it."""

import json
import pathlib
import tempfile
import unittest

from support import ROOT, changed, railyard

SMALL = "tests/cli/small.json"
PIPELINE = {"/jobs/0/parallelism": {"tensor": 1, "pipeline": 8, "data": 2}}
# Neither minipod has anybody else on it.
ALONE = {"/occupied": {"hosts_per_minipod": [0, 0]}, "/diffusion": {"alpha": 0.3}}


def job(name, gpus, **more):
    return {"name": name, "workload": str(ROOT / "workloads/models/megatron_1_7b.json"),
            "gpus": gpus, "parallelism": {"tensor": 8, "pipeline": 1, "data": gpus // 8},
            "global_batch": 48, "micro_batch": 1, "iterations": 10, **more}


def run(changes, *options):
    done = railyard("run", SMALL, "--format", "json", *options, *changed(changes))
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout), done.stderr


def symptoms(changes, policy="best_fit"):
    result, _ = run(changes)
    return {(one["symptom"], one["cause"]): one
            for one in result["policies"][policy].get("symptoms", [])}


class BusyShare(unittest.TestCase):
    """Eight stages: 8 micro-batches each leave a bubble of 7/15, 64 one of 7/71."""

    def test_a_pipeline_with_few_micro_batches_has_a_bubble(self):
        found = symptoms({**PIPELINE, "/jobs/0/global_batch": 16})[("low_busy_share", "bubble")]
        self.assertEqual(found["bound"], 0.8)
        self.assertLess(found["value"], 0.6)
        self.assertGreater(found["part"], 0.25)
        self.assertIn("more micro-batches", found["remedy"])

    def test_the_remedy_helps(self):
        found = symptoms({**PIPELINE, "/jobs/0/global_batch": 128})
        self.assertFalse([key for key in found if key[0] == "low_busy_share"], found)


class LatencySpread(unittest.TestCase):
    """A core at 4:1. best_fit fills a host of each minipod, gpu_packing two of one."""

    def test_groups_that_cross_minipods_are_told(self):
        found = symptoms({})[("latency_spread", "data_groups_apart")]
        self.assertGreater(found["value"], 0.02)
        self.assertIn("unit dp", found["remedy"])

    def test_the_remedy_helps(self):
        found = symptoms({}, "gpu_packing")
        self.assertFalse([key for key in found if key[0] == "latency_spread"], found)


class UnstableSpeed(unittest.TestCase):
    def preempted(self, **policy):
        """Long, low, on all four free hosts; four short ones of one host each take it from him, one
        after the other, or at one scheduling point all together."""
        jobs = [job("low", 32, iterations=100)]
        jobs += [job(f"high{i}", 8, iterations=1, priority=1, arrival=f"{2 + 6 * i}s")
                 for i in range(4)]
        sets = {"best_fit": {"placement": "best_fit", "checkpoint_cost": "1s", **policy}}
        return symptoms({"/jobs": jobs, "/occupied": {"hosts_per_minipod": [2, 2]},
                         "/policies": sets})

    def test_a_job_that_is_preempted_often_stands_still(self):
        found = self.preempted(queue={"name": "priority", "preempt": True})
        one = found[("unstable_speed", "preemptions")]
        self.assertGreater(one["value"], 0.08)
        self.assertEqual(one["part"], 4)
        self.assertIn("interval", one["remedy"])

    def test_a_queue_that_does_not_preempt_leaves_it_alone(self):
        self.assertNotIn(("unstable_speed", "preemptions"), self.preempted(queue="priority"))

    def test_deciding_less_often_preempts_it_less_often(self):
        found = self.preempted(queue={"name": "priority", "preempt": True}, interval="30s")
        self.assertEqual(found[("unstable_speed", "preemptions")]["part"], 1)

    def neighbours(self, placement):
        jobs = [job("first", 32, iterations=60), job("second", 32, iterations=20, arrival="1s")]
        sets = {"best_fit": {"placement": placement}}
        return symptoms({**ALONE, "/jobs": jobs, "/policies": sets})

    def test_neighbours_on_the_core_make_speed_unsteady(self):
        """Two jobs of four hosts, each on both minipods, two and two."""
        halves = {"name": "blocks", "minipods": 2}
        found = self.neighbours(halves)
        self.assertIn(("unstable_speed", "neighbours"), found)
        self.assertIn("traffic", found[("unstable_speed", "neighbours")]["remedy"])

    def test_jobs_in_minipods_of_their_own_run_steadily(self):
        self.assertFalse([key for key in self.neighbours("tight_pack") if "neighbours" in key])


class Shown(unittest.TestCase):
    def test_below_the_table_on_stderr_and_in_explain(self):
        bubble = ["--set", f"/jobs/0/parallelism={json.dumps(PIPELINE['/jobs/0/parallelism'])}"]
        table = " ".join(railyard("run", SMALL, *bubble).stdout.split())
        self.assertIn('warning: every policy: low busy share of "small": share of an iteration '
                      "spent computing is", table)
        self.assertIn("cause: pipeline bubble", table)
        self.assertIn("remedy: more micro-batches", table)
        with tempfile.TemporaryDirectory() as folder:
            _, errors = run(PIPELINE, "--out", folder)
            self.assertIn("low busy share", errors)
            text = railyard("explain", folder, "small", "--policy", "best_fit").stdout
            self.assertIn("what ails it", text)
            self.assertIn("remedy: more micro-batches", text)
            facts = json.loads(railyard("explain", folder, "small", "--format", "json").stdout)
            listed = facts["policies"]["best_fit"]["symptoms"]
            held = json.loads((pathlib.Path(folder) / "result.json").read_text())
            self.assertEqual(listed, held["policies"]["best_fit"]["symptoms"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
