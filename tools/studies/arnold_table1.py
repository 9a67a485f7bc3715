#!/usr/bin/env python3
"""tools/studies/arnold_table1.py [POINTS.csv]: by how much Arnold's weighted spread is below the
best baseline's, over scenarios/sweeps/arnold_table1.json (run first where no file is given).

Ratio = least alpha * DP + (1 - alpha) * PP of the baselines in one rank order / Arnold's, DP and PP
being the minipods that the worst group touches. Each cell is mean (max) over the draws of busy
hosts. The second table counts as Eq. 3 of the paper does: a group within a minipod is 0.
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
SWEEP = ROOT / "scenarios/sweeps/arnold_table1.json"
TENTHS = range(11)
SETTINGS = {3: "(i)", 5: "(ii)", 11: "(iii)"}


def run_sweep():
    program = os.environ.get("RAILYARD", ROOT / "build/release/railyard")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "sweep", SWEEP, "--out", folder, "--quiet", "--format", "csv"],
                       check=True, stdout=subprocess.DEVNULL)
        return list(csv.DictReader((Path(folder) / "points.csv").open()))


def setting_of(row):
    name = SETTINGS[len(json.loads(row["/topology/hosts_per_minipod"]))]
    return f"{name} empty" if row["/occupied/share"] in ("0", "0.0") else name


def distance(spread, zero_based):
    return 0 if zero_based and spread == 1 else spread


def ratios(rows, order, tenths, zero_based=False):
    """One per draw; None where Arnold's sum is 0 and the baselines' is not, 1 where both are."""
    draws, alpha = {}, tenths / 10
    for row in rows:
        weighted = (alpha * distance(float(row["spread_dp_max"]), zero_based) +
                    (1 - alpha) * distance(float(row["spread_pp_max"]), zero_based))
        draws.setdefault(row["seed"], {})[row["policy"]] = weighted
    out = []
    for sums in draws.values():
        best = min(value for name, value in sums.items() if name.endswith(f"_{order}"))
        own = sums[f"arnold_{tenths}"]
        out.append(best / own if own > 0 else 1 if best == 0 else None)
    return out


def cell(values):
    finite = [value for value in values if value is not None]
    if not finite:
        return "inf"
    more = "*" if len(finite) < len(values) else ""
    return f"{statistics.fmean(finite):.2f} ({max(finite):.2f}){more}"


def table(settings, zero_based):
    print("setting     baselines  " + " ".join(f"{f'a={t / 10}':>13}" for t in TENTHS))
    for name, rows in settings.items():
        for order in ("pp", "dp"):
            cells = " ".join(f"{cell(ratios(rows, order, t, zero_based)):>13}" for t in TENTHS)
            print(f"{name:<11} {order + '_fastest':<10} {cells}")


def main():
    rows = list(csv.DictReader(open(sys.argv[1]))) if len(sys.argv) > 1 else run_sweep()
    settings = {}
    for row in rows:
        settings.setdefault(setting_of(row), []).append(row)
    print("best baseline's weighted spread / Arnold's, mean (max) over draws")
    table(settings, False)
    for order in ("pp", "dp"):
        values = [ratio for name, rows in settings.items() if "empty" not in name
                  for tenths in range(1, 6) for ratio in ratios(rows, order, tenths)]
        print(f"{order}_fastest baselines, alpha 0.1 to 0.5, (i) to (iii): mean "
              f"{statistics.fmean(values):.2f}, max {max(values):.2f}")
    print("published (arXiv 2509.15940, section 7.1): mean 1.2, max 1.67")
    print("the same counted as Eq. 3 (* draws in which Arnold has 0 and the baselines have not)")
    table(settings, True)


if __name__ == "__main__":
    main()
