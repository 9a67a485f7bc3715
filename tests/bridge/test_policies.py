#!/usr/bin/env python3
"""test_policies.py PROGRAM BUILD CXX: policies that users bring: other programs, and plug-ins."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM, BUILD, CXX = "", "", ""
SECONDS = 300  # ends a hang, nothing else

FABRIC = {"builder": "clos", "gpu": "A100-80", "gpus_per_host": 8,
          "nvlink": {"bandwidth": "300GB/s"}, "nic": {"bandwidth": "100Gbps"},
          "hosts_per_minipod": [5, 4, 3], "hosts_per_leaf": 2,
          "switch_link": {"bandwidth": "400Gbps"}, "oversubscription": {"minipod": 2}}

# Answers to the first line and to those after it, and what must be said of them.
HELLO = 'print(\'{"type": "hello", "protocol": 1}\', flush=True)'
DECIDES = 'print(\'{"type": "decisions", "decisions": [%s]%s}\', flush=True)'
WRONG = {
    "import sys; sys.exit(7)": "it ended with exit code 7",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "it was ended by signal 9",
    "import time; time.sleep(60)": "it said nothing for 0.5 s",
    "print('hello', flush=True)": "answer 1:1:",
    "print('{}', flush=True)": 'missing key "type"',
    'print(\'{"type": "hello", "protocol": 2}\', flush=True)':
        "answer 1:1:31 /protocol: it speaks version 2, this program speaks 1",
    HELLO + "; input(); input(); print('[1', flush=True)": "answer 2:1:",
    HELLO + "; input(); input(); " + DECIDES % ('{"start": 99, "hosts": [0]}', ""):
        "/decisions/0/start: no job 99 has arrived",
    HELLO + "; input(); input(); " + DECIDES % ('{"start": 1, "hosts": [0]}', ""):
        "/decisions/0/start: no job 1 has arrived",  # it comes later
    HELLO + "; input(); input(); " + DECIDES % ('{"start": 0, "hosts": [12]}', ""):
        "/decisions/0/hosts: no host 12",
    HELLO + "; input(); input(); " + DECIDES % ('{"start": 0, "host": [1]}', ""):
        'did you mean "hosts"?',
    HELLO + "; input(); input(); " + DECIDES % ('{"start": 0, "place": "best_fitt"}', ""):
        'did you mean "best_fit"?',
    HELLO + "; input(); input(); " + DECIDES % ('{"start": 0}', ""):
        'or the policy set a "placement"',
    HELLO + "; input(); input(); " + DECIDES % ("{}", ""): 'a decision has "start"',
    HELLO + "; input(); input(); " + DECIDES % ("", ', "again": true'): "nothing was decided",
    HELLO + "; input(); input()": "it ended with exit code 0 before the run was over",
}


def railyard(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=SECONDS, check=False)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write_trace()

    def write_trace(self):
        """Sixty jobs of parts of hosts and of many hosts, more than fit at once."""
        draw = random.Random(1)
        rows = ["job_id,submit_time_s,duration_s,num_gpus"]
        at = 0
        for job in range(60):
            at += draw.randrange(600)
            gpus = draw.choice([1, 2, 4, 8, 8, 16, 24, 32, 64])
            rows.append(f"j{job},{at},{draw.randrange(60, 7200)},{gpus}")
        (self.folder / "trace.csv").write_text("\n".join(rows) + "\n")

    def scenario(self, policy, **more):
        path = self.folder / "mine.json"
        path.write_text(json.dumps({
            "topology": FABRIC, "job_trace": "trace.csv", "network": {"routing": "spray"},
            "policies": {"mine": policy}, **more}))
        return str(path)

    def run_good(self, policy, *arguments, **more):
        done = railyard("run", self.scenario(policy, **more), "--format", "json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


def process(*command, **more):
    return {"scheduler": {"name": "process", "command": list(command), **more}}


class Programs(Case):
    FIFO = str(ROOT / "tests/bridge/fifo_best_fit.py")

    def test_fifo_and_best_fit_written_in_python_give_the_digest_of_those_in_the_tree(self):
        # The digest is over every job's start and finish and every metric of the policy set.
        in_tree = {"placement": "best_fit", "queue": "fifo"}
        for more in ({}, {"interval": "5min", "decision_latency": "30s"}):
            wanted = self.run_good({**in_tree, **more})
            for how in (["hosts"], ["place"], ["place", '"best_fit"']):
                mine = {**process("python3", self.FIFO, *how), **more}
                if how == ["place"]:
                    mine["placement"] = "best_fit"
                self.assertEqual(self.run_good(mine)["digest"], wanted["digest"], how)
            # It tells schedulers apart.
            other = self.run_good({"placement": "gpu_packing", "queue": "fifo", **more})
            self.assertNotEqual(other["digest"], wanted["digest"])

    def test_a_policy_of_the_catalogs_places_as_it_does_in_the_tree(self):
        # Random draws are named by job, so they are the same ones.
        wanted = self.run_good({"placement": "random_fit"})
        mine = process("python3", self.FIFO, "place", '{"name": "random_fit"}')
        self.assertEqual(self.run_good(mine)["digest"], wanted["digest"])

    def test_jobs_that_failures_throw_out_come_back(self):
        more = {"failures": {"name": "node_rate", "per_1000_node_days": 5000, "repair": "1h"}}
        wanted = self.run_good({"placement": "best_fit"}, **more)
        got = self.run_good(process("python3", self.FIFO, "hosts"), **more)
        self.assertEqual(got["digest"], wanted["digest"])
        self.assertGreater(got["policies"]["mine"]["metrics"]["restarts"], 0)

    def test_the_template_is_shortest_job_first(self):
        template = str(ROOT / "tools/policy-template/shortest_first.py")
        self.assertLessEqual(len(pathlib.Path(template).read_text().splitlines()), 60)
        mine = {**process("python3", template), "predictor": "oracle"}
        wanted = self.run_good({"placement": "best_fit", "predictor": "oracle",
                                "queue": {"name": "sjf", "hold": "block"}})["policies"]["mine"]
        got = self.run_good(mine)["policies"]["mine"]
        # Same order; a minipod's leaves in another one, which jobs that share links feel a little.
        for metric in ("jct_s_mean", "queue_s_mean", "makespan_s", "jobs_finished"):
            self.assertAlmostEqual(got["metrics"][metric] / wanted["metrics"][metric], 1,
                                   delta=0.005)
        fifo = self.run_good({"placement": "best_fit"})["policies"]["mine"]["metrics"]
        self.assertLess(got["metrics"]["jct_s_mean"], 0.9 * fifo["jct_s_mean"])

    def test_a_program_is_found_from_the_file_that_names_it(self):
        (self.folder / "policy.py").write_text(pathlib.Path(self.FIFO).read_text())
        result = self.run_good(process("python3", "policy.py", "hosts"))
        self.assertEqual(result["policies"]["mine"]["metrics"]["jobs_finished"], 60)

    def test_what_is_refused_is_told_with_its_reason_and_counted(self):
        # The first answer starts job 0 on a host too few or twice, the second goes on from there.
        program = self.folder / "policy.py"
        program.write_text(
            "import json, sys\n"
            "hello = json.loads(input())\n"
            "print(json.dumps({'type': 'hello', 'protocol': 1}), flush=True)\n"
            "question = json.loads(input())\n"
            "answer = {'type': 'decisions', 'again': True, 'decisions': [\n"
            "    {'start': 0, 'hosts': [0, 0]}, {'preempt': 0}, {'wake_s': 0},\n"
            "    {'start': 0, 'place': {'name': 'blocks', 'minipods': 3}}]}\n"
            "print(json.dumps(answer), flush=True)\n"
            "question = json.loads(input())\n"
            "print(json.dumps(question['events']), file=sys.stderr)\n")
        (self.folder / "trace.csv").write_text(
            "job_id,submit_time_s,duration_s,num_gpus\nj0,10,60,96\nj1,20,60,8\n")
        path = self.scenario(process("python3", "policy.py"))
        done = railyard("run", path)
        self.assertEqual(done.returncode, 2)
        events = json.loads(done.stderr.splitlines()[0])
        self.assertEqual([(event["event"], event.get("job")) for event in events],
                         [("no_place", 0), ("refused", 0), ("refused", 0), ("refused", None)])
        self.assertIn("twice", events[1]["reason"])
        self.assertIn("does not run", events[2]["reason"])
        self.assertIn("time that has come", events[3]["reason"])

    def test_a_program_that_fails_is_named_with_the_fix_and_leaves_nothing(self):
        out = self.folder / "out"
        for code, line in WRONG.items():
            # A short patience for the silent one alone: on a busy machine others start slowly.
            patience = {"timeout": "500ms"} if "it said nothing" in line else {}
            path = self.scenario(process("python3", "-c", code, **patience))
            started = time.monotonic()
            done = railyard("run", path, "--out", str(out))
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(line, done.stderr, code)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn("mine.json:1:", done.stderr)
            self.assertIn("/policies/mine/scheduler", done.stderr)
            self.assertEqual(list(out.iterdir()), [], code)
            self.assertLess(time.monotonic() - started, 30)

    def test_no_program_outlives_the_run(self):
        # A program that does not leave when its input ends is killed, with its children.
        marker = self.folder / "pids"
        code = (f"import os, subprocess, sys, time; "
                f"child = subprocess.Popen(['sleep', '600']); "
                f"open({str(marker)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}'); {HELLO}\n"
                f"for line in sys.stdin: "
                + DECIDES % ('{"reject": 0, "reason": "no"}', "") + "\n"
                f"time.sleep(600)")
        (self.folder / "trace.csv").write_text(
            "job_id,submit_time_s,duration_s,num_gpus\nj0,10,60,8\n")
        result = self.run_good(process("python3", "-c", code))
        self.assertEqual(result["policies"]["mine"]["jobs"][0]["status"], "rejected")
        for pid in marker.read_text().split():
            self.assertFalse(self.lives(pid), f"process {pid} is left")

    @staticmethod
    def lives(pid):
        for _ in range(50):
            stat = pathlib.Path("/proc", pid, "stat")
            if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] in "ZX":
                return False
            time.sleep(0.1)
        return True

    def test_what_a_scheduler_of_its_own_leaves_no_room_for_is_refused(self):
        wrong = {"queue": ({**process("true"), "queue": "fifo"}, "decides that itself"),
                 "reservation": ({**process("true"), "reservation": {"name": "pool"}},
                                 "decides that itself"),
                 "command": ({"scheduler": {"name": "process"}}, '"command"'),
                 "empty": ({"scheduler": {"name": "process", "command": []}}, "a program and its"),
                 "missing": (process("./not_there"), '"./not_there" cannot be started'),
                 "none": ({"scheduler": "proces"}, 'did you mean "process"?')}
        for policy, line in wrong.values():
            done = railyard("run", self.scenario(policy))
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(line, done.stderr)
        done = railyard("place", "tests/cli/small.json", "--set",
                        "/policies/best_fit=" + json.dumps(process("true")))
        self.assertEqual(done.returncode, 2)
        self.assertIn("names no placement", done.stderr)


class Plugins(Case):
    """Builds tools/plugin-template against the build folder, and against an installed package."""

    def build(self, source, prefix, name):
        build = self.folder / name
        for step in (["cmake", "-S", str(source), "-B", str(build), f"-DRailyard_DIR={prefix}",
                      f"-DCMAKE_CXX_COMPILER={CXX}"], ["cmake", "--build", str(build)]):
            done = subprocess.run(step, capture_output=True, text=True, timeout=SECONDS,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return build / "libmine.so"

    def test_a_library_adds_policies_that_are_listed_and_run(self):
        installed = self.folder / "prefix"
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", str(installed)],
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        package = installed / "lib/cmake/Railyard"
        library = str(self.build(ROOT / "tools/plugin-template", package, "plugin"))
        done = railyard("list", "placements", "--plugin", library)
        self.assertIn("fewest_leaves", done.stdout)
        self.assertNotIn("fewest_leaves", railyard("list", "placements").stdout)
        done = railyard("list", "placements", "fewest_leaves", "--plugin", library)
        self.assertIn("dp_fastest", done.stdout)

        # A gang of a host or less lies in one leaf, whatever is free.
        mine = {"placement": {"name": "fewest_leaves", "rank_order": "dp_fastest"}}
        result = self.run_good(mine, "--plugin", library)["policies"]["mine"]
        self.assertEqual(result["metrics"]["jobs_finished"], 60)
        self.assertTrue(all(job["leaves"] == 1 for job in result["jobs"] if job["gpus"] <= 8))
        # A program may name it too.
        done = self.run_good(process("python3", Programs.FIFO, "place", '"fewest_leaves"'),
                             "--plugin", library)
        self.assertEqual(done["policies"]["mine"]["jobs"],
                         self.run_good({"placement": "fewest_leaves"}, "--plugin",
                                       library)["policies"]["mine"]["jobs"])
        done = railyard("run", self.scenario(mine))
        self.assertEqual(done.returncode, 2)
        self.assertIn('unknown placement policy "fewest_leaves"', done.stderr)
        self.refused(f"{library}: it adds a placement policy \"fewest_leaves\", which is there",
                     library, library)

    def refused(self, line, *libraries):
        options = [word for library in libraries for word in ("--plugin", library)]
        done = railyard("list", *options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(line, done.stderr)

    def test_libraries_that_do_not_fit_are_refused(self):
        source = self.folder / "source"
        source.mkdir()
        for file in ("CMakeLists.txt", "fewest_leaves.cpp"):
            text = (ROOT / "tools/plugin-template" / file).read_text()
            (source / file).write_text(text.replace("return bridge::kPluginAbi;", "return 999;"))
        other = str(self.build(source, BUILD, "other"))
        self.refused("it was built for ABI 999, this program has 1", other)
        nothing = self.folder / "nothing.cpp"
        nothing.write_text("int nothing() { return 0; }\n")
        library = str(self.folder / "nothing.so")
        subprocess.run([CXX, "-shared", "-fPIC", "-o", library, str(nothing)], check=True,
                       timeout=SECONDS)
        self.refused("no plug-in", library)
        (self.folder / "text.so").write_text("no library\n")
        self.refused("--plugin", str(self.folder / "text.so"))
        self.refused("no such file", str(self.folder / "missing.so"))


if __name__ == "__main__":
    PROGRAM, BUILD, CXX = (os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    unittest.main(argv=sys.argv[:1])
