#!/usr/bin/env python3
"""test_generate.py PROGRAM: `railyard trace generate` against the published distributions.

Twenty thousand jobs a profile. The Kolmogorov-Smirnov distance, the largest difference of two
distribution functions, is taken at the points the figures give. Curves are those of ../shared/data,
where it is, else the profile's own.
"""

import collections
import csv
import io
import json
import math
import pathlib
import statistics
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CURVES = ROOT / "../shared/data/traces/acme_distributions/cdf_curves.csv"
PROGRAM = ""
LIMIT = 0.03

# GPUs of the cluster, days that make about 20,000 jobs at 80 % load, its name in the figures.
PROFILES = {"acme_kalos": (2416, 36.1, "Kalos"), "acme_seren": (2288, 5.11, "Seren"),
            "philly": (2048, 5.13, "Philly"), "poisson": (2416, 36.1, "Kalos")}


def generate(name, seed=1, load="0.8"):
    gpus, days, _ = PROFILES[name]
    command = [PROGRAM, "trace", "generate", "--profile", name, "--load", load, "--gpus", str(gpus),
               "--days", str(days), "--seed", str(seed)]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def jobs_of(text):
    return [{"at": float(row["submit_time_s"]), "gpus": int(row["num_gpus"]),
             "s": float(row["duration_s"]), "type": row["job_type"]}
            for row in csv.DictReader(io.StringIO(text))]


def profile(name):
    data = json.loads((ROOT / f"workloads/profiles/{name}.json").read_text(encoding="utf-8"))
    if "base" in data:
        data["types"] = profile(data["base"].removesuffix(".json"))["types"]
    return data


def distance(values, points):
    """Largest difference to a distribution function, at its points (value, percent)."""
    values = sorted(values)
    return max(abs(sum(value <= x for value in values) / len(values) - percent / 100)
               for x, percent in points)


def published(metric, cluster, kind):
    if not CURVES.exists():
        return None
    with open(CURVES, newline="", encoding="ascii") as file:
        return [(float(row["x"]), float(row["cdf_percent"])) for row in csv.DictReader(file)
                if (row["metric"], row["cluster"], row["job_type"]) == (metric, cluster, kind)]


class Generated(unittest.TestCase):
    def check_profile(self, name):
        jobs = jobs_of(generate(name))
        self.assertGreater(len(jobs), 19_500)
        data, cluster = profile(name), PROFILES[name][2]
        sizes = collections.Counter()
        for kind in data["types"]:
            for gpus, weight in kind["gpus"].items():
                sizes[int(gpus)] += weight
        own = [(gpus, sum(w for size, w in sizes.items() if size <= gpus)) for gpus in sizes]
        points = published("jobs_vs_gpu_num", cluster, "all") or own
        found = {"gpus": distance([job["gpus"] for job in jobs], points)}
        for kind in data["types"]:
            of_kind = [job["s"] for job in jobs if job["type"] == kind["name"]]
            share = 100 * len(of_kind) / len(jobs)
            self.assertLess(abs(share - kind["percent"]), 0.1, kind["name"])
            metric, whose = (("gpu_job_duration_s", "all") if cluster == "Philly" else
                             ("duration_s_by_type", kind["name"]))
            found[kind["name"]] = distance(of_kind,
                                           published(metric, cluster, whose) or kind["run_time_s"])
        print(name, {key: round(value, 4) for key, value in found.items()})
        for key, value in found.items():
            self.assertLessEqual(value, LIMIT, key)
        return jobs, data

    def test_distances(self):
        if not CURVES.exists():
            print("skipped without shared data: traces/acme_distributions/cdf_curves.csv")
        for name, (gpus, days, _) in PROFILES.items():
            with self.subTest(profile=name):
                jobs, data = self.check_profile(name)
                # The last of n jobs comes a mean gap before the end.
                span = jobs[-1]["at"] * len(jobs) / (len(jobs) - 1)
                load = sum(job["gpus"] * job["s"] for job in jobs) / (gpus * span)
                self.assertAlmostEqual(load / 0.8, 1, delta=1e-4)
                # A tenth of the GPU time lies in a dozen jobs: the draw, and so the time, varies.
                self.assertAlmostEqual(span / (days * 86_400), 1, delta=0.2)
                gaps = [b["at"] - a["at"] for a, b in zip(jobs, jobs[1:])]
                cv = statistics.pstdev(gaps) / statistics.mean(gaps)
                self.assertAlmostEqual(cv / data["arrivals"]["cv"], 1, delta=0.05)
                zero = 100 * sum(gap == 0 for gap in gaps) / len(gaps)
                self.assertLess(abs(zero - data["arrivals"].get("same_second_percent", 0)), 1)

    def test_a_seed_is_a_trace(self):
        self.assertEqual(generate("acme_kalos"), generate("acme_kalos"))
        self.assertNotEqual(generate("acme_kalos", 1), generate("acme_kalos", 2))

    def test_twice_the_load_is_twice_the_jobs(self):
        half, full = (len(jobs_of(generate("philly", load=load))) for load in ("0.4", "0.8"))
        self.assertTrue(math.isclose(full / half, 2, rel_tol=0.001), (half, full))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
