#!/usr/bin/env python3
"""NCCL's choice of algorithm and protocol on a grid, from the constants in ../shared alone.

Independent of src/collective/nccl_*.cpp: it reads the tables, caps and formulas that
nccl_tuning_constants.json states for one version (2.30.7) and applies them. Without arguments it
compares the outcome with nccl_choice.csv beside it, which test_nccl_choice holds the program to;
--write makes that file. Exits 77 (skipped) where the constants are absent.

Fabrics, from the link bandwidths in the same file: V100 6 links of 20 GB/s and 4 NICs of 12 GB/s on
12 channels; A100 12 x 20 and 8 x 24 on 24; H100 18 x 20.6 and 8 x 48 on 16; B200 18 x 40.1 and
8 x 48 on 16.
"""
import csv
import io
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
CONSTANTS = HERE.parents[2] / "shared/data/validation/nccl_tuning_constants.json"
EXPECTED = HERE / "nccl_choice.csv"
VERSION = "2.30.7"
PROTOCOLS = ["LL", "LL128", "Simple"]
ALGORITHMS = ["Tree", "Ring", "NVLS", "NVLSTree", "PAT"]
NAMES = {"Tree": "double_binary_tree", "Ring": "ring", "NVLS": "nvls", "NVLSTree": "nvls_tree",
         "PAT": "pat"}
GENERATIONS = {"volta": "Volta", "ampere": "Ampere", "hopper": "Hopper", "blackwell": "Blackwell"}


class Constants:
    def __init__(self, records):
        of_version = [r for r in records if str(r.get("version", "")).startswith("v" + VERSION)]
        self.base = {r["algo"]: r for r in of_version if r["kind"] == "base_latency_us"}
        self.hardware = {(r["link"], r["algo"]): r for r in of_version
                         if r["kind"] == "hw_latency_us"}
        self.caps = {(r["kind"], r["arch"].split("(")[0].strip()): r for r in of_version
                     if "arch" in r}
        kinds = ("nvlsEfficiency", "netOverhead_us", "treeCorrectionFactor",
                 "ring_plateau_factor", "topo_link_bw_GBps")
        single = {r["kind"]: r for r in records if r["kind"] in kinds}
        self.nvls = single["nvlsEfficiency"]
        self.overhead = single["netOverhead_us"]["Intel_x86"]
        self.correction = single["treeCorrectionFactor"]
        self.plateau = single["ring_plateau_factor"]
        self.links = single["topo_link_bw_GBps"]

    def cap(self, kind, generation, nodes):
        row = self.caps[(kind, GENERATIONS[generation])]
        return row["n1"] if nodes == 1 else row["n2"] if nodes == 2 else row["n4plus"]


def fabrics(c):
    net = c.links["NET_100Gb"]
    parts = {"volta": (6 * c.links["SM70_NVLINK"], 4 * net, 12),
             "ampere": (12 * c.links["SM80_NVLINK"], 8 * 2 * net, 24),
             "hopper": (18 * c.links["SM90_NVLINK"], 8 * 4 * net, 16),
             "blackwell": (18 * c.links["SM100_NVLINK"], 8 * 4 * net, 16)}
    shapes = [("volta", 1, 8), ("volta", 4, 32), ("ampere", 1, 2), ("ampere", 1, 8),
              ("ampere", 2, 16), ("ampere", 4, 32), ("ampere", 16, 128), ("hopper", 1, 8),
              ("hopper", 2, 16),
              ("hopper", 8, 64), ("hopper", 64, 512), ("hopper", 16, 16), ("blackwell", 1, 8),
              ("blackwell", 4, 32)]
    for generation, nodes, ranks in shapes:
        intra, inter, channels = parts[generation]
        yield {"generation": generation, "nodes": nodes, "ranks": ranks, "channels": channels,
               "intra": intra / channels, "inter": inter / channels}


def latency(c, f, operation, algorithm, protocol):
    nodes, ranks = f["nodes"], f["ranks"]
    per_node = ranks / nodes
    base = c.base[algorithm][protocol]
    intra = c.hardware[("NVLINK", algorithm)][protocol]
    inter = c.hardware[("NET", algorithm)][protocol]
    hops = math.floor(math.log2(nodes))
    if algorithm == "Ring":
        both = 2 if operation == "all_reduce" else 1
        steps, crossing = both * (ranks - 1), both * (nodes - 1) if nodes > 1 else 0
        if nodes > 1:
            intra = max(intra, c.overhead * (3 if protocol == "Simple" else 1))
        return base + (steps - crossing) * intra + crossing * inter
    if algorithm == "Tree":
        return base + 2 * ((per_node - 1) * intra + hops * inter)
    if algorithm == "NVLS":
        return intra
    if algorithm == "NVLSTree":
        return base + intra + 2 * hops * inter
    return base + hops * inter / 3.5 + ranks * 2.8


