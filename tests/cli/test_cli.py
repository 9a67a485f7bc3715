#!/usr/bin/env python3
"""test_cli.py PROGRAM: what scripts of users hold on to: exit codes, streams, files, --help."""

import csv
import gzip
import io
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from support import PROGRAM, ROOT, SECONDS, Case, railyard

SMALL = "tests/cli/small.json"
SWEEP = "tests/cli/sweep.json"
VERBS = ["run", "explain", "sweep", "compare", "report", "check", "topology", "flows", "trace",
         "list", "digest", "schema", "plan", "place", "calibrate", "init", "completion", "man"]


class Calibrate(Case):
    def test_what_it_writes_is_what_scenarios_read(self):
        self.good("calibrate", "--gpu", "A100-80", "--gemm", "tests/cli/gemm.csv", "--topology",
                  "topologies/superpod_a100.json", "--ranks", "8", "--nccl",
                  "all_reduce=tests/cli/nccl.txt", "--iteration", f"{SMALL}=400ms", "--out",
                  str(self.folder))
        stack = (self.folder / "stack.json").read_text()
        with_stack = ["run", SMALL, "--format", "json", "--set", f"/jobs/0/stack={stack}"]
        done = json.loads(self.good(*with_stack).stdout)["policies"]["best_fit"]["metrics"]
        self.assertAlmostEqual(done["iteration_s_mean"], 0.4, delta=0.001)
        gpu = f'"{self.folder / "gpu.json"}"'
        self.good("run", SMALL, "--set", f"/gpu={gpu}")
        # Eight simulated GPUs of the shipped fabric: its own efficiency and the launch come back.
        rows = self.good("collective", "all_reduce", "--topology",
                         str(self.folder / "topology_nvlink.json"), "--ranks", "8", "--begin",
                         "1073741824", "--end", "1073741824", "--format", "csv").stdout
        self.assertAlmostEqual(float(rows.splitlines()[1].split(",")[1]), 8537.53e-6, delta=2e-5)

    def test_what_cannot_be_fitted_is_refused_with_a_fix(self):
        self.refused(2, "nothing to fit", "calibrate")
        self.refused(2, "--gpu NAME", "calibrate", "--gemm", "tests/cli/gemm.csv")
        self.refused(2, "OPERATION=FILE", "calibrate", "--nccl", "log.txt")
        self.refused(2, "--ranks N", "calibrate", "--nccl", "all_reduce=tests/cli/nccl.txt")
        self.refused(2, "SCENARIO=TIME", "calibrate", "--iteration", SMALL)
        (self.folder / "sweep.csv").write_text("m,n,k,tflops,time_s\n1,1,1,1,1\n")
        self.refused(2, "give one of the columns", "calibrate", "--gpu", "H100", "--gemm",
                     str(self.folder / "sweep.csv"))
        (self.folder / "log.txt").write_text("# size count type time\n8 2 float 1.5\n")
        self.refused(2, "sizes from 16 MiB on", "calibrate", "--topology",
                     "topologies/superpod_a100.json", "--ranks", "8", "--nccl",
                     f"all_reduce={self.folder / 'log.txt'}")


class Place(Case):
    def test_the_order_that_launchers_read_gives_the_same_ranks(self):
        # A host's block of ranks follows from the hostfile, a rank's cell from Megatron's order.
        placed = json.loads(self.good("place", SMALL, "--out", str(self.folder), "--format",
                                      "json").stdout)
        folder = self.folder / "gpu_packing"
        hosts = [line.split(" slots=") for line in (folder / "hostfile").read_text().splitlines()]
        ranks = [(host, gpu) for host, slots in hosts for gpu in range(int(slots))]
        told = [(rank["host"], rank["gpu"])
                for rank in placed["policies"]["gpu_packing"]["ranks"]]
        self.assertEqual(ranks, told)
        self.assertEqual((folder / "slurm_hostfile").read_text().split(),
                         [host for host, _ in ranks])
        self.assertEqual((folder / "rankfile").read_text().splitlines(),
                         [f"rank {r}={host} slot={gpu}" for r, (host, gpu) in enumerate(ranks)])
        self.assertEqual([line.split() for line in
                          (folder / "torchrun").read_text().splitlines()[1:]],
                         [[str(h), host] for h, (host, _) in enumerate(hosts)])
        with (folder / "ranks.csv").open() as file:
            rows = list(csv.DictReader(file))
        for rank, row in enumerate(rows):
            cell = (int(row["tensor"]) + 8 * (int(row["data"]) + 2 * int(row["pipeline"])))
            self.assertEqual((int(row["rank"]), cell, row["host"], int(row["gpu"])),
                             (rank, rank, *ranks[rank]))

    def test_a_placement_read_back_gives_the_same_groups_and_time(self):
        self.good("place", SMALL, "--out", str(self.folder))
        hosts = str(self.folder / "gpu_packing" / "hostfile")
        back = json.dumps({"placement": {"name": "listed", "hosts": hosts}})
        done = self.good("run", SMALL, "--format", "json", "--set", f"/policies/best_fit={back}")
        sets = json.loads(done.stdout)["policies"]
        self.assertEqual(sets["best_fit"]["metrics"], sets["gpu_packing"]["metrics"])

    def test_real_hosts_are_named_and_what_is_not_there_is_refused(self):
        free = "/occupied={\"free_hosts\": [\"host-[4,7]\"]}"
        placed = json.loads(self.good("place", SMALL, "--format", "json", "--set", free).stdout)
        for policy in placed["policies"].values():
            self.assertEqual({rank["host"] for rank in policy["ranks"]}, {"host-4", "host-7"})
        busy = "/occupied={\"hosts\": [\"host-[0-3]\", \"host-5\", \"host-6\"]}"
        self.assertEqual(placed, json.loads(self.good("place", SMALL, "--format", "json", "--set",
                                                      busy).stdout))
        for value, line in (("[\"host-8\"]", 'no host "host-8"'),
                            ("[\"host-1\", \"host-[0-2]\"]", "stands there twice"),
                            ("[\"host-[0-\"]", "host-[0-")):
            self.refused(2, line, "place", SMALL, "--set", f"/occupied={{\"hosts\": {value}}}")
        self.refused(2, "of which 56 are occupied", "place", SMALL, "--set",
                     "/occupied={\"free_hosts\": [\"host-3\"]}")
        (self.folder / "hosts").write_text("host-0\nhost-99\n")
        listed = json.dumps({"placement": {"name": "listed", "hosts": str(self.folder / "hosts")}})
        self.refused(2, 'no host "host-99"', "place", SMALL, "--set",
                     f"/policies/best_fit={listed}", "--set", "/occupied={\"hosts\": []}")


