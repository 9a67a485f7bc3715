#!/usr/bin/env python3
"""test_studies.py PROGRAM: the studies of tools/studies run and say what theory says."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ""


def study(name, *words):
    environment = dict(os.environ, RAILYARD=PROGRAM)
    done = subprocess.run([sys.executable, ROOT / "tools/studies" / name, *words], env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Studies(unittest.TestCase):
    def test_random_pairs_get_what_max_min_gives_them(self):
        """topologies/clos_512.json, 512 random pairs. Known ranges of max-min on a non-blocking
        CLOS: static 0.55 to 0.70 of the bisection, ECMP 0.45 to 0.55, adaptive 0.85 to 1."""
        shares = {}
        for line in study("random_pairs.py", "2").splitlines()[1:]:
            name = line[:15].strip()
            shares[name] = float(line[15:].split()[1]) / 100
        self.assertTrue(0.55 <= shares["static"] <= 0.72, shares)
        self.assertTrue(0.45 <= shares["ecmp"] <= 0.56, shares)
        self.assertGreater(shares["adaptive, path"], 0.85)
        self.assertAlmostEqual(shares["spray"], 1.0)

    def test_what_is_written_of_claims_is_what_is_found(self):
        """docs/claims.md is what its study writes today."""
        self.assertIn("up to date", study("seeds_claims.py", "--check"))

    def test_the_minipod_penalty_counts_collisions(self):
        """A sweep of two seeds. 32 sends on 32 uplinks: the fullest uplink carries 3 to 5 of them,
        so the slowest keeps 0.2 to 0.34; spraying loses nothing."""
        text = (ROOT / "scenarios/sweeps/minipod_penalty.json").read_text()
        text = text.replace('"count": 200', '"count": 2')
        text = text.replace('"../../', f'"{ROOT}/').replace('"../', f'"{ROOT}/scenarios/')
        with tempfile.TemporaryDirectory() as folder:
            sweep = pathlib.Path(folder) / "sweep.json"
            sweep.write_text(text)
            words = [PROGRAM, "sweep", sweep, "--out", folder, "--quiet"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            table = study("minipod_penalty.py", str(pathlib.Path(folder) / "points.csv"))
        lines = [line.split() for line in table.splitlines()]
        kept = [float(line[2]) for line in lines if line[:2] == ["32", "32"]]
        self.assertEqual(len(kept), 1, table)
        self.assertTrue(0.2 <= kept[0] <= 0.34, table)
        spray = [line for line in lines if line[:2] == ["send_recv", "spray"]]
        self.assertTrue(all(float(line[4]) < 0.5 for line in spray), table)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=0)
