#!/usr/bin/env python3
"""generate_reservation_day.py [OUT]: a day on 2,400 hosts before a job of 1,200 of them.

Arnold's replay (arXiv 2509.15940, Fig. 14): at 18:00 a cluster of more than 2,000 nodes, 90 % of it
allocated, learns of a pre-training job of 1,200 nodes at 22:00. That job, its hour and the
allocation are the paper's; everything else is a choice of ours: the trace starts at 06:00, gangs
have 4 to 64 hosts, run times are log-normal around a median of each user's own, and arrivals are
Poisson at a load of 85 %.
"""

import math
import pathlib
import random
import sys

SEED = 20260101
HOSTS = 2400
LOAD = 0.85
SIZES = [(4, 0.30), (8, 0.25), (16, 0.20), (32, 0.15), (64, 0.10)]  # hosts, share of jobs
USERS = 40
MEDIAN_S = 4800
SIGMA_USERS = 0.7    # of ln(median) between users
SIGMA_JOBS = 0.5     # of ln(run time) among the jobs of one
LONGEST_S = 12 * 3600
DAY_S = 24 * 3600
ARRIVAL_S = 16 * 3600  # 22:00
HEAD = "job_id,submit_time_s,num_gpus,duration_s,job_type,user"


def main():
    rng = random.Random(SEED)
    medians = [MEDIAN_S * math.exp(rng.gauss(0, SIGMA_USERS)) for _ in range(USERS)]
    mean_hosts = sum(hosts * share for hosts, share in SIZES)
    mean_run = sum(medians) / USERS * math.exp(SIGMA_JOBS ** 2 / 2)
    gap = mean_hosts * mean_run / (HOSTS * LOAD)
    rows = [(ARRIVAL_S, "pretraining", 9600, 6 * 3600, "Pretrain", "llm")]
    now = 0.0
    while True:
        now += rng.expovariate(1 / gap)
        if now >= DAY_S:
            break
        user = rng.randrange(USERS)
        hosts = rng.choices([size for size, _ in SIZES], [share for _, share in SIZES])[0]
        run = min(LONGEST_S, medians[user] * math.exp(rng.gauss(0, SIGMA_JOBS)))
        rows.append((int(now), f"j{len(rows)}", 8 * hosts, max(60, int(run)), "Other", f"u{user}"))
    rows.sort()
    text = "\n".join([HEAD] + [f"{name},{submit},{gpus},{run},{kind},{user}"
                               for submit, name, gpus, run, kind, user in rows]) + "\n"
    default = pathlib.Path(__file__).parents[2] / "workloads/traces/reservation_day.csv"
    pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else default).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
