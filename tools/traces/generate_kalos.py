#!/usr/bin/env python3
"""Makes workloads/traces/kalos_90d.csv: 90 days of jobs like the completed training jobs of Kalos.

Kalos is the 2,416-GPU cluster of AcmeTrace (Hu et al., "Characterization of Large Language Model
Development in the Datacenter", NSDI'24; data CC-BY-4.0). The numbers below are read from that
paper's figures and tables; no row of the real trace is used. Evaluation and debug jobs, and jobs
that failed or were cancelled, are left out, as in the cleaned trace that users can replay instead.

Standard library only. All randomness is splitmix64, logarithms are correctly rounded decimals, so
the file is the same on every machine:  tools/traces/generate_kalos.py > kalos_90d.csv
"""

import sys
from decimal import Decimal, getcontext

getcontext().prec = 28

# Which duration meets which size is chance, and a few long jobs hold most GPU time: of the seeds
# 1, 2, 3, 5, 7 this one comes nearest the published 456,843 GPU-hours.
SEED = 2

# Completed jobs by type in 90.04 days, and the shape of their arrival.
PRETRAIN_JOBS = 183
OTHER_JOBS = 136
SPAN_S = 7_779_552                # 318 gaps of 24,464 s on average
GAP_CV = Decimal("2.6")           # bursty: a Poisson stream has 1
PEAK_GPUS = 1024                  # most demanded at once, as published

# GPUs of completed pre-training jobs. Published: 177 jobs of 256 and more, of which 73 use 512, 38
# use 1,024 and one 1,016; the rest of the 177 (65) and the 6 below 256 are divided in proportion to
# the steps of the published CDF over all Kalos jobs (percent: 96: 0.035, 128: 0.342, 256: 1.216,
# 496: 0.100, 504: 0.181). Box of the figure: quartiles 256, 512, 512, lower whisker 96.
PRETRAIN_GPUS = {96: 1, 128: 5, 256: 53, 496: 4, 504: 8, 512: 73, 1016: 1, 1024: 38}

# GPUs of the other jobs (fine-tuning and unnamed). Published as a box only: 1, 2, 8, 32, 64 are
# minimum, quartiles and maximum. Shares in percent are chosen within it.
OTHER_GPUS_PERCENT = {1: 15, 2: 20, 8: 25, 16: 8, 32: 12, 64: 20}

# Duration CDF by type: percent of jobs that last at most 2^k s, k = 4, 5, …, 19. The published run
# times cover every final state. The longest job of Kalos lasted 625,740 s.
FIRST_POWER = 4
PRETRAIN_CDF = ["0", "4.212", "9.828", "14.353", "25.741", "43.838", "57.098", "65.367", "71.919",
                "76.911", "82.371", "87.832", "93.292", "96.724", "98.908", "99.844"]
OTHER_CDF = ["2", "20.4", "29.2", "35.2", "46.4", "64.8", "75.2", "79.2", "84", "85.2", "87.6",
             "90", "92.8", "95.6", "98.8", "98.8"]
LONGEST_S = 625_740
SHORTEST_S = 8


class SplitMix:
    """splitmix64 (Steele, Lea, Flood, 2014)."""

    MASK = (1 << 64) - 1

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & self.MASK
        return x ^ (x >> 31)

    def uniform(self):
        """In (0, 1), never at an end."""
        return (Decimal(self.next() >> 11) + Decimal("0.5")) / (1 << 53)

    def shuffle(self, values):
        for i in range(len(values) - 1, 0, -1):
            j = self.next() % (i + 1)
            values[i], values[j] = values[j], values[i]


def strata(rng, count):
    """One uniform number in each of `count` equal parts of (0, 1), in random order: even small
    samples of a heavy-tailed distribution then have its mean."""
    numbers = [(i + rng.uniform()) / count for i in range(count)]
    rng.shuffle(numbers)
    return numbers


