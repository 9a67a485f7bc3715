#!/usr/bin/env python3
"""Leave one model out: is the rate of matrix products that a table's stack has physics, or a fit?

For every model of a table the factor on the GPU's GEMM rate is chosen on the other models' rows
only and judged on its own. Prints the error with the project's factor and the held-out error.
  tools/studies/holdout.py [PROGRAM]
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/railyard"
FACTORS = [0.94, 0.97, 1.0, 1.03, 1.06]
TABLES = ["sc21_table1", "vtrain_multi", "dgxc_bf16", "dgxc_fp8"]



def models(table):
    """id → model (or model size) of a table's rows."""
    data = json.loads((ROOT / f"validation/{table}.json").read_text())
    columns = data["columns"]
    keys = [k for k in ("model", "hidden", "layers") if k in columns]
    return {row[columns.index("id")]: tuple(row[columns.index(k)] for k in keys)
            for row in data["rows"]}


def errors(table, factor):
    defaults = json.loads((ROOT / f"validation/{table}.json").read_text())["defaults"]
    changed = f"/stack_gemm={defaults.get('stack_gemm', 1) * factor}"
    out = subprocess.run([PROGRAM, "validate", table, "--format", "json", "--set", changed],
                         check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return {row["id"]: abs(row["error_percent"]) for row in json.loads(out)["rows"]
            if row["error_percent"] is not None}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def main():
    print("table            models  rows   as shipped  leave one model out")
    for table in TABLES:
        ids = models(table)
        by_factor = {factor: errors(table, factor) for factor in FACTORS}
        held = []
        for model in sorted(set(ids.values()), key=str):
            own = [i for i in by_factor[1.0] if ids[i] == model]
            others = [i for i in by_factor[1.0] if ids[i] != model]
            best = min(FACTORS, key=lambda f: mean(by_factor[f][i] for i in others))
            held += [by_factor[best][i] for i in own]
        shipped = mean(by_factor[1.0].values())
        print(f"{table:16} {len(set(ids.values())):6} {len(held):5}   {shipped:8.2f} %"
              f"  {mean(held):8.2f} %", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
