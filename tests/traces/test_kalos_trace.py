"""workloads/traces/kalos_90d.csv against what is published of Kalos (AcmeTrace, NSDI'24).

Published numbers stand beside each check. Counts that the generator sets are exact; the rest
follows from the published curves over jobs of every final state and is compared with the facts of
the completed jobs, so its band is wider and says so.
"""

import csv
import pathlib
import statistics
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "workloads/traces/kalos_90d.csv"
GENERATOR = ROOT / "tools/traces/generate_kalos.py"

# Percent of jobs of a type that last at most 2^5, 2^8, 2^11, 2^14, 2^17 s, read from the figure.
PUBLISHED_CDF = {"Pretrain": {5: 4.212, 8: 25.741, 11: 65.367, 14: 82.371, 17: 96.724},
                 "Other": {5: 20.4, 8: 46.4, 11: 79.2, 14: 87.6, 17: 95.6}}


def read():
    with open(TRACE, newline="", encoding="ascii") as file:
        return [{key: value if key == "job_type" else int(value) for key, value in row.items()}
                for row in csv.DictReader(file)]


def gpu_hours(jobs):
    return sum(job["num_gpus"] * job["duration_s"] for job in jobs) / 3600


class KalosTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.jobs = read()
        cls.pretrain = [job for job in cls.jobs if job["job_type"] == "Pretrain"]
        cls.others = [job for job in cls.jobs if job["job_type"] == "Other"]
        cls.durations = sorted(job["duration_s"] for job in cls.jobs)

    def within(self, measured, published, low, high):
        """measured / published lies within [low, high]."""
        self.assertGreaterEqual(measured / published, low, f"{measured} of {published}")
        self.assertLessEqual(measured / published, high, f"{measured} of {published}")

    def test_the_generator_makes_the_file_byte_for_byte(self):
        made = subprocess.run([sys.executable, str(GENERATOR)], check=True, stdout=subprocess.PIPE)
        self.assertEqual(made.stdout, TRACE.read_bytes())

    def test_ids_count_and_time_never_runs_back(self):
        self.assertEqual([job["job_id"] for job in self.jobs], list(range(len(self.jobs))))
        times = [job["submit_time_s"] for job in self.jobs]
        self.assertEqual(times, sorted(times))
        self.assertEqual(times[0], 0)
        self.assertGreater(self.durations[0], 0)

    def test_job_counts_and_sizes_are_the_published_ones(self):
        sizes = [job["num_gpus"] for job in self.jobs]
        self.assertEqual((len(self.pretrain), len(self.others)), (183, 136))
        self.assertEqual(len(self.jobs), 319)
        self.assertEqual(max(sizes), 1024)
        self.assertEqual(sum(size >= 256 for size in sizes), 177)
        self.assertEqual((sizes.count(512), sizes.count(1016), sizes.count(1024)), (73, 1, 38))
        # Quartiles of the figure's boxes: pre-training 256, 512, 512, others 2, 8, 32.
        quartiles = lambda jobs: statistics.quantiles([job["num_gpus"] for job in jobs], n=4)
        self.assertEqual(quartiles(self.pretrain), [256, 512, 512])
        self.assertEqual(quartiles(self.others), [2, 8, 32])

    def test_durations_follow_the_published_curve_of_their_type(self):
        # One duration is drawn from each of n equal parts of the curve: at most one job, 1/136 =
        # 0.7 %, may fall on the other side of a point.
        for jobs, points in ((self.pretrain, PUBLISHED_CDF["Pretrain"]),
                             (self.others, PUBLISHED_CDF["Other"])):
            for power, percent in points.items():
                shorter = sum(job["duration_s"] <= 2 ** power for job in jobs)
                self.assertLess(abs(100 * shorter / len(jobs) - percent), 1.0, f"at 2^{power} s")

    def test_durations_are_near_the_completed_jobs(self):
        # Completed jobs: median 310 s, mean 15,422 s, p90 39,059 s, p99 222,290 s, longest
        # 625,740 s. The curves also hold failed and cancelled jobs: the median may be half as long
        # again, the mean a fifth longer; p99 is the fourth longest of 319 jobs.
        at = lambda share: self.durations[int(share * len(self.durations))]
        self.within(statistics.median(self.durations), 310, 0.67, 1.5)
        self.within(statistics.mean(self.durations), 15_422, 0.8, 1.2)
        self.within(at(0.90), 39_059, 0.85, 1.15)
        self.within(at(0.99), 222_290, 0.67, 1.5)
        self.within(self.durations[-1], 625_740, 0.5, 1.0)

    def test_arrivals_are_as_bursty_as_published(self):
        # Inter-arrival mean 24,464 s, coefficient of variation 2.6, span 90.04 days.
        times = [job["submit_time_s"] for job in self.jobs]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.within(statistics.mean(gaps), 24_464, 0.999, 1.001)
        self.within(statistics.pstdev(gaps) / statistics.mean(gaps), 2.6, 0.9, 1.1)
        self.within(times[-1], 90.04 * 86_400, 0.999, 1.001)

    def test_gpu_time_is_near_the_published_load(self):
        # 456,843 GPU-hours, 95.3 % of them in jobs of 256 GPUs and more.
        self.within(gpu_hours(self.jobs), 456_843, 0.9, 1.1)
        large = gpu_hours([job for job in self.jobs if job["num_gpus"] >= 256])
        self.within(large / gpu_hours(self.jobs), 0.953, 0.98, 1.02)

    def test_pretraining_never_demands_more_than_1024_gpus_at_once(self):
        changes = []
        for job in self.pretrain:
            changes.append((job["submit_time_s"], job["num_gpus"]))
            changes.append((job["submit_time_s"] + job["duration_s"], -job["num_gpus"]))
        demand = peak = 0
        for _, change in sorted(changes):
            demand += change
            peak = max(peak, demand)
        self.assertEqual(peak, 1024)


if __name__ == "__main__":
    unittest.main()
