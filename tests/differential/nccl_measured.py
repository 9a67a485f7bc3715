#!/usr/bin/env python3
"""NCCL collectives as others measured them (validation/nccl.json) against `railyard collective`.

Prints the mean absolute error of every table, below and from 16 MiB on, and the rows that miss by
more than 25 %. Fails when the means over all rows are above LIMITS.
  nccl_measured.py PROGRAM [--rows]
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGE = 16 << 20
LIMITS = {"NCCL from 16 MiB": 10.0, "NCCL below 16 MiB": 25.0, "vTrain": 6.0}


def bus_factor(operation, n):
    if operation == "all_reduce":
        return 2 * (n - 1) / n
    return (n - 1) / n if operation in ("all_gather", "reduce_scatter", "all_to_all") else 1.0


def measured_s(row, table):
    if "time_us" in row:
        return row["time_us"] * 1e-6
    factor = bus_factor(table["operation"], table["ranks"])
    return row["bytes"] * factor / (row["busbw_gb_per_s"] * 1e9)


def fabric_of(table, data):
    """The table's fabric with as many hosts as were measured."""
    fabric = dict(data["fabrics"][table["fabric"]])
    if table["hosts"] > 1 and "hosts_per_island" not in fabric["nvlink"]:
        minipods = max(1, table["hosts"] // 32)
        fabric["hosts_per_minipod"] = {"minipods": minipods, "hosts": table["hosts"] // minipods}
    return fabric


def simulated(program, table, path):
    """(seconds, algorithm, protocol) of every row."""
    choice = {"name": "auto"}
    if table["algorithm"] != "auto":
        choice["algorithm"] = table["algorithm"]
    command = [program, "collective", table["operation"], "--topology", path,
               "--ranks", str(table["ranks"]), "--launch", table["launch"],
               "--sizes", ",".join(str(row["bytes"]) for row in table["rows"]),
               "--algorithm", json.dumps(choice), "--format", "csv"]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [(float(r["time_s"]), r["algorithm"], r["protocol"])
            for r in csv.DictReader(out.splitlines())]


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def family(table, row):
    if table["table"].startswith("vtrain"):
        return "vTrain"
    return "NCCL from 16 MiB" if row["bytes"] >= LARGE else "NCCL below 16 MiB"


def compare(table, results, sums, missed):
    small, large = [], []
    for row, (time, algorithm, protocol) in zip(table["rows"], results):
        measured = measured_s(row, table)
        error = 100 * (time / measured - 1)
        (large if row["bytes"] >= LARGE else small).append(abs(error))
        sums[family(table, row)].append(abs(error))
        if abs(error) > 25:
            missed.append(f"{row['id']} {error:+.0f} %")
        if "--rows" in sys.argv:
            print(f"  {row['id']:28} {measured * 1e6:12.1f} us {time * 1e6:12.1f} us"
                  f" {error:+7.1f} % {algorithm} {protocol}")
    print(f"{table['table']:26} {table['gpu'][:24]:24} {table['ranks']:5} ranks"
          f" {table['operation']:14} below {mean(small):6.1f} % ({len(small):2}),"
          f" from 16 MiB {mean(large):6.1f} % ({len(large):2})", flush=True)


def main():
    data = json.loads((ROOT / "validation/nccl.json").read_text())
    sums = {name: [] for name in LIMITS}
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "fabric.json"
        for table in data["tables"]:
            path.write_text(json.dumps(fabric_of(table, data)))
            compare(table, simulated(sys.argv[1], table, str(path)), sums, missed)
    print("rows that miss by more than 25 %:", ", ".join(missed) or "none")
    failed = False
    for name, limit in LIMITS.items():
        value = mean(sums[name])
        print(f"{name}: mean absolute error {value:.2f} % of {len(sums[name])} rows"
              f" (at most {limit})")
        failed = failed or value > limit
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
