#!/usr/bin/env python3
"""test_slurm.py PROGRAM: sweeps on a real Slurm of one host, started here on loopback."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from support import PROGRAM, ROOT, Case, railyard

SKIPPED = 77
SECONDS = 240  # ends a hang, nothing else
# A task that is requeued waits until its credential has expired.
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CryptoType=crypto/none
AuthInfo=cred_expire=5
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=p Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """slurmctld and slurmd with a configuration of their own. `missing`: why they do not run."""

    def __init__(self):
        self.daemons = []
        self.missing = ""
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        absent = [name for name in ("slurmctld", "slurmd", "sbatch", "squeue")
                  if not shutil.which(name)]
        if absent:
            self.missing = f"no {', '.join(absent)} here (Debian's slurm-wlm)"
            return
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="railyard-slurm-"))
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], user=user.strip(), folder=self.folder,
            cpus=os.cpu_count(), ports=self.free_ports()))
        os.environ["SLURM_CONF"] = str(configuration)
        for daemon in (["slurmctld", "-D", "-c"], ["slurmd", "-D"]):
            log = (self.folder / f"{daemon[0]}.log").open("w")
            self.daemons.append(subprocess.Popen(daemon, stdout=log, stderr=log))
        end = time.monotonic() + 40
        while time.monotonic() < end:
            state = subprocess.run(["sinfo", "--noheader", "--format=%t"], capture_output=True,
                                   text=True, check=False).stdout
            if state.strip() == "idle":
                return
            time.sleep(0.3)
        last = [line for daemon in ("slurmctld", "slurmd")
                for line in (self.folder / f"{daemon}.log").read_text().splitlines()[-2:]]
        self.missing = "slurmctld and slurmd do not start here: " + "; ".join(last)

    @staticmethod
    def free_ports():
        sockets = [socket.socket() for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
        for each in sockets:
            each.close()
        return ports

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)


class SlurmCase(Case):
    PREFIX = "a sweep's 100% "
    SWEEP = "points.json"

    def on_slurm(self, sweep, out, *words):
        return ("sweep", sweep, "--executor", "slurm", "--out", out, "--format", "json", *words)

    def same(self, ours, theirs):
        for name in ("points.csv", "points.json"):
            self.assertEqual((ours / name).read_bytes(), (theirs / name).read_bytes(), name)
        dumps = []
        for folder in (ours, theirs):
            with sqlite3.connect(folder / "points.sqlite") as data:
                dumps.append(list(data.iterdump()))
        self.assertEqual(*dumps)

    def records(self, log):
        return log.read_bytes().count(b"\n") - 1 if log.exists() else 0

    @contextlib.contextmanager
    def under_way(self, words, log, records, stdout=subprocess.DEVNULL):
        """The sweep as a process, once this log of a task holds so many records."""
        with subprocess.Popen([PROGRAM, *map(str, words)], cwd=ROOT, stdout=stdout,
                              stderr=subprocess.PIPE, text=True) as running:
            self.until(lambda: self.records(log) >= records)
            yield running

    def until(self, condition):
        end = time.monotonic() + SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)


class OnSlurm(SlurmCase):
    GRID = {"/jobs/0/iterations": [2, 3, 4], "/jobs/0/global_batch": [16, 32]}

    def test_the_bytes_are_those_of_one_machine(self):
        sweep = self.sweep(grid=self.GRID, seeds={"count": 2})
        local, remote = self.folder / "local", self.folder / "remote"
        text = self.good("sweep", sweep, "--out", local, "--format", "json").stdout
        done = self.good(*self.on_slurm(sweep, remote, "--shards", "5"))
        self.assertEqual(done.stdout, text)
        self.same(remote, local)
        # 12 points dealt out to five tasks: those of task 1 are 1, 6 and 11.
        self.assertEqual(self.records(remote / "shards/1-of-5/points.log"), 3)
        self.assertIn("3 points to run", (remote / "shards/1-of-5.log").read_text())
        # There is nothing left to submit.
        job = (remote / "slurm.job").read_text()
        self.assertEqual(self.good(*self.on_slurm(sweep, remote, "--resume")).stdout, text)
        self.assertEqual((remote / "slurm.job").read_text(), job)

    def test_a_task_that_is_killed_is_missing_and_then_resumed(self):
        sweep = self.sweep(grid={"/jobs/0/iterations": [2]}, seeds={"count": 1500})
        local, remote = self.folder / "local", self.folder / "remote"
        text = self.good("sweep", sweep, "--out", local, "--format", "json").stdout
        words = self.on_slurm(sweep, remote, "--shards", "2")
        log = remote / "shards/1-of-2/points.log"
        with self.under_way(words, log, 3) as running:
            os.kill(self.task_of(remote, "1/2"), signal.SIGKILL)
            said = running.communicate(timeout=SECONDS)[1]
        self.assertEqual(running.returncode, 4, said)
        missing = int(re.search(r"(\d+) of 1500 points did not finish", said).group(1))
        self.assertEqual(missing, 750 - self.records(log))
        kept = log.read_bytes()
        done = self.good(*self.on_slurm(sweep, remote, "--shards", "2", "--resume"))
        self.assertIn(f"resumed: {1500 - missing} of 1500", done.stderr)
        self.assertIn("#SBATCH --array=1\n", (remote / "slurm.sh").read_text())
        self.assertEqual(log.read_bytes()[:len(kept)], kept)
        self.assertEqual(done.stdout, text)
        self.same(remote, local)

    def test_a_task_that_slurm_requeues_goes_on(self):
        sweep = self.sweep(grid={"/jobs/0/iterations": [2]}, seeds={"count": 1500})
        local, remote = self.folder / "local", self.folder / "remote"
        text = self.good("sweep", sweep, "--out", local, "--format", "json").stdout
        words = self.on_slurm(sweep, remote, "--shards", "2")
        log = remote / "shards/0-of-2/points.log"
        with self.under_way(words, log, 3, stdout=subprocess.PIPE) as running:
            job = (remote / "slurm.job").read_text().strip()
            subprocess.run(["scontrol", "requeue", f"{job}_0"], check=True)
            printed, said = running.communicate(timeout=SECONDS)
        self.assertEqual(running.returncode, 0, said)
        starts = re.findall(r"shard 0 of 2: (\d+) points to run, (\d+) are there",
                            (remote / "shards/0-of-2.log").read_text())
        self.assertEqual(len(starts), 2)
        self.assertGreaterEqual(int(starts[1][1]), 3)
        self.assertEqual(sum(map(int, starts[1])), 750)
        self.assertEqual(printed, text)
        self.same(remote, local)

    def test_an_interrupt_leaves_the_job_and_the_sweep_is_not_submitted_twice(self):
        sweep = self.sweep(grid={"/jobs/0/iterations": [2]}, seeds={"count": 3000})
        remote = self.folder / "remote"
        words = self.on_slurm(sweep, remote, "--shards", "2")
        with self.under_way(words, remote / "shards/0-of-2/points.log", 1) as running:
            running.send_signal(signal.SIGINT)
            said = running.communicate(timeout=SECONDS)[1]
        self.assertEqual(running.returncode, 130, said)
        self.assertIn("goes on without this program", said)
        again = railyard(*words, "--resume")
        self.assertEqual(again.returncode, 4, again.stderr)
        job = (remote / "slurm.job").read_text().strip()
        self.assertIn(f"scancel {job}", again.stderr)
        subprocess.run(["scancel", job], check=True)
        self.until(lambda: not self.in_queue(job))

    def test_what_changed_since_is_noticed_by_the_tasks(self):
        scenario, text = self.scenario()
        sweep = self.sweep(scenario=str(scenario), grid={"/jobs/0/iterations": [2]})
        out = self.folder / "out"
        self.good("sweep", sweep, "--out", out)
        scenario.write_text(text.replace('"2us"', '"3us"').replace('"1us"', '"2us"'))
        done = railyard("sweep", sweep, "--out", out, "--shard", "0/1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("begun with another scenario", done.stderr)

    def task_of(self, out, shard):
        """The process of a task."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"--out={out}".encode() in words and shard.encode() in words:
                return int(folder.name)
        return self.fail(f"no task {shard} runs")

    def in_queue(self, job):
        queue = subprocess.run(["squeue", "--noheader", "--format=%F"], capture_output=True,
                               text=True, check=True).stdout
        return job in queue.split()


