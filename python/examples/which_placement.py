#!/usr/bin/env python3
# A notebook as a script: which placement for a job, and does a scheduler of your own do better?
# Run it from the repository with PYTHONPATH at the module (docs/reference/python.md).
# %%
import pandas

import railyard

# %% One job under every policy set, as a table: a row a policy set, a column a metric.
result = railyard.load("scenarios/quickstart.json").run()
table = pandas.DataFrame(result.records()).set_index("policy")
print(
    table[
        ["iteration_s_mean", "mfu", "communication_share_exposed", "spread_dp_max", "spread_pp_max"]
    ]
)
print("fastest:", table["iteration_s_mean"].idxmin())

# %% The same question over Arnold's weights and scheduling intervals: a sweep, then a pivot.
sweep = railyard.load_sweep("scenarios/sweeps/alpha_interval.json").run()
points = pandas.DataFrame(sweep.records())
alpha = next(column for column in points.columns if column.endswith("alpha"))
print(points.pivot_table(index=alpha, columns="policy", values="iteration_s_mean"))


# %% A scheduler of your own: the shortest job first, by its estimate.
class ShortestFirst(railyard.Scheduler):
    def decide(self, now_s, events):
        if any(event["event"] == "no_place" for event in events):
            return []
        shortest = sorted(self.waiting, key=lambda job: self.jobs[job]["estimate_s"])
        return [railyard.start(job, place="best_fit") for job in shortest[:1]]

    def again(self):
        return True


railyard.register_scheduler("shortest_first", ShortestFirst)
jobs = railyard.load(
    "scenarios/philly_2k.json",
    {
        "/policies": {
            "fifo": {"queue": "fifo", "placement": "best_fit"},
            "shortest_first": {
                "scheduler": {"name": "python", "class": "shortest_first"},
                "predictor": "oracle",
            },
        },
        "/baseline": "fifo",
        "/job_trace/span": "3h",
    },
).run()
print(
    pandas.DataFrame(jobs.records()).set_index("policy")[
        ["jct_s_mean", "queue_s_mean", "slowdown_mean"]
    ]
)
