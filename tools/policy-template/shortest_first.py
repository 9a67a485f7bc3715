#!/usr/bin/env python3
"""A scheduler of your own: shortest job first, hosts of the fullest minipods first.

In a policy set: "scheduler": {"name": "process", "command": ["python3", "shortest_first.py"]},
"predictor": "oracle". What the messages say: docs/reference/policies.md.
"""

import json
import sys


def answer(**message):
    print(json.dumps(message), flush=True)


hello = json.loads(sys.stdin.readline())
PER_HOST, HOSTS = hello["gpus_per_host"], hello["hosts"]
free = [0] * len(HOSTS)  # GPUs by host; the first question tells all that are free
waiting = {}             # jobs by number, as they were told at their arrival
jobs = {}
answer(type="hello", protocol=1)


def hosts_for(gpus):
    """The hosts of a gang, or none: part of one host, or whole ones."""
    if gpus < PER_HOST:
        return sorted((h for h in range(len(free)) if free[h] >= gpus), key=free.__getitem__)[:1]
    empty = [h for h in range(len(free)) if free[h] == PER_HOST]
    room = [0] * (1 + max(host["minipod"] for host in HOSTS))
    for h in empty:
        room[HOSTS[h]["minipod"]] += 1
    empty.sort(key=lambda h: (room[HOSTS[h]["minipod"]], HOSTS[h]["minipod"], HOSTS[h]["leaf"], h))
    need = -(-gpus // PER_HOST)
    return empty[:need] if len(empty) >= need else []


for question in map(json.loads, sys.stdin):
    for event in question["events"]:
        if event["event"] == "arrived":
            jobs[event["job"]] = event
        if event["event"] in ("arrived", "preempted"):
            waiting[event["job"]] = jobs[event["job"]]
    for host, gpus in question["free"]:
        free[host] = gpus
    decisions = []
    for job in sorted(waiting.values(), key=lambda job: (job["estimate_s"], job["submitted_s"])):
        hosts = hosts_for(job["gpus"])
        if not hosts:
            break
        decisions.append({"start": job["job"], "hosts": hosts})
        del waiting[job["job"]]
        for host in hosts:
            free[host] -= min(job["gpus"], PER_HOST)
    answer(type="decisions", decisions=decisions)
