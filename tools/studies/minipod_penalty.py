#!/usr/bin/env python3
"""tools/studies/minipod_penalty.py [POINTS.csv]: what crossing minipods costs, over all hash
seeds of scenarios/sweeps/minipod_penalty.json (run first where no points.csv is given).

Loss = 1 - ideal / time, where ideal is the mean time under `spray`, which has no collisions, of
the same operation in one minipod. p95 and worst are over seeds. The last table is the slowest
flow's share against the number of flows on the 32 uplinks of a leaf, from the same runs (sends,
one queue pair).
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SWEEP = ROOT / "scenarios/sweeps/minipod_penalty.json"
CROSSED = {"one_minipod": 1, "two_minipods": 2, "four_minipods": 4, "eight_minipods": 8}
PUBLISHED = {"all_reduce": "up to 17 %", "send_recv": "up to 70 %"}


def run_sweep():
    program = os.environ.get("RAILYARD", ROOT / "build/release/railyard")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "sweep", SWEEP, "--out", folder, "--quiet", "--format", "csv"],
                       check=True, stdout=subprocess.DEVNULL)
        return list(csv.DictReader((Path(folder) / "points.csv").open()))


def quantile(values, share):
    """The smallest value that at least `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def routing_name(text):
    routing = json.loads(text)
    pairs = routing.get("queue_pairs")
    return routing["name"] if pairs is None else f"{routing['name']}, {pairs} QP"


def main():
    rows = list(csv.DictReader(open(sys.argv[1]))) if len(sys.argv) > 1 else run_sweep()
    times = {}
    for row in rows:
        operation = "send_recv" if "send_recv" in row["/jobs/0/workload"] else "all_reduce"
        key = operation, routing_name(row["/network/routing"]), CROSSED[row["policy"]]
        times.setdefault(key, []).append(float(row["iteration_s_mean"]))
    print("operation   routing      minipods  seeds  loss mean    p95  worst")
    for (operation, routing, crossed), values in times.items():
        ideal = statistics.fmean(times[operation, "spray", 1])
        losses = [1 - ideal / value for value in values]
        print(f"{operation:<11} {routing:<12} {crossed:8} {len(values):6} "
              f"{100 * statistics.fmean(losses):8.1f} % {100 * quantile(losses, 0.95):5.1f} % "
              f"{100 * max(losses):4.1f} %")
    print("published (arXiv 2509.15940, section 4): " +
          ", ".join(f"{name} {loss}" for name, loss in PUBLISHED.items()))
    print("\nflows of a leaf  on uplinks  slowest keeps, mean")
    for crossed, flows in ((2, 32), (4, 16), (8, 8)):
        values = times.get(("send_recv", "ecmp, 1 QP", crossed), [])
        if values:
            ideal = statistics.fmean(times["send_recv", "spray", 1])
            print(f"{flows:15} {32:11} {statistics.fmean(ideal / value for value in values):21.2f}")


if __name__ == "__main__":
    main()
