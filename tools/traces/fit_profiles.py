#!/usr/bin/env python3
"""Makes workloads/profiles/acme_kalos.json, acme_seren.json and philly.json.

    tools/traces/fit_profiles.py ../shared/data/traces/acme_distributions workloads/profiles

The folder holds numbers read from the figures of AcmeTrace (Hu et al., "Characterization of Large
Language Model Development in the Datacenter", NSDI'24; data CC-BY-4.0, Shanghai AI Laboratory):
shares of jobs by type, CDFs of GPUs over all jobs, box plots of GPUs by type with exact counts of
outliers, CDFs of run times by type.

How many jobs of a type have a size is not published. It is fitted: sizes start where the type's box
has them (a quarter of the jobs in each part of the box), outliers are their published counts, and
rows and columns are scaled in turn until the shares of types and the CDF over all jobs are met
(iterative proportional fitting, Deming and Stephan, 1940). Standard library only.
"""
import csv
import json
import pathlib
import sys

# The figures label Evaluation jobs "Eval" in the box plots.
BOX_NAME = {"Evaluation": "Eval"}
GPU_JOBS = {"Seren": 450_590, "Kalos": 19_907}
# Longest run of cluster_summary.csv; the curves end at the next power of two.
LONGEST_S = {"Seren": 1_209_604, "Kalos": 625_740, "Philly": 4_240_676}
# Coefficient of variation of the gaps between arrivals, and arrivals in the second of the one
# before, measured on the full files.
ARRIVALS = {"Seren": {"cv": 14.7, "same_second_percent": 31.5},
            "Kalos": {"cv": 11.3, "same_second_percent": 31.5}}
# Steps that the figures smear over neighbours, named by the outliers or by common sizes.
MEANT = {495: 496, 497: 496, 503: 504, 505: 504, 511: 512, 513: 512, 767: 768, 770: 768,
         47: 48, 49: 48}
# Rises up to k-1 that the figure does not name belong to a size below k: a common one.
BELOW = {127: 96, 1023: 1016, 63: 48, 31: 24, 15: 12, 7: 6, 255: 192}
ROUNDS = 2000


def rows(folder, name):
    with open(folder / name, newline="", encoding="ascii") as file:
        return list(csv.DictReader(file))


def curve(table, metric, cluster, kind):
    return [(float(row["x"]), float(row["cdf_percent"])) for row in table
            if (row["metric"], row["cluster"], row["job_type"]) == (metric, cluster, kind)]


def steps(points):
    """Percent of jobs by size. A rise between k-1 and k+1 is a step at k."""
    out, before = {}, 0.0
    for x, percent in points:
        size = MEANT.get(int(x), int(x))
        size = BELOW.get(size, size)
        if percent > before:
            out[size] = out.get(size, 0.0) + percent - before
        before = max(before, percent)
    return out


def seed_of(box, sizes):
    """A quarter of the jobs in each part of the box, in equal parts on its sizes."""
    edges = [float(box[key]) for key in ("whisker_low", "q1", "median", "q3", "whisker_high")]
    out = {}
    for low, high in zip(edges, edges[1:]):
        inside = [s for s in sizes if low <= s <= high] or [min(sizes, key=lambda s: abs(s - high))]
        for size in inside:
            out[size] = out.get(size, 0.0) + 25 / len(inside)
    return out


def rows_of(folder, name, cluster):
    return [row for row in rows(folder, name) if row["cluster"] == cluster]


def outliers(folder, cluster, kinds):
    """Percent of all jobs by type and size: published counts."""
    fixed = {kind: {} for kind in kinds}
    for row in rows_of(folder, "gpu_num_outliers_by_type.csv", cluster):
        kind = next(k for k in kinds if BOX_NAME.get(k, k) == row["job_type"])
        fixed[kind][int(row["gpu_num"])] = 100 * int(row["job_count"]) / GPU_JOBS[cluster]
    return fixed