def bandwidth(c, f, operation, algorithm, protocol):
    """GB/s of the operation's size; None where NCCL does not consider the pair."""
    nodes, ranks, channels, generation = f["nodes"], f["ranks"], f["channels"], f["generation"]
    per_node = ranks / nodes
    steps = 2 * (ranks - 1) if operation == "all_reduce" else ranks - 1
    bus = channels * (f["intra"] if nodes <= 2 else f["inter"])
    # Over several nodes the row of LL is that of the host: Intel.
    low = c.cap("llMaxBw", generation if nodes == 1 else "volta", nodes)
    if algorithm == "Ring":
        if protocol == "LL":
            bus = min(low, bus * 0.5)
        elif protocol == "LL128":
            bus = min(bus * (0.7 if per_node < 2 else 0.92),
                      channels * c.cap("perChMaxRingLL128Bw", generation, nodes))
        return bus * ranks / steps
    if algorithm == "Tree":
        if operation != "all_reduce":
            return None
        bus = min(bus * 0.92, channels * c.cap("perChMaxTreeBw", generation, nodes))
        if protocol == "LL":
            bus = min(bus / 3.8, low)
        elif protocol == "LL128":
            bus = min(bus * (7 / 9 if nodes == 1 else 120 / 128),
                      channels * c.cap("perChMaxTreeLL128Bw", generation, nodes))
        return bus * 0.5
    if protocol != "Simple":
        return None
    if algorithm == "PAT":
        if operation == "all_reduce" or ranks != nodes:
            return None
        return channels * f["inter"] * 0.75 * 0.5
    efficiency = c.nvls[GENERATIONS[generation]]
    if efficiency == 0 or (algorithm == "NVLS") != (nodes == 1):
        return None
    if algorithm == "NVLSTree" and operation != "all_reduce":
        return None
    one = f["intra"] * efficiency * (channels - 1) / channels
    one *= 2 if operation == "all_reduce" else (per_node - 1) / per_node
    if algorithm == "NVLSTree":
        one = min(one, f["inter"] * (2 if nodes == 2 else 1),
                  c.cap("perChMaxNVLSTreeBw", generation, nodes))
    return channels * one * ranks / steps


def predicted(c, f, operation, size, algorithm, protocol):
    rate = bandwidth(c, f, operation, algorithm, protocol)
    if not rate:
        return None
    time = latency(c, f, operation, algorithm, protocol)
    if algorithm == "Tree":
        doublings = (size >> 6).bit_length() - 1 if size >= 64 else 0
        if doublings < 23:
            rate *= c.correction[protocol][doublings]
    if (algorithm == "Ring" and protocol == "Simple" and f["nodes"] > 1
            and operation == "all_reduce" and size / (f["channels"] * f["ranks"]) >= 64):
        old = f["generation"] == "volta"
        time *= c.plateau["lat_mult_pre_sm80" if old else "lat_mult_sm80plus"]
    return time + size / (1000 * rate)


def grid(c):
    for f in fabrics(c):
        for operation in ("all_reduce", "all_gather", "reduce_scatter"):
            for exponent in range(10, 34, 3):
                size = 1 << exponent
                best = None
                for algorithm in ALGORITHMS:
                    for protocol in PROTOCOLS:
                        time = predicted(c, f, operation, size, algorithm, protocol)
                        if time is not None and (best is None or time < best[0]):
                            best = (time, algorithm, protocol)
                yield [operation, size, f["ranks"], f["nodes"], f["generation"], f["channels"],
                       repr(f["intra"]), repr(f["inter"]), NAMES[best[1]], best[2].lower(),
                       f"{best[0]:.6f}"]


def main():
    if not CONSTANTS.exists():
        print("skipped without shared data: nccl_tuning_constants.json")
        return 77
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["operation", "bytes", "ranks", "nodes", "generation", "channels",
                     "channel_intra_gb_per_s", "channel_inter_gb_per_s", "algorithm", "protocol",
                     "predicted_us"])
    rows = list(grid(Constants(json.loads(CONSTANTS.read_text())["records"])))
    writer.writerows(rows)
    if "--write" in sys.argv[1:]:
        EXPECTED.write_text(out.getvalue())
    elif EXPECTED.read_text() != out.getvalue():
        print("nccl_choice.csv is not what nccl_tuning_constants.json says; --write renews it")
        return 1
    print(f"{len(rows)} points")
    return 0


if __name__ == "__main__":
    sys.exit(main())
