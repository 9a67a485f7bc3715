#!/usr/bin/env python3
"""test_package.py PROGRAM BUILD: the Debian package of a build folder, made, installed below a
folder of its own and used from outside the source tree. Skips, and says so, without dpkg."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
BUILD = ""
SKIPPED = 77
SECONDS = 300  # ends a hang, nothing else


def output(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=SECONDS, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        output("cpack", "-G", "DEB", "-B", cls.folder / "packed", cwd=BUILD)
        cls.package = next((cls.folder / "packed").glob("*.deb"))
        cls.root = cls.folder / "root"
        cls.install()
        cls.program = cls.root / "usr/bin/railyard"

    @classmethod
    def install(cls):
        """As dpkg does, into a root of its own; whoever may not do that unpacks it."""
        if os.geteuid() != 0:
            output("dpkg-deb", "--extract", cls.package, cls.root)
            return
        for name in ("updates", "info"):
            (cls.root / "var/lib/dpkg" / name).mkdir(parents=True)
        for name in ("status", "available"):
            (cls.root / "var/lib/dpkg" / name).touch()
        # What it depends on lies in the root of the system, not in this one.
        output("dpkg", f"--root={cls.root}", "--force-depends", "--install", cls.package)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def railyard(self, *words):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        return output(self.program, *words, cwd=elsewhere)

    def test_it_says_what_it_is_and_what_it_needs(self):
        fields = dict(re.findall(r"(?m)^ ?([\w-]+): (.*)$", output("dpkg-deb", "--info",
                                                                   self.package)))
        version = re.search(r"project\(Railyard VERSION (\S+)",
                            (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual((fields["Package"], fields["Version"]), ("railyard", version))
        depends = re.findall(r"(?:^|, )([\w.+-]+)", fields["Depends"])
        # The libraries that the program names, found by dpkg-shlibdeps and installed here.
        for library in ("libc6", "libfmt9", "libsqlite3-0", "coinor-libcbc3"):
            self.assertIn(library, depends)
        output("dpkg-query", "--show", *depends)

    def test_the_program_runs_outside_of_the_source_tree(self):
        self.assertEqual(self.railyard("--version"), output(PROGRAM, "--version"))
        for name in ("scenarios/quickstart.json", "quickstart"):
            self.assertIn("everything is well", self.railyard("run", name, "--dry-run"))
        self.assertEqual(self.railyard("digest", "quickstart"),
                         output(PROGRAM, "digest", "scenarios/quickstart.json", cwd=ROOT))
        self.assertIn("points are well",
                      self.railyard("sweep", "scenarios/sweeps/alpha_interval.json", "--dry-run"))

    def test_fabrics_models_recordings_and_published_rows_are_found_by_name(self):
        self.assertIn("llama3_8b", self.railyard("list", "models"))
        self.assertEqual(self.railyard("topology", "show", "clos_512"),
                         output(PROGRAM, "topology", "show", "topologies/clos_512.json", cwd=ROOT))
        self.railyard("plan", "llama3_8b", "--topology", "superpod_h100", "--gpus", "8",
                      "--finalists", "1")
        self.railyard("init", "mine.json", "--force", "--topology", "superpod_a100", "--model",
                      "megatron_1_7b", "--gpus", "16")
        self.railyard("run", "mine.json", "--dry-run")
        self.railyard("validate", "sc21_table1", "--summary")
        self.assertTrue((self.root / "usr/share/railyard/results/baselines").is_dir())

    def test_manual_pages_and_completions_are_where_they_are_looked_for(self):
        share = self.root / "usr/share"
        self.assertEqual((share / "man/man1/railyard-run.1").read_text(),
                         self.railyard("man", "run"))
        for shell, path in (("bash", "bash-completion/completions/railyard"),
                            ("zsh", "zsh/vendor-completions/_railyard"),
                            ("fish", "fish/vendor_completions.d/railyard.fish")):
            self.assertEqual((share / path).read_text(), self.railyard("completion", shell))
        for name in ("copyright", "CHANGELOG.md", "guide.md"):
            self.assertTrue((share / "doc/Railyard" / name).exists() or
                            (share / "doc/railyard" / name).exists(), name)

    def test_nothing_of_the_machine_that_built_it_is_in_it(self):
        for file in self.root.rglob("*"):
            if file.is_file() and "var/lib/dpkg" not in str(file):
                self.assertFalse(str(ROOT).encode() + b"/" in file.read_bytes(), file)


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    ABSENT = [name for name in ("cpack", "dpkg", "dpkg-deb", "dpkg-shlibdeps", "file")
              if not shutil.which(name)]
    if ABSENT:
        print(f"skipped: no Debian package is made: no {', '.join(ABSENT)} here")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