class Explain(Case):
    def test_a_wait_and_an_iteration_are_explained_from_the_result_alone(self):
        # Two jobs of the same two free hosts: the second waits for all of the first's run.
        jobs = json.loads(pathlib.Path(ROOT, SMALL).read_text())["jobs"]
        workload = str(ROOT / "workloads/models/megatron_1_7b.json")
        both = json.dumps([{**jobs[0], "name": name, "workload": workload}
                           for name in ("first", "second")])
        busy = "/occupied={\"free_hosts\": [\"host-[4,7]\"]}"
        result = json.loads(self.good("run", SMALL, "--format", "json", "--set", busy, "--set",
                                      f"/jobs={both}", "--out", str(self.folder)).stdout)
        first, second = result["policies"]["best_fit"]["jobs"]
        why = json.loads(self.good("explain", str(self.folder), "second", "--format",
                                   "json").stdout)["policies"]["best_fit"]
        wait, = why["waits"]
        self.assertEqual((wait["from_s"], wait["until_s"]), (0, first["finish_s"]))
        self.assertEqual(wait["too_little_free_s"], first["finish_s"])
        self.assertEqual(wait["holders"], [{"job": "first", "gpu_s": 16 * first["finish_s"]}])
        self.assertEqual(why["placed"]["hosts"], "host-4,host-7")
        self.assertEqual([share["taken"] for share in why["placed"]["free_hosts_before"]], [2])
        parts = why["iteration"]["attribution"]
        self.assertAlmostEqual(sum(parts.values()), second["iteration_s"], places=9)
        text = self.good("explain", str(self.folder), "second", "--policy", "best_fit").stdout
        for piece in ("it wants 2 whole hosts, at most 0 were free", "first (100 %)",
                      "placement best_fit: the minipods with fewest free hosts first",
                      "It shared no link that could be filled", "compute"):
            self.assertIn(piece, " ".join(text.split()))
        self.refused(2, 'has no job "secnd"; did you mean "second"?', "explain",
                     str(self.folder), "secnd")
        self.refused(2, 'did you mean "best_fit"?', "explain", str(self.folder), "second",
                     "--policy", "bestfit")
        self.refused(2, "table or json", "explain", str(self.folder), "second", "--format", "csv")
        self.refused(2, "a result and the name", "explain", str(self.folder))


class Plan(Case):
    ON = ["--topology", "topologies/superpod_a100.json", "--global-batch", "32"]

    def test_threads_change_nothing(self):
        of = ["plan", "megatron_1_7b", *self.ON, "--gpus", "8", "--format", "json"]
        one = self.good(*of, "--jobs", "1").stdout
        self.assertEqual(one, self.good(*of, "--jobs", "3").stdout)
        plans = json.loads(one)["plans"]
        self.assertEqual(len(plans), 16)
        self.assertEqual(plans, sorted(plans, key=lambda plan: plan["iteration_s"]))
        for plan in plans:
            self.assertAlmostEqual(sum(plan["attribution"].values()), plan["iteration_s"])
            self.assertEqual(plan["tensor"] * plan["pipeline"] * plan["data"] * plan["context"], 8)

    def test_what_cannot_be_planned_is_refused_with_a_fix(self):
        self.refused(2, "bytes; give more --gpus", "plan", "gpt3_175b", *self.ON, "--gpus", "8")
        self.refused(2, "gpt3_175b", "plan", "gpt3", *self.ON)
        self.refused(2, "--gpus: expected 1 to 640", "plan", "gpt3_175b", *self.ON, "--gpus", "641")
        self.refused(2, "has no fp8; give bf16", "plan", "gpt3_175b", *self.ON, "--precision",
                     "fp8")
        self.refused(2, "give the fabric with --topology", "plan", "gpt3_175b")


class HeldOverTime(Case):
    def test_what_the_bars_show_adds_up_to_the_utilisation(self):
        """The mean over time of GPUs held, others' included, over all GPUs: its definition."""
        jobs = json.loads((ROOT / SMALL).read_text())["jobs"]
        workload = str((ROOT / SMALL).parent / jobs[0]["workload"])
        two = [{**jobs[0], "name": name, "workload": workload, "iterations": count, "gpus": 16,
                "parallelism": {"tensor": 8, "pipeline": 1, "data": 2}}
               for name, count in (("a", 3), ("b", 7))]
        done = self.good("run", SMALL, "--set", f"/jobs={json.dumps(two)}", "--out",
                         str(self.folder), "--quiet")
        self.assertIn("GPUs held", done.stdout)
        result = json.loads((self.folder / "result.json").read_text())
        cluster = result["cluster"]
        for policy in result["policies"].values():
            runs = [(job["gpus"], run) for job in policy["jobs"] for run in job["runs"]]
            end = max(run["until_s"] for _, run in runs)
            held = sum(gpus * (run["until_s"] - run["from_s"]) for gpus, run in runs) / end
            self.assertAlmostEqual((held + cluster["occupied_gpus"]) / cluster["gpus"],
                                   policy["metrics"]["gpu_utilization"], places=9)


