#!/usr/bin/env python3
"""test_sweep.py PROGRAM: sweeps that are killed, go on, and say what they found."""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from support import PROGRAM, ROOT, Case

FILES = ("points.csv", "points.json")


class Resumed(Case):
    def points(self):
        return self.sweep(grid={"/jobs/0/iterations": [2, 3, 4], "/jobs/0/global_batch": [16, 32]},
                          seeds={"count": 4})

    def test_a_sweep_killed_at_any_moment_goes_on_to_the_same_bytes(self):
        sweep = self.points()
        whole = self.folder / "whole"
        text = self.good("sweep", sweep, "--out", whole, "--format", "json").stdout
        for lines in (0, 1, 2, 9, 20):
            part = self.folder / f"part {lines}"
            log = part / "points.log"
            words = [PROGRAM, "sweep", sweep, "--out", part, "--jobs", "1", "--quiet"]
            with subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL) as running:
                while lines > 0 and running.poll() is None and \
                        not (log.exists() and log.read_bytes().count(b"\n") >= lines):
                    time.sleep(0.001)
                running.send_signal(signal.SIGKILL)
            before = log.read_bytes() if log.exists() else b""
            done = self.good("sweep", sweep, "--out", part, "--resume", "--format", "json")
            kept = [line for line in before.split(b"\n")[1:-1] if line]
            self.assertIn(f"resumed: {len(kept)} of 24 points", done.stderr)
            self.assertEqual(done.stdout, text)
            self.assertEqual(log.read_bytes()[:len(before)], before)
            for name in FILES:
                self.assertEqual((part / name).read_bytes(), (whole / name).read_bytes(), name)

    def test_a_damaged_record_is_run_again_and_nothing_else(self):
        sweep, out = self.points(), self.folder / "out"
        self.good("sweep", sweep, "--out", out)
        before = {name: (out / name).read_bytes() for name in FILES}
        log = (out / "points.log").read_bytes().split(b"\n")
        log[7] = log[7].replace(b"iteration_s_mean", b"iteration_s_meen")
        (out / "points.log").write_bytes(b"\n".join(log))
        done = self.good("sweep", sweep, "--out", out, "--resume")
        self.assertIn("resumed: 23 of 24 points were finished; 1 damaged", done.stderr)
        self.assertEqual(len(json.loads((out / "meta.json").read_text())["runs"]), 2)
        for name, text in before.items():
            self.assertEqual((out / name).read_bytes(), text)

    def test_an_interrupt_keeps_what_is_finished(self):
        sweep = self.sweep(grid={"/jobs/0/iterations": [2]}, seeds={"count": 3000})
        out = self.folder / "out"
        words = [PROGRAM, "sweep", str(sweep), "--out", str(out), "--progress", "never"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as running:
            while not (out / "points.log").exists() or \
                    (out / "points.log").read_bytes().count(b"\n") < 4:
                time.sleep(0.02)
            running.send_signal(signal.SIGINT)
            start = time.monotonic()
            said = running.communicate()[1]
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(running.returncode, 130)
        self.assertIn("--resume runs the others", said)
        with (out / "points.csv").open() as file:
            rows = len({row["point"] for row in csv.DictReader(file)})
        self.assertEqual(rows, (out / "points.log").read_bytes().count(b"\n") - 1)

    def test_what_a_sweep_is_made_of_is_not_mixed(self):
        scenario, text = self.scenario()
        sweep = self.sweep(scenario=str(scenario), grid={"/jobs/0/iterations": [2]})
        out = self.folder / "out"
        self.good("sweep", sweep, "--out", out)
        self.refused(2, "holds points of a sweep", "sweep", sweep, "--out", out)
        self.refused(2, "begun with another", "sweep", sweep, "--out", out, "--resume", "--seed",
                     "2")
        scenario.write_text(text.replace('"2us"', '"3us"').replace('"1us"', '"2us"'))
        self.refused(2, "begun with another scenario", "sweep", sweep, "--out", out, "--resume")
        scenario.write_text(text)
        self.good("sweep", sweep, "--out", out, "--resume")
        self.refused(2, "--out DIR", "sweep", sweep, "--resume")


class Answers(Case):
    def test_sqlite_holds_the_rows_of_the_csv(self):
        sweep = self.sweep(grid={"/jobs/0/global_batch": [16, 32]}, seeds=[1, 2])
        out = self.folder / "out"
        self.good("sweep", sweep, "--out", out)
        with (out / "points.csv").open() as file:
            rows = list(csv.DictReader(file))
        with sqlite3.connect(out / "points.sqlite") as data:
            data.row_factory = sqlite3.Row
            held = list(data.execute("SELECT * FROM results JOIN points USING (point) "
                                     "ORDER BY results.rowid"))
        self.assertEqual(len(held), len(rows))
        for ours, theirs in zip(held, rows):
            for key, text in theirs.items():
                value = ours[key]
                same = (value is None and text == "") or str(value) == text or \
                    float(value) == float(text)
                self.assertTrue(same, (key, value, text))

    def test_means_over_seeds_and_the_front_are_those_of_the_points(self):
        sweep = self.sweep(grid={"/jobs/0/global_batch": [16, 32]}, seeds=[1, 2, 3])
        out = self.folder / "out"
        done = self.good("sweep", sweep, "--out", out, "--pareto",
                         "throughput_tokens_per_s,iteration_s_mean")
        self.assertIn("Pareto front", done.stdout)
        held = json.loads((out / "points.json").read_text())
        members = [setting["points"] for setting in held["settings"]]
        self.assertEqual(members, [[0, 1, 2], [3, 4, 5]])
        for setting in held["settings"]:
            values = [held["points"][at]["policies"]["best_fit"]["iteration_s_mean"]
                      for at in setting["points"]]
            mean = setting["policies"]["best_fit"]["iteration_s_mean"]["mean"]
            self.assertAlmostEqual(mean, sum(values) / 3)
        shown = self.good("sweep", sweep, "--metric", "iteration_s_mean").stdout.splitlines()
        mean = held["settings"][1]["policies"]["gpu_packing"]["iteration_s_mean"]["mean"]
        self.assertEqual(shown[-1].split()[0], "32")
        self.assertIn(f"{mean:.5g}", shown[-1])
        self.refused(2, "--pareto", "sweep", sweep, "--pareto", "nothing")
        self.refused(2, 'did you mean "mfu"', "sweep", sweep, "--metric", "mfus")
        self.refused(2, "did you mean", "sweep", sweep, "--pareto", "mfu,makespan_")

    def test_samples_and_constraints(self):
        sweep = self.sweep(latin_hypercube={"points": 6, "axes": {
            "/jobs/0/iterations": {"from": 2, "to": 7, "whole": True}}},
            variables={"n": "/jobs/0/iterations", "a": "/diffusion/alpha"},
            constraints=["10 * a = n", "n >= 4"])
        done = self.good("sweep", sweep, "--format", "csv")
        rows = list(csv.DictReader(done.stdout.splitlines()))
        pairs = {(row["/jobs/0/iterations"], row["/diffusion/alpha"]) for row in rows}
        self.assertEqual(pairs, {(str(n), f"0.{n}") for n in (4, 5, 6, 7)})
        self.assertIn("2 do not meet", self.good("sweep", sweep, "--dry-run").stdout)


class Init(Case):
    def test_what_it_writes_runs(self):
        file = self.folder / "deep" / "mine.json"
        self.good("init", file, "--topology", "superpod_a100", "--model", "megatron_1_7b", "--gpus",
                  "16", "--occupied", "0.5", "--placements", "best_fit,random_fit")
        self.assertGreater(file.read_text().count("//"), 5)
        result = json.loads(self.good("run", file, "--format", "json").stdout)
        self.assertEqual(list(result["policies"]), ["best_fit", "random_fit"])
        self.assertEqual(result["policies"]["best_fit"]["jobs"][0]["gpus"], 16)
        self.refused(2, "exists", "init", file)
        self.good("init", file, "--force", "--topology", "superpod_a100", "--model",
                  "megatron_1_7b", "--gpus", "8")

    def test_answers_at_a_terminal_are_the_flags(self):
        primary, secondary = os.openpty()
        file = self.folder / "asked.json"
        words = [PROGRAM, "init", str(file)]
        with subprocess.Popen(words, cwd=ROOT, stdin=secondary, stderr=secondary,
                              stdout=subprocess.PIPE) as running:
            for answer in ("superpod_a100", "megatron_1_7b", "16", "", "best_fit"):
                os.write(primary, answer.encode() + b"\n")
            self.assertIn(b"railyard run", running.communicate(timeout=60)[0])
        flags = self.folder / "flags.json"
        self.good("init", flags, "--topology", "superpod_a100", "--model", "megatron_1_7b",
                  "--gpus", "16", "--placements", "best_fit")
        self.assertEqual(file.read_text(), flags.read_text())

    def test_wrong_answers_write_nothing(self):
        file = self.folder / "x.json"
        for line, words in (("did you mean \"superpod_a100\"", ["--topology", "superpod_a10"]),
                            ("did you mean", ["--model", "llama3_70"]),
                            ("--gpus: expected a number", ["--gpus", "0"]),
                            ("--occupied", ["--occupied", "2"]),
                            ("no placement", ["--placements", "best_fi"]),
                            ("of which 320 are occupied", ["--topology", "superpod_a100", "--model",
                                                "megatron_1_7b", "--gpus", "512", "--occupied",
                                                "0.5"])):
            self.refused(2, line, "init", file, *words)
            self.assertFalse(file.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
