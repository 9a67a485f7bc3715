#!/usr/bin/env python3
"""test_limits.py PROGRAM: --memory-limit. Not under sanitizers, whose shadow is memory too."""

import unittest

from support import ROOT, Case, railyard

SMALL = ROOT / "tests/cli/small.json"


class MemoryLimit(Case):
    def test_what_fits_is_what_it_is_without_a_limit(self):
        plain = railyard("run", SMALL)
        limited = railyard("run", SMALL, "--memory-limit", "1GiB")
        self.assertEqual((limited.returncode, limited.stdout), (0, plain.stdout), limited.stderr)

    def test_a_trace_of_15000_jobs_that_does_not_fit_ends_with_a_line_and_no_file(self):
        out = self.folder / "out"
        done = railyard("run", "scenarios/philly_2k.json", "--memory-limit", "40MiB", "--jobs",
                        "1", "--out", out)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertIn("out of memory: the limit (--memory-limit", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(list(out.glob("*")), [])

    def test_no_limit_is_below_what_the_program_holds(self):
        for size, line in (("1MiB", "needs"), ("2", "expected a size as 2GiB"), ("0B", "expected"),
                           ("-1GiB", "expected")):
            done = railyard("run", SMALL, f"--memory-limit={size}")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(line, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