class Help(Case):
    def test_every_verb_has_help_with_an_example(self):
        overview = self.good("--help").stdout
        for verb in VERBS:
            self.assertIn(f"\n  {verb}", overview)
            text = self.good(verb, "--help").stdout
            self.assertIn(f"usage: railyard {verb}", text)
            self.assertRegex(text, rf"examples:\n  railyard {verb}")

    def test_examples_are_understood(self):
        """Those of run and sweep are checked with --dry-run, the quick verbs run as they stand."""
        for verb in VERBS:
            text = self.good(verb, "--help").stdout
            for example in text.split("examples:\n")[1].strip().splitlines():
                words = shlex.split(example)[1:]
                if verb in ("run", "sweep"):
                    self.good(*dict.fromkeys([*words, "--dry-run"]))
                elif verb in ("topology", "flows", "list", "schema"):
                    self.good(*words)

    def test_version(self):
        project = re.search(r"project\(Railyard VERSION (\S+)",
                            (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual(self.good("--version").stdout, f"railyard {project.group(1)}\n")


class WrongInput(Case):
    def test_unknown_verbs_and_options_name_the_nearest(self):
        self.refused(2, '"runn" is no verb of railyard; did you mean "run"?', "runn")
        self.refused(2, 'did you mean "--format"?', "run", SMALL, "--formt", "json")
        self.refused(2, '--format: "jsn" is unknown; did you mean "json"?', "run", SMALL,
                     "--format", "jsn")
        self.refused(2, "--progress", "run", SMALL, "--progress", "sometimes")

    def test_option_prefixes_are_no_options(self):
        self.refused(2, "unknown option", "run", SMALL, "--form", "json")

    def test_numbers_are_checked(self):
        self.refused(2, "--seed: expected a whole number", "run", SMALL, "--seed", "-1")
        self.refused(2, "--seed: expected a whole number", "run", SMALL, "--seed", "1.5")
        self.refused(2, "--jobs", "run", SMALL, "--jobs", "0")

    def test_set_names_what_is_unknown(self):
        self.refused(2, "--set: expected /json/pointer=value", "run", SMALL, "--set", "seed=2")
        self.refused(2, "baselin", "run", SMALL, "--set", "/baselin=best_fit")
        self.refused(2, "/policys", "run", SMALL, "--set", "/policys/best_fit/interval=1s")

    def test_files_that_do_not_exist(self):
        self.refused(2, "no_such.json", "run", "no_such.json")
        self.refused(2, "no_such.json", "topology", "validate", "no_such.json")
        self.refused(2, "no_such.json", "compare", "no_such.json", "no_such.json")

    def test_nothing_to_do(self):
        self.assertEqual(railyard().returncode, 2)
        self.refused(2, "expected a scenario file", "run")

    def test_lists_name_what_there_is(self):
        self.refused(2, 'did you mean "queues"?', "list", "queue")
        self.refused(2, 'did you mean "arnold"?', "list", "placements", "arnld")


class Run(Case):
    def test_json_alone_stands_on_stdout_and_twice_the_same(self):
        first = self.good("run", SMALL, "--format", "json", "--jobs", "1")
        second = self.good("run", SMALL, "--format", "json", "--jobs", "2", "--progress", "always")
        self.assertEqual(first.stdout, second.stdout)
        self.assertIn("runs", second.stderr)
        result = json.loads(first.stdout)
        self.assertEqual(list(result["policies"]), ["best_fit", "gpu_packing"])
        self.assertEqual(result["notes"], ["a note"])

    def test_no_progress_without_a_terminal(self):
        self.assertNotIn("runs", self.good("run", SMALL).stderr)

    def test_attribution_sums_to_the_iteration_to_the_tick(self):
        """A tick is 10 ps: sums of parts in ticks equal the iteration's own ticks."""
        result = json.loads(self.good("run", SMALL, "--format", "json").stdout)
        for policy in result["policies"].values():
            parts = policy["metrics"]["attribution"].values()
            ticks = sum(round(seconds * 1e11) for seconds in parts)
            self.assertEqual(ticks, round(policy["metrics"]["iteration_s_mean"] * 1e11))

    def test_out_holds_the_result_and_the_facts(self):
        done = self.good("run", SMALL, "--out", str(self.folder / "a/b"), "--format", "json")
        self.assertEqual(sorted(path.name for path in (self.folder / "a/b").iterdir()),
                         ["detail.json", "meta.json", "result.json"])
        self.assertEqual((self.folder / "a/b/result.json").read_text(), done.stdout)
        meta = json.loads((self.folder / "a/b/meta.json").read_text())
        self.assertGreater(meta["total"]["events"], 0)
        self.assertNotIn("wall_s", done.stdout)

    def test_several_scenarios_get_a_folder_each(self):
        other = self.folder / "other.json"
        text = (ROOT / SMALL).read_text().replace("../../workloads", str(ROOT / "workloads"))
        other.write_text(text)
        done = self.good("run", SMALL, str(other), "--out", str(self.folder / "out"), "--format",
                         "csv")
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), ["other",
                                                                                         "small"])
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([row["scenario"] for row in rows], ["small", "small", "other", "other"])

    def test_a_trace_tells_what_happened_and_two_of_them_where_they_part(self):
        """The job arrives, gets its hosts and starts at once, and finishes at its completion
        time; with one iteration more the runs part at that third event."""
        first, second = self.folder / "first.jsonl", self.folder / "second.jsonl"
        result = json.loads(self.good("run", SMALL, "--trace", str(first), "--format", "json",
                                      "--quiet").stdout)
        events = [json.loads(line) for line in first.read_text().splitlines()]
        for name, policy in result["policies"].items():
            mine = [event for event in events if event["policy"] == name]
            self.assertEqual([event["event"] for event in mine],
                             ["arrived", "placed", "started", "finished"])
            job = policy["jobs"][0]
            self.assertEqual(len(mine[1]["hosts"]), job["gpus"] // 8)
            self.assertEqual(mine[0]["t_s"], job["submit_s"])
            self.assertEqual(mine[3]["t_s"], job["finish_s"])
        self.assertIn("events are the same",
                      self.good("compare", str(first), str(first)).stdout)
        self.good("run", SMALL, "--trace", str(second), "--set", "/jobs/0/iterations=4", "--quiet")
        parted = railyard("compare", str(first), str(second))
        self.assertEqual(parted.returncode, 1)
        self.assertIn("the same up to event 3; then", parted.stdout)
        self.assertIn("first.jsonl:4:", parted.stdout)
        self.refused(2, "compared in pairs", "compare", str(first), SMALL)

    def test_set_and_seed_change_the_scenario(self):
        done = self.good("run", SMALL, "--format", "json", "--seed", "5", "--set",
                         "/jobs/0/iterations=4",
                         "--set", "/notes=[]")
        result = json.loads(done.stdout)
        self.assertEqual((result["seed"], result["notes"]), (5, []))
        base = json.loads(self.good("run", SMALL, "--format", "json").stdout)
        self.assertGreater(result["policies"]["best_fit"]["metrics"]["jct_s_mean"],
                           base["policies"]["best_fit"]["metrics"]["jct_s_mean"])

    def test_compressed_gradients_are_faster_and_the_result_says_what_is_not_modelled(self):
        chosen = "/policies/gpu_packing={\"placement\": \"best_fit\", \"compression\": %s}"
        run = ["run", SMALL, "--format", "json", "--set"]
        done = self.good(*run, chosen % '{"name": "cast", "precision": "int8"}')
        plain, cast = (json.loads(done.stdout)["policies"][name]
                       for name in ("best_fit", "gpu_packing"))
        # A byte and a 64th for two: what is exposed of the reductions falls, all else stays.
        before, after = (each["metrics"]["attribution"] for each in (plain, cast))
        self.assertLess(after["exposed_dp"], before["exposed_dp"])
        self.assertEqual(after["compute"], before["compute"])
        self.assertFalse(any("accuracy" in text for text in plain["warnings"]))
        self.assertTrue(any("accuracy" in text for text in cast["warnings"]))
        self.refused(2, "saves nothing", *run, chosen % '"cast"')

    def test_priorities_of_traffic_are_refused_where_no_links_are_shared(self):
        run = ["run", SMALL, "--format", "json", "--set"]
        ranked = "/policies/gpu_packing={\"placement\": \"best_fit\", \"traffic\": \"intensity\"}"
        self.good(*run, ranked)
        self.refused(2, "/policies/gpu_packing/traffic: needs the network model", *run, ranked,
                     "--set", '/network={"model": "analytic"}')
        self.refused(2, "/network/priority: needs the network model", *run,
                     '/network={"model": "analytic", "priority": "gradients_last"}')
        plain = json.loads(self.good(*run, "/network={}").stdout)["policies"]["best_fit"]
        last = json.loads(self.good(*run, '/network={"priority": "gradients_last"}').stdout)
        self.assertLessEqual(
            last["policies"]["best_fit"]["metrics"]["attribution"]["exposed_pp"],
            plain["metrics"]["attribution"]["exposed_pp"])

    def test_recommenders_and_stencils_run_where_transformers_do(self):
        job = {"name": "other", "gpus": 16, "iterations": 2}
        dlrm = job | {"workload": "workloads/models/dlrm_criteo.json", "global_batch": 65536}
        mesh = job | {"workload": "workloads/models/stencil_3d.json"}
        run = ["run", SMALL, "--format", "json", "--set"]
        told = {}
        for name, part, other in (("dlrm", "exposed_ep", dlrm), ("mesh", "exposed_pp", mesh)):
            done = self.good(*run, f"/jobs=[{json.dumps(other)}]")
            metrics = json.loads(done.stdout)["policies"]["best_fit"]["metrics"]
            self.assertGreater(metrics["attribution"][part], 0)
            told[name] = metrics
        self.assertGreater(told["dlrm"]["throughput_tokens_per_s"], 0)
        self.assertIsNone(told["mesh"]["mfu"])
        # A row of sixteen crosses the hosts twice, a 4 x 2 x 2 grid with a quarter of its faces.
        row = self.good(*run, f"/jobs=[{json.dumps(mesh | {'grid': [16]})}]")
        row = json.loads(row.stdout)["policies"]["best_fit"]["metrics"]
        self.assertLess(row["iteration_s_mean"], told["mesh"]["iteration_s_mean"])
        self.refused(2, "15 ranks, not the 16", *run,
                     f"/jobs=[{json.dumps(mesh | {'grid': [5, 3]})}]")
        self.refused(2, "does not divide over 16 GPUs", *run,
                     f"/jobs=[{json.dumps(dlrm | {'global_batch': 65537})}]")

    def test_dry_run_simulates_nothing_and_writes_nothing(self):
        done = self.good("run", SMALL, "--dry-run", "--out", str(self.folder / "out"))
        self.assertIn("nothing was simulated", done.stdout)
        self.assertFalse((self.folder / "out").exists())

    def test_every_format_and_no_line_of_the_table_beyond_100_places(self):
        table = self.good("run", SMALL).stdout
        self.assertLessEqual(max(map(len, table.splitlines())), 100)
        self.assertIn("note: a note", table)
        self.assertIn("| policy |", self.good("run", SMALL, "--format", "markdown").stdout)

    def test_scenarios_of_one_name_are_refused(self):
        self.refused(2, 'a second scenario is named "small"', "run", SMALL, SMALL)


class Output(Case):
    def test_an_unwritable_folder_is_an_output_error(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        self.refused(4, "cannot be made", "run", SMALL, "--out", str(blocked / "out"))

    def test_a_full_disk_is_an_output_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "run", SMALL], cwd=ROOT, stdout=full,
                                  stderr=subprocess.PIPE, text=True,
                                  timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("stdout: cannot be written", done.stderr)

    def test_a_closed_pipe_is_an_output_error(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([PROGRAM, "run", SMALL], cwd=ROOT, stdout=writing,
                              stderr=subprocess.PIPE, text=True,
                              timeout=SECONDS, check=False)
        os.close(writing)
        self.assertEqual(done.returncode, 4)

    def test_an_interrupt_ends_with_130_and_leaves_no_half_file(self):
        # Long enough that the signal never comes after the end.
        process = subprocess.Popen([PROGRAM, "run", "scenarios/kalos_replay.json", "--jobs", "1",
                                    "--progress", "always",
                                    "--out", str(self.folder)], cwd=ROOT, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        process.stderr.readline()  # the first progress line: it simulates now
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 130)
        for path in self.folder.iterdir():
            json.loads(path.read_text())


class Compare(Case):
    def test_equal_results_differ_in_nothing_and_others_where_they_do(self):
        a, b = str(self.folder / "a"), str(self.folder / "b")
        self.good("run", SMALL, "--out", a)
        self.good("run", SMALL, "--out", b, "--set", "/topology/nvlink/bandwidth=297GB/s")
        self.assertEqual(self.good("compare", a, a).stdout, "no metric differs\n")
        self.assertIn("iteration_s_mean", self.good("compare", a, b).stdout)
        moved = json.loads(self.good("compare", a, b, "--format", "json").stdout)
        self.assertIn("iteration_s_mean", {row["metric"] for row in moved})

    def test_a_tolerance_makes_it_a_test(self):
        a, b = str(self.folder / "a"), str(self.folder / "b")
        self.good("run", SMALL, "--out", a)
        self.good("run", SMALL, "--out", b, "--set", "/topology/nvlink/bandwidth=270GB/s")
        self.assertEqual(railyard("compare", a, a, "--tolerance", "0").returncode, 0)
        self.assertEqual(railyard("compare", a, b, "--tolerance", "0").returncode, 1)

    def test_a_broken_result_is_wrong_input(self):
        (self.folder / "result.json").write_text('{"railyard": "0.1.0"}')
        self.refused(2, 'the key "scenario" is missing', "compare", str(self.folder),
                     str(self.folder))


class Check(Case):
    def test_a_recording_holds_until_one_link_speed_changes_by_one_per_cent(self):
        """And --accept takes the new state as the recorded one, with its reason."""
        baselines = ["--baselines", str(self.folder)]
        self.good("check", "--add", SMALL, "--reason", "first", *baselines)
        self.assertEqual(self.good("check", *baselines).stdout, "small: as recorded\n")
        moved = railyard("check", *baselines, "--set", "/topology/nvlink/bandwidth=297GB/s")
        self.assertEqual(moved.returncode, 1)
        self.assertRegex(moved.stdout, r"iteration_s_mean +[\d.]+ +[\d.]+ +\+[\d.]+ %")
        file = self.folder / "small.json"
        record = json.loads(file.read_text())
        record["policies"]["best_fit"]["metrics"]["mfu"] *= 1.5
        file.write_text(json.dumps(record))
        self.assertEqual(railyard("check", *baselines).returncode, 1)
        junit = self.folder / "junit.xml"
        self.assertEqual(railyard("check", *baselines, "--junit", str(junit)).returncode, 1)
        suite = ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        failure = suite.find("testcase[@name='small']/failure")
        self.assertIn("values moved", failure.get("message"))
        self.assertIn("mfu", failure.text)
        self.refused(2, "--junit: --add compares nothing", "check", *baselines, "--add", SMALL,
                     "--reason", "x", "--junit", str(junit))
        self.refused(2, "--reason", "check", *baselines, "--accept")
        self.good("check", *baselines, "--accept", "--reason", "a test broke it")
        self.assertEqual(json.loads(file.read_text())["reason"], "a test broke it")
        self.good("check", *baselines, "--junit", str(junit))
        self.assertEqual(ElementTree.parse(junit).getroot().get("failures"), "0")

    def test_recorded_traces_hold_to_the_tick_and_a_moved_task_is_named(self):
        shipped = sorted(ROOT.glob("workloads/traces/*.json.gz"))
        self.assertGreaterEqual(len(shipped), 2)
        for file in shipped:
            ranks = json.loads(gzip.open(file).read())["ranks"]
            self.assertGreaterEqual(ranks, 960)
            self.assertIn("tasks end as recorded", self.good("check", str(file)).stdout)
        plain = self.folder / "small.json"
        self.good("trace", "record", SMALL, "--out", str(plain))
        record = json.loads(plain.read_text())
        record["times"][3][1] += 1
        packed = self.folder / "small.json.gz"
        packed.write_bytes(gzip.compress(json.dumps(record).encode()))
        moved = railyard("check", str(packed))
        self.assertEqual((moved.returncode, moved.stderr), (1, ""))
        self.assertIn("task 3 is the first to differ", moved.stdout)
        self.refused(2, "trace record", "check", str(packed), "--set", "/seed=2")
        del record["times"]
        packed.write_bytes(gzip.compress(json.dumps(record).encode()))
        self.refused(2, "no times to compare with", "check", str(packed))

    def test_nothing_recorded_is_wrong_input(self):
        self.refused(2, "holds no recording", "check", "--baselines", str(self.folder))


class Sweep(Case):
    def test_points_are_in_grid_order_and_the_same_for_any_number_of_threads(self):
        one = self.good("sweep", SWEEP, "--jobs", "1", "--format", "csv", "--out", str(self.folder))
        two = self.good("run", SWEEP, "--jobs", "2", "--format", "csv")
        self.assertEqual(one.stdout, two.stdout)
        self.assertEqual((self.folder / "points.csv").read_text(), one.stdout)
        rows = list(csv.DictReader(io.StringIO(one.stdout)))
        points = [(row["point"], row["/jobs/0/global_batch"],
                   row["seed"]) for row in rows if row["policy"] == "best_fit"]
        self.assertEqual(points, [("0", "16", "1"), ("1", "16", "2"), ("2", "32", "1"), ("3", "32",
                                                                                         "2")])
        self.assertGreater(float(rows[-1]["iteration_s_mean"]), float(rows[0]["iteration_s_mean"]))

    def test_the_table_has_a_row_a_point(self):
        lines = self.good("sweep", SWEEP).stdout.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("point"))
        block = lines[start:lines.index("", start)] if "" in lines[start:] else lines[start:]
        self.assertEqual([line.split()[0] for line in block if re.match(r"\d", line)], ["0", "1",
                                                                                        "2", "3"])

    def test_a_pointer_that_points_nowhere_is_refused_before_anything_runs(self):
        bad = self.folder / "bad.json"
        bad.write_text(json.dumps({"description": "x", "scenario": str(ROOT / SMALL),
                                   "grid": {"/seed": [1], "/jobs/0/glbal_batch": [16]}}))
        self.refused(2, "glbal_batch", "sweep", str(bad))
        bad.write_text(json.dumps({"description": "x", "scenario": str(ROOT / SMALL),
                                   "grid": {"/job/0/gpus": [16]}}))
        self.refused(2, "/job/0/gpus", "sweep", str(bad))

    def test_a_scenario_is_no_sweep(self):
        self.refused(2, "no sweep", "sweep", SMALL)


    def test_the_points_of_the_shipped_sweeps_are_well(self):
        """alpha_interval is 3 x 3 points, alpha_beta_interval 40 x 25: the count stands there."""
        counts = {}
        for name in ("alpha_interval", "minipod_penalty", "alpha_beta_interval"):
            done = self.good("sweep", f"scenarios/sweeps/{name}.json", "--dry-run")
            counts[name] = int(re.search(r"(\d+) points are well", done.stdout).group(1))
        self.assertEqual((counts["alpha_interval"], counts["alpha_beta_interval"]), (9, 1000))
        self.assertGreater(min(counts.values()), 1)


class Others(Case):
    def test_a_recorded_iteration_replays_to_its_own_ticks(self):
        file = str(self.folder / "iteration.json")
        self.good("trace", "record", SMALL, "--policy", "gpu_packing", "--out", file)
        self.assertIn("16 ranks", self.good("trace", "info", file).stdout)
        self.assertIn("at the recorded ticks", self.good("trace", "replay", file).stdout)
        self.assertIn("replayed", self.good("trace", "replay", file, "--network",
                                            'protocol={"base": "1ms"}').stdout)
        self.refused(2, 'did you mean "best_fit"?', "trace", "record", SMALL, "--policy",
                     "best_fitt", "--out", file)

    def goal(self, text, name="t.goal"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def test_traces_of_other_tools_are_checked_converted_and_replayed(self):
        trace = self.goal("num_ranks 2\nrank 0 {\nl1: send 1000b to 1\nl2: calc 500\n"
                          "l2 requires l1\n}\nrank 1 {\nl1: recv 1000b from 0\n}\n")
        fabric = "topologies/clos_minipod_2048.json"
        self.assertIn("goal trace of 2 ranks", self.good("trace", "info", trace).stdout)
        self.assertIn("fits together", self.good("trace", "validate", trace).stdout)
        loggp = "model=loggp,L=2500ns,o=1500ns,g=1us,G=1GB/s"
        # o + L + 999 ns + o.
        self.assertIn("ends after 6.499e-06 s", self.good(
            "trace", "replay", trace, "--topology", fabric, "--network", loggp).stdout)
        self.good("trace", "convert", trace, "--to", "chakra", "--out", str(self.folder / "c"))
        again = self.good("trace", "replay", str(self.folder / "c"), "--topology", fabric,
                          "--network", loggp).stdout
        self.assertIn("ends after 6.499e-06 s", again)
        packed = self.folder / "t.goal.gz"
        packed.write_bytes(gzip.compress(pathlib.Path(trace).read_bytes()))
        self.assertIn("goal trace of 2 ranks", self.good("trace", "info", str(packed)).stdout)
        packed.write_bytes(packed.read_bytes()[:-20])
        self.refused(2, "the gzip stream is", "trace", "info", str(packed))
        self.refused(2, "give --topology FILE", "trace", "replay", trace)
        self.refused(2, "--network phases: without effect", "trace", "replay", trace, "--topology",
                     fabric, "--network", "phases=2")
        self.refused(2, "is no format of traces", "trace", "convert", trace, "--to", "gaol",
                     "--out", str(self.folder / "d"))

    def test_broken_traces_end_with_one_diagnosis(self):
        lone = self.goal("num_ranks 2\nrank 0 {\nsend 10b to 1\n}\n")
        done = self.refused(2, "rank 0's send of 10 bytes to rank 1", "trace", "validate", lone)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)
        circle = self.goal("num_ranks 2\n"
                           "rank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n"
                           "rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n")
        self.refused(2, "wait for each other in a circle", "trace", "validate", circle)

    def check_timeline(self, path):
        """Chrome trace events: named processes and threads, bars that do not overlap on one."""
        events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
        names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events
                 if e["ph"] == "M"}
        threads = {}
        for event in events:
            if event["ph"] != "X":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                continue
            self.assertIn(("process_name", event["pid"], 0), names)
            self.assertIn(("thread_name", event["pid"], event["tid"]), names)
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
        for bars in threads.values():
            ends = 0
            for bar in sorted(bars, key=lambda b: (b["ts"], b["dur"])):
                self.assertGreaterEqual(bar["ts"] + 1e-6, ends)
                ends = bar["ts"] + bar["dur"]
        return {value for (what, _, _), value in names.items() if what == "process_name"}, events

    def test_timelines_name_rank_groups_and_links_and_nest(self):
        file = str(self.folder / "timeline.json")
        self.good("run", SMALL, "--perfetto", file)
        processes, events = self.check_timeline(file)
        policies = {name.split(",")[0] for name in processes}
        result = json.loads(self.good("run", SMALL, "--format", "json").stdout)
        self.assertEqual(policies, set(result["policies"]))
        self.assertTrue(any("rank" in name for name in processes))
        self.assertTrue(any("links: " in name for name in processes))
        self.assertIn("compute", {e["name"] for e in events if e["ph"] == "X"})
        recording = str(self.folder / "iteration.json")
        self.good("trace", "record", SMALL, "--policy", "gpu_packing", "--out", recording)
        self.good("trace", "replay", recording, "--perfetto", file)
        _, events = self.check_timeline(file)
        times = json.loads(pathlib.Path(recording).read_text())["times"]
        self.assertAlmostEqual(max(e["ts"] + e["dur"] for e in events if e["ph"] == "X"),
                               max(end for _, end in times) / 1e5, places=4)

    def test_digest_prints_a_line_a_scenario_and_a_total(self):
        lines = self.good("digest", SMALL).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["small", "total"])
        result = json.loads(self.good("run", SMALL, "--format", "json").stdout)
        self.assertEqual(lines[0].split()[1], result["digest"])

    def test_lists_of_every_family(self):
        families = [line.split()[0] for line in self.good("list").stdout.splitlines()]
        self.assertEqual(families, ["topologies", "readers", "writers", "job_readers",
                                    "trace_readers", "trace_writers", "routings", "networks",
                                    "transports", "collectives", "schedulers", "placements",
                                    "queues",
                                    "predictors", "reservations", "failures", "compressions",
                                    "traffic", "gpus", "models", "metrics", "symptoms"])
        for family in families:
            first = self.good("list", family).stdout.split()[0]
            self.assertIn(first, self.good("list", family, first).stdout)

    def test_topology_says_what_it_builds(self):
        """256 hosts of 8 GPUs; minipod 7 has 11 uplinks of 400 Gb/s at 0.96: 4.22 Tb/s."""
        text = self.good("topology", "show", "topologies/clos_minipod_2048.json").stdout
        self.assertIn("2048 GPUs (A100-80) in 256 hosts", text)
        self.assertRegex(text, r"minipod-7 +22 +4\.22")

    def test_topology_bandwidth_by_level(self):
        """256 hosts of 8 GPUs; no level is faster than the one below it."""
        clos = "topologies/clos_minipod_2048.json"
        said = json.loads(self.good("topology", "bandwidth", clos, "--format", "json").stdout)
        levels = {level["level"]: level for level in said["levels"]}
        self.assertEqual(list(levels), ["nvlink", "leaf", "minipod", "core"])
        rates = [level["all_bytes_per_s_mean"] for level in said["levels"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertEqual(said["groups"][0], {"by": "host", "groups": 256, "gpus_min": 8,
                                             "gpus_max": 8})
        text = self.good("topology", "bandwidth", clos).stdout
        self.assertIn("bisection between minipods", text)

    def test_topology_bandwidth_warns_where_levels_hardly_differ(self):
        """A full fat-tree: spray gives every pair its NIC on all levels."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "flat.json"
            file.write_text(json.dumps({
                "builder": "fat_tree", "gpu": "H100", "gpus_per_host": 1, "k": 4,
                "pcie": {"bandwidth": "60GB/s"}, "nic": {"bandwidth": "100Gbps"},
                "switch_link": {"bandwidth": "100Gbps"}}), encoding="utf-8")
            said = json.loads(self.good("topology", "bandwidth", str(file), "--format",
                                        "json").stdout)
            self.assertEqual(len(said["warnings"]), 1)
            self.assertIn("less than 30 %", said["warnings"][0])

    def test_topology_bottlenecks(self):
        """An incast ends at one GPU: the hottest links lead to it, all senders share one NIC."""
        clos = "topologies/clos_minipod_2048.json"
        said = json.loads(self.good("topology", "bottlenecks", clos, "--pattern", "incast",
                                    "--target", "9", "--top", "2", "--format", "json").stdout)
        self.assertEqual(said["flows"], 2047)
        self.assertEqual(len(said["links"]), 2)
        self.assertIn("host-1/", said["links"][0]["link"])
        self.assertGreater(said["links"][0]["load"], 1000)
        self.assertEqual(said["groups"][0]["by"], "host")
        self.assertEqual(sorted(said["ring_order"]), sorted(f"host-{h}" for h in range(256)))
        text = self.good("topology", "bottlenecks", clos).stdout
        self.assertIn("ring order: host-0, host-1", text)
        self.assertRegex(text, "changes the leaf [0-9]+ times and the minipod 8 times")
        self.refused(2, "take a shift or a permutation", "topology", "bottlenecks", clos,
                     "--pattern", "all_to_all")
        self.refused(2, "--shift is of the pattern shift", "topology", "bottlenecks", clos,
                     "--shift", "8")
        self.refused(2, 'did you mean "ring"', "topology", "bottlenecks", clos, "--pattern",
                     "rings")

    def test_collectives_from_files(self):
        """The shipped one beats the flat ring; a path is relative to where it is written."""
        def time_of(*arguments):
            said = self.good("collective", "all_reduce", "--topology",
                             "topologies/superpod_h100.json", "--sizes", "64MiB", "--format",
                             "json", *arguments)
            return json.loads(said.stdout)[0]["time_s"]

        file = '{"name": "file", "path": "workloads/collectives/two_hosts_2d.json"}'
        self.assertLess(time_of("--hosts", "2", "--algorithm", file) * 4,
                        time_of("--hosts", "2", "--algorithm", "ring"))
        self.refused(2, "is for 16 ranks, but the group has 8", "collective", "all_reduce",
                     "--topology", "topologies/superpod_h100.json", "--hosts", "1",
                     "--algorithm", file)
        self.refused(2, "performs all_reduce, not all_gather", "collective", "all_gather",
                     "--topology", "topologies/superpod_h100.json", "--hosts", "2",
                     "--algorithm", file)
        zigzag = ("--gpus", "0,8,1,9,2,10,3,11", "--algorithm", "ring")
        self.assertLess(time_of(*zigzag, "--ring-order", "topology"), time_of(*zigzag))
        self.refused(2, "GPU 3 stands there twice", "collective", "all_reduce", "--topology",
                     "topologies/superpod_h100.json", "--gpus", "0-3,3")

    def test_a_scenario_finds_a_file_beside_it_and_recordings_carry_it(self):
        """Of two ranks the ring is these four messages; tensor groups have eight."""
        steps = [{"source": r, "destination": 1 - r, "chunk": c, "reduce": reduce, "after": after}
                 for r, c, reduce, after in ((0, 0, True, []), (1, 1, True, []),
                                             (0, 1, False, [1]), (1, 0, False, [0]))]
        own = self.folder / "own.json"
        own.write_text(json.dumps({"name": "pair", "operation": "all_reduce", "ranks": 2,
                                   "chunks": 2, "steps": steps}), encoding="utf-8")
        scenario = json.loads((ROOT / SMALL).read_text(encoding="utf-8"))
        scenario["jobs"][0]["workload"] = str(ROOT / "workloads/models/megatron_1_7b.json")
        choice = {"name": "file", "path": "own.json", "otherwise": "ring"}
        scenario["policies"]["own"] = {
            "placement": "best_fit", "collectives": {"all_reduce": choice,
                                                     "ring_order": "topology"}}
        file = self.folder / "scenario.json"
        file.write_text(json.dumps(scenario), encoding="utf-8")
        said = json.loads(self.good("run", str(file), "--format", "json").stdout)["policies"]
        self.assertAlmostEqual(said["own"]["metrics"]["iteration_s_mean"],
                               said["best_fit"]["metrics"]["iteration_s_mean"], places=7)
        recording = str(self.folder / "recording.json")
        self.good("trace", "record", str(file), "--policy", "own", "--out", recording)
        own.unlink()
        self.assertIn("end at the recorded ticks", self.good("trace", "replay", recording).stdout)
        self.refused(2, "own.json", "run", str(file))
        del choice["otherwise"]
        own.write_text(json.dumps({"name": "pair", "operation": "all_reduce", "ranks": 2,
                                   "chunks": 2, "steps": steps}), encoding="utf-8")
        file.write_text(json.dumps(scenario), encoding="utf-8")
        self.refused(2, "is for 2 ranks, but the group has 8", "run", str(file))

    def test_topology_convert_and_back(self):
        """What is written can be shown: the same hosts and as many links."""
        with tempfile.TemporaryDirectory() as folder:
            small = pathlib.Path(folder) / "small.json"
            small.write_text(json.dumps({
                "builder": "rail_optimized", "gpu": "H100", "gpus_per_host": 2,
                "nvlink": {"bandwidth": "300GB/s"}, "pcie": {"bandwidth": "60GB/s"},
                "nic": {"bandwidth": "100Gbps", "per_host": 2}, "hosts_per_minipod": [4, 4],
                "spines": 2, "switch_link": {"bandwidth": "100Gbps"}}), encoding="utf-8")
            before = json.loads(self.good("topology", "show", str(small), "--format",
                                          "json").stdout)
            for form, file in (("json", "x.json"), ("graphml", "x.graphml"), ("simai", "x.simai")):
                out = pathlib.Path(folder) / file
                self.good("topology", "convert", str(small), "--to", form, "-o", str(out))
                self.good("topology", "validate", str(out))
                after = json.loads(self.good("topology", "show", str(out), "--format",
                                             "json").stdout)
                self.assertEqual(after["hosts"], before["hosts"])
                self.assertEqual(after["gpus"], before["gpus"])
                if form != "simai":  # which knows no NICs
                    self.assertEqual(after["links"], before["links"])
                    self.assertEqual(after["tiers"], before["tiers"])
            self.refused(2, "htsim cannot say this fabric", "topology", "convert", str(small),
                         "--to", "htsim")
            self.refused(2, 'did you mean "simai"', "topology", "convert", str(small), "--to",
                         "simay")


class Flows(Case):
    FLOWS = "tests/cli/flows.csv"
    GIVEN = ["--links", "tests/cli/links.csv", "--routes", "tests/cli/routes.csv"]

    def bad(self, code, line, text, *arguments, name="bad.csv"):
        file = self.folder / name
        file.write_text(text)
        self.refused(code, f"{name}{line}", "flows", str(file), *self.GIVEN, *arguments)

    def test_times_are_exact_in_ticks(self):
        """1 MB at 12.5 GB/s is 80 us, and 1 us away; its answer starts then. Flow 3 shares the
        last link of flow 1: from 5 us on both have half, and 0.25 MB take 40 us: it ends at
        45 us, and flow 1 at 100 us."""
        out = self.folder / "times.csv"
        self.good("flows", self.FLOWS, *self.GIVEN, "--out", str(out), "--quiet")
        self.assertEqual(out.read_text(), "id,start_s,finish_s\n"
                         "1,0.00000000000,0.00010100000\n2,0.00010100000,0.00018200000\n"
                         "3,0.00000500000,0.00004600000\n")

    def test_json_has_the_statistics(self):
        done = self.good("flows", self.FLOWS, *self.GIVEN, "--format", "json")
        result = json.loads(done.stdout)
        self.assertEqual((result["flows"], result["unfinished"]), (3, 0))
        self.assertAlmostEqual(result["makespan_s"], 182e-6)
        self.assertEqual(sum(size["flows"] for size in result["by_size"]), 3)

    def test_every_transport_model_and_routing_runs(self):
        fabric = ["--topology", "topologies/clos_minipod_2048.json"]
        for transport in ("ideal", "nscc", "nscc_oblivious", "rccc", "ndp", "eqds", "roce"):
            self.good("flows", self.FLOWS, *self.GIVEN, "--transport", transport)
        for network in ("fluid", "analytic", "loggp"):
            self.good("flows", self.FLOWS, *self.GIVEN, "--network", network)
        for routing in ("ecmp", "static", "shortest", "spray", "adaptive"):
            self.good("flows", self.FLOWS, *fabric, "--routing", routing, "--transport", "roce",
                      "--network", "packet_corrected")

    def test_wrong_lists_are_named_by_line(self):
        header = "id,src,dst,bytes,start,deps\n"
        self.bad(2, ":2 column \"deps\": no flow has the id", header + "1,0,8,5,0,9\n")
        self.bad(2, ":2: flow 1 waits for itself", header + "1,0,8,5,0,2\n2,0,8,5,0,1\n")
        self.bad(2, ":2 column \"dst\": is the source", header + "1,0,0,5,0,\n")
        self.bad(2, ":2 column \"bytes\": must be at least 1", header + "1,0,8,0,0,\n")
        self.bad(2, ":2: flow 1: no route from", header + "1,8,16,5,0,\n")
        self.bad(2, ":1: missing column \"bytes\"", "id,src,dst,start\n1,0,8,0\n")
        self.bad(2, ":2: start 5: in which unit?", "Nodes 9\n0->8 start 5 size 1\n",
                 name="bad.cm")

    def test_priorities_and_shares_need_links_that_are_shared(self):
        for column, value in (("priority", "1"), ("share", "2")):
            self.bad(2, f":2: flow \"1\" has a {column}",
                     f"id,src,dst,bytes,start,{column}\n1,0,8,5,0,{value}\n", "--network",
                     "analytic")

    def test_series_add_up_to_what_the_links_carried(self):
        """The last link of flow 1 carries its 1 MB and the 0.25 MB of flow 3."""
        series = self.folder / "series.csv"
        self.good("flows", self.FLOWS, *self.GIVEN, "--series", str(series), "--bins", "8")
        carried = {}
        for row in csv.DictReader(series.read_text().splitlines()):
            span = float(row["end_s"]) - float(row["start_s"])
            carried[row["link"]] = (carried.get(row["link"], 0) +
                                    float(row["utilization"]) * 12.5e9 * span)
        self.assertIn(1.25e6, [round(amount, -1) for amount in carried.values()])
        self.good("flows", self.FLOWS, "--topology", "topologies/clos_minipod_2048.json",
                  "--series", str(series))
        rows = list(csv.DictReader(series.read_text().splitlines()))
        self.assertTrue(any(row["link"] == "" and row["tier"] == "leaf" for row in rows))
        self.assertTrue(all(float(row["utilization"]) <= 1 + 1e-9 for row in rows))

    def test_limits_add_up_to_the_transfer_of_every_flow(self):
        """Links without latency of their own aside: a flow's stretches end when its last byte
        leaves, a path latency before its finish."""
        limits, times = self.folder / "limits.csv", self.folder / "times.csv"
        self.good("flows", self.FLOWS, "--topology", "topologies/clos_minipod_2048.json",
                  "--limits", str(limits), "--out", str(times))
        held = {}
        for row in csv.DictReader(limits.read_text().splitlines()):
            self.assertIn(row["cause"], ("alone", "shared"))
            held[row["id"]] = held.get(row["id"], 0) + float(row["time_s"])
        rows = list(csv.DictReader(times.read_text().splitlines()))
        self.assertEqual(set(held), {row["id"] for row in rows})
        for row in rows:
            whole = float(row["finish_s"]) - float(row["start_s"])
            self.assertTrue(0 <= whole - held[row["id"]] < 20e-6, (row, held))

    def test_options_that_do_nothing_are_refused(self):
        for line, *options in (
                ("--limits: the network models", *self.GIVEN, "--limits", "x", "--network",
                 "analytic"),
                ("either --topology or --links",),
                ("--routing: needs --topology", *self.GIVEN, "--routing", "spray"),
                ("--seed: needs --topology", *self.GIVEN, "--seed", "1"),
                ("--start-unit: only for .cm", *self.GIVEN, "--start-unit", "us"),
                ("--timeout: needs --faults", *self.GIVEN, "--timeout", "1ms"),
                ("has no packets", *self.GIVEN, "--network", "packet_corrected"),
                ("--bins: needs --series", *self.GIVEN, "--bins", "4"),
                ("--bins: expected an even number", *self.GIVEN, "--series", "x", "--bins", "3"),
                ("--series: the network models", *self.GIVEN, "--series", "x", "--network",
                 "analytic"),
                ("--transport: an initial window", *self.GIVEN, "--network", "loggp",
                 "--transport", '{"name": "roce", "initial_window": "4KiB"}'),
                ("unknown transport", *self.GIVEN, "--transport", "tcp")):
            self.refused(2, line, "flows", self.FLOWS, *options)

    def test_flows_go_around_failed_links(self):
        """The fabric has other spines: the flow goes on. A failed leaf cuts the host off."""
        flows = self.folder / "flows.csv"
        flows.write_text("id,src,dst,bytes,start\n1,0,127,100000000,0\n")
        topology = self.folder / "two.topo"
        topology.write_text("Nodes 8\nTiers 2\nPodsize 8\n\nTier 0\nDownlink_speed_Gbps 100\n"
                            "Radix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 500\n\nTier 1\n"
                            "Downlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n")
        flows.write_text("id,src,dst,bytes,start\n1,0,7,100000000,0\n")
        faults = self.folder / "faults.csv"
        command = ["flows", str(flows), "--topology", str(topology), "--faults", str(faults),
                   "--format", "json", "--routing"]
        for routing in ("spray", "shortest", "ecmp", "static"):
            faults.write_text("time,event,node\n" + "".join(
                f"0.001,fail,US{spine}\n" for spine in range(3)))
            result = json.loads(self.good(*command, routing).stdout)
            self.assertAlmostEqual(result["makespan_s"], 8.002e-3, places=9)
            self.assertLessEqual(result["repaths"], 3)
            faults.write_text("time,event,node\n0.001,fail,LS1\n0.003,recover,LS1\n")
            result = json.loads(self.good(*command, routing).stdout)
            self.assertAlmostEqual(result["makespan_s"], 10.002e-3, places=9)
        faults.write_text("time,event,node\n0.001,fail,LS1\n")
        result = json.loads(self.good(*command, "spray").stdout)
        self.assertEqual(result["unfinished"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=0)
