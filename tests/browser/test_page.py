#!/usr/bin/env python3
"""test_page.py PROGRAM WORK: pages of `railyard report` in a headless browser (page.mjs). Skips,
and says so, where the program was built without pages or no browser, node or npm is at hand."""

import csv
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = ""
WORK = pathlib.Path()
BROWSER = ""
SKIPPED = 77


def railyard(*words):
    return subprocess.run([PROGRAM, *map(str, words)], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=300)


def what_is_missing():
    """The sentence to print, or nothing: then playwright-core lies in WORK."""
    for name in ("node", "npm"):
        if not shutil.which(name):
            return f"no {name} here"
    if not BROWSER:
        return "no chromium here"
    reason = railyard("report", "no such result").stderr
    if "npm" in reason or "bundled" in reason:
        return reason.strip()
    WORK.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "page.mjs"):
        shutil.copy(HERE / name, WORK / name)
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    if not (WORK / "node_modules/playwright-core").exists():
        done = subprocess.run(words, cwd=WORK, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"npm could not fetch playwright-core: {done.stderr.strip()[-200:]}"
    return ""


class Page(unittest.TestCase):
    def good(self, *words):
        done = railyard(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def looked_at(self, page, data, expected):
        words = ["node", "page.mjs", BROWSER, page, data, expected]
        done = subprocess.run(words, cwd=WORK, capture_output=True, text=True, check=False,
                              timeout=300)
        print(done.stdout, end="", flush=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def of_run(self, name, expected, *words):
        folder = WORK / name
        self.good("run", *words, "--out", folder, "--quiet")
        page = WORK / f"{name}.html"
        self.good("report", folder, "-o", page)
        self.looked_at(page, folder / "result.json", expected)
        return page

    def test_one_large_job(self):
        page = self.of_run("quickstart", "comparison,why,groups,iteration,topology,gantt",
                           "scenarios/quickstart.json")
        charts = self.pictures(WORK / "quickstart",
                               ["gantt", "groups", "iteration", "topology", "why"])
        self.bars_are_as_long_as_the_numbers(charts / "why.svg", WORK / "quickstart/result.json")
        text = page.read_text()
        self.assertIn("Apache License", text)
        self.assertIn("Redistribution and use in source and binary forms", text)

    def pictures(self, folder, names):
        """Every chart as SVG and PNG: whole, nothing fetched, the PNG of twice the size."""
        charts = WORK / f"{folder.name} charts"
        shutil.rmtree(charts, ignore_errors=True)
        said = self.good("report", folder, "--export", charts)
        self.assertIn(f"{len(names)} charts", said)
        self.assertEqual(sorted(file.name for file in charts.iterdir()),
                         sorted(f"{name}.{form}" for name in names for form in ("png", "svg")))
        for name in names:
            root = ElementTree.parse(charts / f"{name}.svg").getroot()
            size = [round(2 * float(root.get(key))) for key in ("width", "height")]
            png = (charts / f"{name}.png").read_bytes()
            self.assertEqual((png[:8], list(struct.unpack(">II", png[16:24]))),
                             (b"\x89PNG\r\n\x1a\n", size))
            text = (charts / f"{name}.svg").read_text()
            self.assertNotRegex(text, r"NaN|undefined|href=\"[^#d]|url\((?!#)")
            self.assertGreater(len(list(root.iter("{http://www.w3.org/2000/svg}path"))), 5)
        return charts

    def bars_are_as_long_as_the_numbers(self, svg, result):
        """Bars of contention, in its colour: as long, one to the other, as the times."""
        drawn = re.findall(r'<path d="M[\d.]+ [\d.]+l([\d.]+) 0[^>]*fill="#d55e00"[^>]*'
                           r'data_index="(\d+)"', svg.read_text())
        policies = json.loads(result.read_text())["policies"].values()
        wanted = [policy["metrics"]["attribution"]["contention"] for policy in policies]
        self.assertEqual([int(at) for _, at in drawn], list(range(len(wanted))))
        bars = [float(width) for width, _ in drawn]
        for bar, value in zip(bars, wanted):  # to a tenth of a pixel
            self.assertAlmostEqual(bar, value / max(wanted) * max(bars), delta=0.11)

    def test_without_a_browser_it_says_what_is_missing(self):
        folder = WORK / "small"
        self.good("run", "tests/cli/small.json", "--out", folder, "--quiet")
        done = subprocess.run([PROGRAM, "report", folder, "--export", WORK / "none"], cwd=ROOT,
                              capture_output=True, text=True, check=False,
                              env={"CHROMIUM": "/no/such/browser", "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, 4)
        self.assertIn("/no/such/browser does not open the page", done.stderr)
        self.assertEqual(list((WORK / "none").glob("*")), [])

    def test_many_jobs_and_names_that_would_end_the_script(self):
        """A name of a job is the user's: it may hold what ends a script or a line of one."""
        name = "</script><script>throw 1</script>\u2028<!--"
        scenario = json.loads((ROOT / "tests/cli/small.json").read_text())
        one = scenario["jobs"][0]
        scenario["jobs"] = [{**one, "name": f"{name}{at}", "arrival": f"{at}s",
                             "iterations": 3 + at} for at in range(12)]
        for job in scenario["jobs"]:
            job["workload"] = str(ROOT / "tests/cli" / job["workload"])
        path = WORK / "many.json"
        path.write_text(json.dumps(scenario))
        self.of_run("many", "comparison,why,groups,iteration,topology,time,completion,gantt", path)

    def test_a_sweep_beside_a_validation(self):
        sweep = {"description": "a sweep", "scenario": str(ROOT / "tests/cli/small.json"),
                 "grid": {"/jobs/0/global_batch": [16, 32, 64], "/jobs/0/micro_batch": [1, 2]},
                 "seeds": [1, 2, 3]}
        path = WORK / "sweep.json"
        path.write_text(json.dumps(sweep))
        folder = WORK / "swept"
        shutil.rmtree(folder, ignore_errors=True)
        self.good("sweep", path, "--out", folder, "--quiet")
        rows = WORK / "validation.json"
        rows.write_text(self.good("validate", "sc21_table1", "--format", "json"))
        page = WORK / "swept.html"
        self.good("report", folder, "-o", page, "--validation", rows)
        self.looked_at(page, folder / "points.json", "heat,pareto,validation")

    def test_ten_thousand_jobs_open_fast(self):
        with (WORK / "jobs.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["job_id", "submit_time_s", "num_gpus", "duration_s", "job_type"])
            for at in range(10000):
                gpus = (1, 2, 4, 8, 8)[at * at % 11 % 5]
                rows.writerow([at, at * 12, gpus, 300 + at * 7919 % 9000, "Other"])
        policies = {"packed": {"placement": {"name": "gpu_packing"}},
                    "random": {"placement": {"name": "random_fit"}}}
        topology = str(ROOT / "topologies/clos_minipod_2048.json")
        scenario = {"description": "ten thousand jobs", "topology": topology,
                    "job_trace": str(WORK / "jobs.csv"), "policies": policies,
                    "baseline": "packed", "seed": 1}
        path = WORK / "thousands.json"
        path.write_text(json.dumps(scenario))
        folder = WORK / "thousands"
        self.good("run", path, "--out", folder, "--quiet")
        page = WORK / "thousands.html"
        self.good("report", folder, "-o", page)
        self.looked_at(page, folder / "result.json", "quick")


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    WORK = pathlib.Path(sys.argv.pop(1)).resolve()
    BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
    MISSING = what_is_missing()
    if MISSING:
        print(f"skipped: pages are not looked at: {MISSING}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
