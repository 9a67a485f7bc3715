#!/usr/bin/env python3
"""test_readme.py PROGRAM: the commands of README, guide and CI page work, and the README's output
is the real one."""

import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [README, *((ROOT / "docs" / page).read_text() for page in ("guide.md", "ci.md"))]
PROGRAM = ""


def railyard(words):
    return subprocess.run([PROGRAM, *words], cwd=ROOT, capture_output=True, text=True, check=False)


class Readme(unittest.TestCase):
    def test_the_table_is_what_the_quickstart_prints(self):
        done = railyard(["run", "scenarios/quickstart.json"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("```\n" + done.stdout + "```\n", README)

    def test_every_command_works(self):
        pages = [re.findall(r"^ *(?:- run: |- )?build/release/railyard (.+)$", page, re.MULTILINE)
                 for page in PAGES]
        self.assertTrue(all(len(commands) >= 4 for commands in pages))
        for command in dict.fromkeys(sum(pages, [])):
            with self.subTest(command=command):
                words = shlex.split(command)
                if words[0] == "sweep":  # its points are run by test_scenarios.py
                    words.append("--dry-run")
                done = railyard(words)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_two_commands_name_files_that_exist(self):
        for tool in re.findall(r"^(tools/\w+)", README, re.MULTILINE):
            self.assertTrue((ROOT / tool).exists())


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
