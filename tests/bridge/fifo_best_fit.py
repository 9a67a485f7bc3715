#!/usr/bin/env python3
"""The queue fifo with the placement best_fit, written again: the same decisions each time.

fifo_best_fit.py hosts: names the hosts itself.
fifo_best_fit.py place [PLACEMENT]: has the simulator place, by the policy set's placement or this.
"""

import json
import sys


def answer(**message):
    print(json.dumps(message), flush=True)


class Cluster:
    def __init__(self, hello):
        self.per_host = hello["gpus_per_host"]
        self.minipod = [host["minipod"] for host in hello["hosts"]]
        self.leaf = [host["leaf"] for host in hello["hosts"]]
        self.free = [0] * len(self.leaf)

    def whole(self):
        return [h for h, gpus in enumerate(self.free) if gpus == self.per_host]

    def place(self, gpus):
        """Minipods with fewest whole hosts first, in them leaves with most."""
        whole = self.whole()
        of_minipod = [sum(self.minipod[h] == m for h in whole)
                      for m in range(1 + max(self.minipod))]
        of_leaf = [sum(self.leaf[h] == leaf for h in whole) for leaf in range(1 + max(self.leaf))]
        if gpus < self.per_host:
            fits = [h for h, free in enumerate(self.free) if free >= gpus]
            return sorted(fits, key=lambda h: (self.free[h], of_minipod[self.minipod[h]], h))[:1]
        whole.sort(key=lambda h: (of_minipod[self.minipod[h]], self.minipod[h],
                                  -of_leaf[self.leaf[h]], self.leaf[h], h))
        need = -(-gpus // self.per_host)
        return whole[:need] if len(whole) >= need else []


class Fifo:
    def __init__(self):
        self.queue, self.jobs, self.offered = [], {}, None

    def hear(self, events):
        """Tells whether the job that was offered last found no place."""
        stuck = False
        for event in events:
            if event["event"] == "arrived":
                self.jobs[event["job"]] = event
            if event["event"] in ("arrived", "preempted"):
                self.queue.append(self.jobs[event["job"]])
            if event["event"] == "no_place":
                self.queue.append(self.offered)
                stuck = True
        self.queue.sort(key=lambda job: (job["submitted_s"], job["job"]))
        return stuck


def start_on_hosts(cluster, fifo):
    decisions = []
    while fifo.queue:
        hosts = cluster.place(fifo.queue[0]["gpus"])
        if not hosts:
            break
        job = fifo.queue.pop(0)
        for host in hosts:
            cluster.free[host] -= min(job["gpus"], cluster.per_host)
        decisions.append({"start": job["job"], "hosts": hosts})
    answer(type="decisions", decisions=decisions)


def start_somewhere(fifo, stuck):
    """One job at a time, to hear whether it found a place."""
    if stuck or not fifo.queue:
        answer(type="decisions", decisions=[])
        return
    fifo.offered = fifo.queue.pop(0)
    decision = {"start": fifo.offered["job"]}
    if len(sys.argv) > 2:
        decision["place"] = json.loads(sys.argv[2])
    answer(type="decisions", decisions=[decision], again=True)


def main():
    cluster, fifo = Cluster(json.loads(sys.stdin.readline())), Fifo()
    answer(type="hello", protocol=1)
    for question in map(json.loads, sys.stdin):
        stuck = fifo.hear(question["events"])
        for host, gpus in question["free"]:
            cluster.free[host] = gpus
        if sys.argv[1] == "hosts":
            start_on_hosts(cluster, fifo)
        else:
            start_somewhere(fifo, stuck)


main()
