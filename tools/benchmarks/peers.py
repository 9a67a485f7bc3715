#!/usr/bin/env python3
"""peers.py BUILD_FOLDER [--quick]: recorded workloads of ../shared/data/peers/simgrid, ours and
SimGrid side by side in one go, one table. SimGrid runs in the setting that the records found
fastest for each workload.

--quick leaves out the three that take SimGrid longer than ten seconds. Without SimGrid (Debian:
libsimgrid-dev) its column is what the records say, of another machine, and marked so.
"""
import math
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT.parent / "shared/data/peers/simgrid"
# Workload, its fastest exact setting, processor seconds recorded (data/peers/README.md),
# repetitions of ours.
WORKLOADS = [
    ("x_mix64_ft64", ("Full", "no"), 0.009, 200),
    ("a_perm1024_ft1024", ("Lazy", "yes"), 0.0075, 200),
    ("a_perm1024_ft1024o4", ("Full", "yes"), 0.132, 100),
    ("b_ring960_ft960", ("Full", "yes"), 1.29, 5),
    ("b_ring960_jit_fifo_ft960", ("Lazy", "yes"), 1.84, 5),
    ("c_poisson10k_ft1024", ("Full", "no"), 11.4, 5),
    ("c_poisson10k_heavy_ft1024", ("Full", "no"), 24.2, 5),
    ("d_a2a128_ft128", ("Full", "yes"), 0.75, 10),
    ("d_a2a128_var_ft128", ("Full", "no"), 69.2, 1),
]
SLOW = 10.0


def run(command):
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def ours(binary, folder, repetitions):
    out = run([binary, folder, repetitions]).stdout
    match = re.match(r"(\d+) flows, (\d+) solves, (\d+) flows touched, (\d+) links touched, "
                     r"hash (\w+) \| ([\d.]+) processor s, peak ([\d.]+) MiB", out)
    if not match:
        raise SystemExit(f"bench_solver {folder}: {out}")
    return match.groups()


def simgrid(binary, folder, setting):
    out = run([binary, folder, *setting]).stdout
    match = re.search(r"\| ([\d.]+) processor s, peak ([\d.]+) MiB, worst difference (\S+)", out)
    return match.groups() if match else None


def main():
    build = Path(sys.argv[1])
    quick = "--quick" in sys.argv
    peer = build / "tools/benchmarks/simgrid_peer"
    print("workload                    flows   solves    moved   visits hash             |"
          " ours s    SimGrid s   ratio   MiB  SimGrid MiB")
    ratios = []
    for name, setting, recorded, repetitions in WORKLOADS:
        if quick and recorded > SLOW:
            continue
        binary = build / "tools/benchmarks/bench_solver"
        counts = ours(binary, DATA / name, repetitions)
        flows, solves, moved, visits, digest, seconds, memory = counts
        theirs = simgrid(peer, DATA / name, setting) if peer.exists() else None
        their_seconds = float(theirs[0]) if theirs else recorded
        ratio = their_seconds / max(float(seconds), 1e-9)
        ratios.append(ratio)
        print(f"{name:<26} {flows:>6} {solves:>8} {moved:>8} {visits:>8} {digest} | "
              f"{float(seconds):8.5f} "
              f"{their_seconds:9.4f}{' ' if theirs else '*'} {ratio:7.1f} {float(memory):6.1f} "
              f"{theirs[1] if theirs else '-':>8}", flush=True)
    print(f"geometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.1f}")
    if not peer.exists():
        print("* as recorded on another machine: libsimgrid-dev is not installed")


if __name__ == "__main__":
    main()
