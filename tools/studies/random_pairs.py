#!/usr/bin/env python3
"""tools/studies/random_pairs.py [SEEDS]: what share of its bisection a non-blocking CLOS gives to
random pairs.

topologies/clos_512.json, a random permutation of all hosts per seed, by routing: the rates that
are left (max-min) over what the senders could. Beside it the measurements on a 512-node InfiniBand
CLOS of Geoffray and Hoefler, "Adaptive routing strategies for modern high performance networks"
(HotI 2008): 38 % with static routes, 77 % with probing.

The gap to them is head-of-line blocking: in a real switch a packet that waits for a busy port holds
up others behind it that are bound elsewhere, so that a collision costs flows that take no part in
it. A fluid shares each link exactly and has no queue in front of it.
"""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ROUTINGS = [("static", "38 %"), ("ecmp", "-"), ('{"name": "adaptive", "scope": "hop"}', "77 %"),
            ('{"name": "adaptive", "scope": "path"}', "77 %"), ("spray", "-")]


def share(routing, seed):
    program = os.environ.get("RAILYARD", ROOT / "build/release/railyard")
    command = [program, "topology", "bottlenecks", ROOT / "topologies/clos_512.json",
               "--pattern", "permutation", "--routing", routing, "--seed", str(seed),
               "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["share_of_alone"]


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("routing         seeds  share: mean    least     most   measured (HotI'08)")
    for routing, measured in ROUTINGS:
        shares = [100 * share(routing, seed) for seed in range(1, seeds + 1)]
        name = routing
        if routing.startswith("{"):
            settings = json.loads(routing)
            name = f"{settings['name']}, {settings['scope']}"
        print(f"{name:<15} {seeds:5} {statistics.fmean(shares):11.1f} % {min(shares):6.1f} % "
              f"{max(shares):6.1f} %   {measured}")


if __name__ == "__main__":
    main()
