#!/usr/bin/env python3
"""test_rules.py PROGRAM: quotas, drains and maintenance windows of a scenario, from the file to
`explain`."""

import json
import unittest

from support import ROOT, Case, changed, railyard

SMALL = "tests/cli/small.json"
FREE = {"/occupied": {"free_hosts": ["host-[4-7]"]}}


def run(changes, *options):
    done = railyard("run", SMALL, "--format", "json", *changed({**FREE, **changes}), *options)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["policies"]["best_fit"]


def jobs(*names, **more):
    one = json.loads((ROOT / SMALL).read_text())["jobs"][0]
    workload = str(ROOT / "workloads/models/megatron_1_7b.json")
    return [{**one, "name": name, "workload": workload, **more} for name in names]


class Quotas(Case):
    def test_a_wait_for_a_quota_is_explained(self):
        """Two jobs of 16 GPUs on 32 free ones, of a user who may hold 16."""
        changes = {"/jobs": jobs("first", "second", user="ann"),
                   "/quotas": {"users": {"ann": 16}}}
        first, second = run(changes, "--out", self.folder)["jobs"]
        self.assertEqual(second["start_s"], first["finish_s"])
        why = 'the quota of user "ann", 16 GPUs'
        self.assertEqual(second["held_back"],
                         [{"from_s": 0, "until_s": first["finish_s"], "why": why}])
        self.assertNotIn("held_back", first)
        facts = json.loads(railyard("explain", self.folder, "second", "--format", "json").stdout)
        wait, = facts["policies"]["best_fit"]["waits"]
        self.assertEqual(wait["held_back"], [{"why": why, "held_s": first["finish_s"]}])
        text = railyard("explain", self.folder, "second").stdout
        self.assertIn("under a rule of the cluster: " + why, " ".join(text.split()))

    def test_without_the_quota_they_run_side_by_side(self):
        first, second = run({"/jobs": jobs("first", "second", user="ann")})["jobs"]
        self.assertEqual((first["start_s"], second["start_s"]), (0, 0))


class Outages(Case):
    def test_a_job_starts_behind_a_window_that_it_would_run_into(self):
        """All four hosts are out from half of the job's run time on, for a minute."""
        oracle = {"best_fit": {"placement": "best_fit", "predictor": "oracle"}}
        alone = run({"/policies": oracle})["jobs"][0]["finish_s"]
        window = {"hosts": ["host-[4-7]"], "from": f"{alone / 2}s", "until": "60s"}
        job, = run({"/policies": oracle, "/maintenance": [window]})["jobs"]
        self.assertEqual(job["start_s"], 60)
        self.assertIn("the maintenance of host-[4-7]", job["held_back"][0]["why"])
        later = {**window, "from": f"{2 * alone}s"}
        job, = run({"/policies": oracle, "/maintenance": [later]})["jobs"]
        self.assertEqual(job["start_s"], 0)

    def test_a_drain_takes_the_job_elsewhere_or_lets_it_finish(self):
        """Hosts 4 and 5 go while the job is there."""
        start = run({})["jobs"][0]
        hosts = start["runs"][0]["hosts"]
        half = start["finish_s"] / 2
        drain = {"hosts": [hosts], "from": f"{half}s", "running": "preempt"}
        moved, = run({"/drains": [drain]})["jobs"]
        self.assertEqual((moved["preemptions"], len(moved["runs"])), (1, 2))
        self.assertNotEqual(moved["runs"][1]["hosts"], hosts)
        drain["running"] = "finish"
        stayed, = run({"/drains": [drain]})["jobs"]
        self.assertEqual(stayed["finish_s"], start["finish_s"])

    def test_what_happens_is_in_the_trace(self):
        log = self.folder / "events.jsonl"
        run({"/jobs": jobs("first", "second", arrival="1s"),
             "/drains": [{"hosts": ["host-[4-6]"], "from": "500ms", "until": "90s"}]},
            "--trace", log)
        events = [json.loads(line) for line in log.read_text().splitlines()]
        events = [event for event in events if event["policy"] == "best_fit"]
        closed, = [event for event in events if event["event"] == "hosts_closed"]
        self.assertEqual(closed["hosts"], ["host-4", "host-5", "host-6"])
        self.assertIn("hosts_opened", [event["event"] for event in events])
        held = [event for event in events if event["event"] == "held_back"]
        self.assertIn("the drain of host-[4-6], whose hosts it would need", held[0]["why"])

    def test_place_sees_hosts_that_are_out_at_the_start(self):
        drain = {"/drains": [{"hosts": ["host-[4-5]"], "from": "0s"}]}
        done = railyard("place", SMALL, "--out", self.folder, *changed({**FREE, **drain}))
        self.assertEqual(done.returncode, 0, done.stderr)
        written = "".join(path.read_text() for path in self.folder.rglob("*") if path.is_file())
        self.assertIn("host-6", written)
        self.assertNotIn("host-4", written)


if __name__ == "__main__":
    unittest.main(verbosity=2)