def durations(rng, cdf, count):
    """Inverse of the published CDF, straight in the logarithm of time between its points."""
    points = [(Decimal(0), Decimal(SHORTEST_S).ln())]
    for k, percent in enumerate(cdf):
        points.append((Decimal(percent) / 100, (FIRST_POWER + k) * Decimal(2).ln()))
    points.append((Decimal(1), Decimal(LONGEST_S).ln()))
    out = []
    for u in strata(rng, count):
        low, high = next((a, b) for a, b in zip(points, points[1:]) if a[0] <= u < b[0])
        log_time = low[1] + (high[1] - low[1]) * (u - low[0]) / (high[0] - low[0])
        out.append(int(log_time.exp().to_integral_value()))
    return out


def gaps(rng, count):
    """Times between submissions: hyperexponential of two phases with balanced means, the usual fit
    of a mean and a coefficient of variation c above 1 (Whitt, 1982): phase 1 has probability
    p = (1 + sqrt((c² - 1) / (c² + 1))) / 2 and mean m / 2p, phase 2 the rest and m / 2(1 - p)."""
    square = GAP_CV * GAP_CV
    p = (1 + ((square - 1) / (square + 1)).sqrt()) / 2
    mean = Decimal(SPAN_S) / count
    short = int((p * count).to_integral_value())
    out = [-(1 - u).ln() * mean / (2 * p) for u in strata(rng, short)]
    out += [-(1 - u).ln() * mean / (2 * (1 - p)) for u in strata(rng, count - short)]
    rng.shuffle(out)
    return out


def submit_times(rng, jobs):
    times = [Decimal(0)]
    for gap in gaps(rng, jobs - 1):
        times.append(times[-1] + gap)
    return [int((t * SPAN_S / times[-1]).to_integral_value()) for t in times]


def gpus(rng, weights, count):
    """`count` values in proportion to the weights (largest remainder, then the larger value)."""
    total = sum(weights.values())
    share = {value: count * weight // total for value, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda v: (count * weights[v] % total, v), reverse=True)
    for value in by_remainder[:count - sum(share.values())]:
        share[value] += 1
    out = [value for value in sorted(share) for _ in range(share[value])]
    rng.shuffle(out)
    return out


def assign(rng, times, jobs):
    """Gives each submission time a job so that pre-training, nearly all of the load, never demands
    more than PEAK_GPUS at once: its largest jobs first, each at a random free time where it fits
    beside those already there. The others take what is left, at random."""
    free = list(range(len(times)))
    rng.shuffle(free)
    changes = []                      # (time, change of demand) of the pre-training jobs so far
    at_time = {}
    pretrain = sorted((job for job in jobs if job[2] == "Pretrain"),
                      key=lambda job: (job[0] * job[1], job), reverse=True)
    for job in pretrain:
        slot = next((i for i in free if fits(changes, times[i], job)), None)
        if slot is None:
            sys.exit(f"no time left for a job of {job[0]} GPUs and {job[1]} s")
        free.remove(slot)
        at_time[slot] = job
        changes += [(times[slot], job[0]), (times[slot] + job[1], -job[0])]
        changes.sort()
    others = [job for job in jobs if job[2] != "Pretrain"]
    for slot, job in zip(free, others):
        at_time[slot] = job
    return [at_time[i] for i in range(len(times))]


def fits(changes, start, job):
    """`changes` ascending; a job that ends when another starts is gone."""
    size, duration = job[:2]
    demand = size + sum(change for time, change in changes if time <= start)
    if demand > PEAK_GPUS:
        return False
    for time, change in changes:
        if start < time < start + duration:
            demand += change
            if demand > PEAK_GPUS:
                return False
    return True


def main():
    rng = SplitMix(SEED)
    jobs = []
    for name, weights, cdf, count in (("Pretrain", PRETRAIN_GPUS, PRETRAIN_CDF, PRETRAIN_JOBS),
                                      ("Other", OTHER_GPUS_PERCENT, OTHER_CDF, OTHER_JOBS)):
        sizes = gpus(rng, weights, count)
        jobs += [(size, time, name) for size, time in zip(sizes, durations(rng, cdf, count))]
    times = submit_times(rng, len(jobs))
    lines = ["job_id,submit_time_s,num_gpus,duration_s,job_type"]
    for job, (submitted, (size, time, name)) in enumerate(zip(times, assign(rng, times, jobs))):
        lines.append(f"{job},{submitted},{size},{time},{name}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