class Script(SlurmCase):
    def test_a_dry_run_prints_the_script_and_writes_nothing(self):
        sweep, out = self.sweep(grid=OnSlurm.GRID), self.folder / "out"
        text = self.good(*self.on_slurm(sweep, out, "--shards", "4", "--jobs", "2", "--dry-run",
                                        "--sbatch", "partition=p", "--set",
                                        "/jobs/0/name=\"a b\"")).stdout
        for line in ("#!/bin/sh\n", "#SBATCH --array=0-3\n", "#SBATCH --cpus-per-task=2\n",
                     "#SBATCH --requeue\n", "#SBATCH --partition=p\n",
                     '--shard "$SLURM_ARRAY_TASK_ID/4"\n'):
            self.assertIn(line, text)
        self.assertFalse(out.exists())
        done = subprocess.run(["sh", "-n"], input=text, text=True, check=False)
        self.assertEqual(done.returncode, 0)

    def test_what_does_not_go_together_is_refused(self):
        sweep = self.sweep(grid=OnSlurm.GRID)
        for line, words in (("--out DIR", ["--executor", "slurm"]),
                            ("did you mean \"slurm\"", ["--executor", "slrum"]),
                            ("goes with --executor slurm", ["--shards", "2"]),
                            ("goes with --executor slurm", ["--sbatch", "time=1"]),
                            ("--shards: expected a number from 1",
                             ["--executor", "slurm", "--out", "x", "--shards", "0", "--dry-run"]),
                            ("without dashes", ["--executor", "slurm", "--out", "x", "--dry-run",
                                                "--sbatch", "array=1-2"]),
                            ("K below N", ["--shard", "2/2", "--out", "x"]),
                            ("K below N", ["--shard", "1", "--out", "x"])):
            done = railyard("sweep", sweep, *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(line, done.stderr)

    def test_without_sbatch_it_says_where_to_go(self):
        done = railyard(*self.on_slurm(self.sweep(grid=OnSlurm.GRID), self.folder / "out"),
                        env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 4)
        self.assertIn("sbatch: no such program", done.stderr)


if __name__ == "__main__":
    SLURM = Slurm()
    try:
        if SLURM.missing:
            print(f"skipped: sweeps are not run on a Slurm: {SLURM.missing}")
            del OnSlurm
        good = unittest.main(verbosity=2, exit=False).result.wasSuccessful()
    finally:
        SLURM.stop()
    sys.exit(1 if not good else SKIPPED if SLURM.missing else 0)