def fit(table, folder, cluster):
    total = steps(curve(table, "jobs_vs_gpu_num", cluster, "all"))
    shares = {row["job_type"]: float(row["job_count_percent"])
              for row in rows_of(folder, "job_type_mix.csv", cluster)}
    scale = 100 / sum(shares.values())
    shares = {kind: share * scale for kind, share in shares.items()}
    boxes = {row["job_type"]: row for row in rows_of(folder, "gpu_num_box_by_type.csv", cluster)}
    fixed = outliers(folder, cluster, shares)
    matrix, left_of_kind = {}, {}
    for kind, share in shares.items():
        seed = seed_of(boxes[BOX_NAME.get(kind, kind)], sorted(total))
        matrix[kind] = {size: part for size, part in seed.items() if size not in fixed[kind]}
        left_of_kind[kind] = share - sum(fixed[kind].values())
    left_of_size = {size: max(0.0, percent - sum(part.get(size, 0) for part in fixed.values()))
                    for size, percent in total.items()}
    for _ in range(ROUNDS):
        for size, wanted in left_of_size.items():
            now = sum(part.get(size, 0) for part in matrix.values())
            for part in matrix.values():
                if now > 0 and size in part:
                    part[size] *= wanted / now
        for kind, part in matrix.items():
            now = sum(part.values())
            for size in part:
                part[size] *= left_of_kind[kind] / now if now > 0 else 0
    for kind, part in matrix.items():
        for size, percent in fixed[kind].items():
            part[size] = part.get(size, 0) + percent
    return shares, matrix


def durations(points, longest):
    """The curve from its last zero to the longest run."""
    points = [(x, min(percent, 100.0)) for x, percent in points if x < longest]
    first = max((i for i, (_, percent) in enumerate(points) if percent == 0), default=None)
    points = points[first:] if first is not None else [(points[0][0] / 2, 0.0)] + points
    points = [p for i, p in enumerate(points) if i == 0 or p[1] > points[i - 1][1]]
    if points[-1][1] < 100:
        points.append((longest, 100.0))
    return [[x if x < 1 else int(x), percent] for x, percent in points]


def profile(description, source, arrivals, types):
    lines = ["{", '  "kind": "job_profile",', f'  "description": {json.dumps(description)},',
             f'  "source": {json.dumps(source)},', f'  "arrivals": {json.dumps(arrivals)},',
             '  "types": [']
    for i, one in enumerate(types):
        end = "," if i + 1 < len(types) else ""
        lines.append(f'    {{ "name": {json.dumps(one["name"])}, "percent": {one["percent"]},')
        lines.append(f'      "gpus": {json.dumps(one["gpus"])},')
        lines.append(f'      "run_time_s": {json.dumps(one["run_time_s"])} }}{end}')
    return "\n".join(lines + ["  ]", "}"]) + "\n"


def acme(table, folder, cluster):
    shares, matrix = fit(table, folder, cluster)
    types = []
    for kind, share in shares.items():
        part = matrix[kind]
        points = curve(table, "duration_s_by_type", cluster, kind)
        types.append({"name": kind, "percent": round(share, 4),
                      "gpus": {str(size): round(part[size], 5) for size in sorted(part)
                               if part[size] >= 5e-5},
                      "run_time_s": durations(points, LONGEST_S[cluster])})
    return profile(f"GPU jobs of {cluster}: LLM development, all final states.",
                   "AcmeTrace (Hu et al., NSDI'24; CC-BY-4.0), figures and cluster summary; GPUs "
                   "by type fitted by tools/traces/fit_profiles.py", ARRIVALS[cluster], types)


def philly(table):
    gpus = steps(curve(table, "jobs_vs_gpu_num", "Philly", "all"))
    # 0.021 % are larger than 32; the largest of the sample that Gavel uses has 64.
    gpus[64] = gpus.pop(1024)
    points = curve(table, "gpu_job_duration_s", "Philly", "all")
    types = [{"name": "Train", "percent": 100,
              "gpus": {str(size): round(gpus[size], 5) for size in sorted(gpus)},
              "run_time_s": durations(points, LONGEST_S["Philly"])}]
    return profile("Jobs of Philly: deep learning of 2017.",
                   "Philly (Jeon et al., ATC'19; CC-BY-4.0), as Hu et al., NSDI'24, plot it; "
                   "gaps between arrivals measured on the 15,264 that Gavel's simulator has",
                   {"cv": 6.2, "same_second_percent": 5.9}, types)


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    table = rows(folder, "cdf_curves.csv")
    (out / "acme_kalos.json").write_text(acme(table, folder, "Kalos"))
    (out / "acme_seren.json").write_text(acme(table, folder, "Seren"))
    (out / "philly.json").write_text(philly(table))


if __name__ == "__main__":
    main()
