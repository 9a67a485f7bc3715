"""What the suites of this folder share. The first word of each is the program."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
SECONDS = 300  # ends a hang, nothing else


def railyard(*words, **options):
    return subprocess.run([PROGRAM, *map(str, words)], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=SECONDS, **options)


def changed(changes):
    """Options that change a scenario: values by pointer."""
    return [word for pointer, value in changes.items()
            for word in ("--set", f"{pointer}={json.dumps(value)}")]


class Case(unittest.TestCase):
    """A folder for each case, and what to expect of the program."""
    PREFIX = None  # of the folder's name
    SWEEP = "sweep.json"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix=self.PREFIX)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def sweep(self, name=None, **members):
        path = self.folder / (name or self.SWEEP)
        path.write_text(json.dumps({"description": "x",
                                    "scenario": str(ROOT / "tests/cli/small.json"), **members}))
        return path

    def scenario(self):
        """A copy of the small one, to be changed: its path and its text."""
        path = self.folder / "small.json"
        text = (ROOT / "tests/cli/small.json").read_text()
        text = text.replace("../../workloads", str(ROOT / "workloads"))
        path.write_text(text)
        return path, text

    def good(self, *words):
        done = railyard(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refused(self, code, line, *words):
        done = railyard(*words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(line, done.stderr)
        return done
