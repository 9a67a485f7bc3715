#!/usr/bin/env python3
"""test_shell.py PROGRAM: completion as real shells do it, manual pages as real readers read them,
and the changelog beside the version."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
SECONDS = 60  # ends a hang, nothing else


def output(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True,
                          timeout=SECONDS, cwd=ROOT, **options).stdout


def railyard(*words):
    return output(PROGRAM, *words)


def wants(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def options_of(verb):
    """Long options as the help has them: a word at the beginning of its line."""
    return set(re.findall(r"^  (?:-\w \[ )?(--[\w-]+)", railyard(verb, "--help"), re.MULTILINE))


def all_verbs():
    return re.findall(r"(?m)^  (\w+) ", railyard("--help").split("verbs:")[1].split("\n\n")[0])


class Bash(unittest.TestCase):
    def complete(self, *words, folder=ROOT):
        """What a real bash offers for the last word, cut into words as its line editor does."""
        broken = [part for word in words for part in re.split(r"(=)", word) if part or not word]
        script = ('source "$1"; shift; COMP_WORDS=(railyard "$@"); COMP_CWORD=$#; _railyard '
                  '&& printf "%s\\n" "${COMPREPLY[@]}"')
        text = output("bash", "--norc", "-c", script, "bash", self.script, *broken)
        return text.split()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.script = pathlib.Path(cls.folder.name) / "railyard"
        cls.script.write_text(railyard("completion", "bash"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_verb_and_every_option_of_it_is_offered(self):
        verbs = all_verbs()
        self.assertGreater(len(verbs), 18)
        self.assertEqual(set(self.complete("")), {*verbs, "--help", "--version"})
        for verb in verbs:
            options = options_of(verb)
            self.assertIn("--help", options)
            self.assertEqual(set(self.complete(verb, "--")), options, verb)

    def test_values_are_those_of_the_option(self):
        formats = {"table", "json", "csv", "markdown"}
        self.assertEqual(set(self.complete("run", "--format", "")), formats)
        self.assertEqual(set(self.complete("run", "--format=")), formats)
        self.assertEqual(self.complete("run", "--format=j"), ["json"])
        self.assertEqual(set(self.complete("explain", "--format", "")), {"table", "json"})
        # A family of `railyard list`, as this program prints it.
        routings = re.findall(r"^(\w+)  ", railyard("list", "routings"), re.MULTILINE)
        self.assertEqual(set(self.complete("topology", "--routing", "")), set(routings))
        self.assertEqual(self.complete("run", "--seed", ""), [])
        self.assertEqual(self.complete("run", "--out", "tes"), ["tests"])  # folders
        self.assertEqual(self.complete("run", "--perfetto", "READ"), ["README.md"])

    def test_words_are_actions_first_and_files_then(self):
        self.assertEqual(set(self.complete("topology", "b")), {"bandwidth", "bottlenecks"})
        self.assertEqual(self.complete("topology", "show", "topologies/clos_512"),
                         ["topologies/clos_512.json"])
        # The value of an option is no word.
        self.assertEqual(self.complete("topology", "--seed", "1", "sho"), ["show"])
        self.assertEqual(self.complete("topology", "--seed=1", "sho"), ["show"])
        self.assertEqual(self.complete("run", "scenarios/quick"), ["scenarios/quickstart.json"])
        self.assertIn("placements", self.complete("list", "p"))
        self.assertEqual(self.complete("schema", "sce"), ["scenario"])

    def test_it_is_the_completion_of_the_word_railyard(self):
        bound = output("bash", "--norc", "-c", 'source "$1"; complete -p railyard', "bash",
                       self.script)
        self.assertEqual(bound, "complete -F _railyard railyard\n")

    def test_no_other_shell_is_completed(self):
        done = subprocess.run([PROGRAM, "completion", "fihs"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("is no shell", done.stderr)


@wants("fish")
class Fish(unittest.TestCase):
    def complete(self, line):
        with tempfile.TemporaryDirectory() as home:
            script = pathlib.Path(home) / "railyard.fish"
            script.write_text(railyard("completion", "fish"))
            text = output("fish", "--no-config", "-c", f'source {script}; complete -C "{line}"',
                          env={**os.environ, "HOME": home})
        return {row.split("\t")[0] for row in text.splitlines()}

    def test_verbs_options_values_and_words(self):
        verbs = all_verbs()
        self.assertLessEqual(set(verbs), self.complete("railyard "))
        for verb in ("run", "topology", "sweep", "man"):
            self.assertLessEqual(options_of(verb), self.complete(f"railyard {verb} --"))
        self.assertEqual(self.complete("railyard run --format "),
                         {"table", "json", "csv", "markdown"})
        self.assertEqual(self.complete("railyard topology b"), {"bandwidth", "bottlenecks"})
        # The first word of one verb is the name of another.
        self.assertNotIn("--summary", self.complete("railyard topology validate --"))
        self.assertIn("README.md", self.complete("railyard run --perfetto READ"))


@wants("zsh")
class Zsh(unittest.TestCase):
    def typed(self, keys):
        """The line that a zsh at a terminal has after these keys."""
        with tempfile.TemporaryDirectory() as home:
            pathlib.Path(home, "_railyard").write_text(railyard("completion", "zsh"))
            setup = ("fpath=(~ $fpath); autoload -Uz compinit; compinit -u -D; PROMPT=; "
                     "show() { print -r -- \"<$BUFFER>\" > ~/line; }; zle -N show; "
                     "bindkey '^X' show; setopt no_beep; unsetopt zle_bracketed_paste; "
                     ": > ~/ready\n")
            child, terminal = pty.fork()
            if child == 0:
                os.chdir(ROOT)
                os.execvpe("zsh", ["zsh", "-f", "-i"],
                           {"HOME": home, "TERM": "dumb", "PATH": os.environ["PATH"],
                            "LC_ALL": "C.UTF-8"})
            try:
                os.write(terminal, setup.encode())
                self.until(terminal, pathlib.Path(home, "ready"))
                os.write(terminal, keys.encode() + b"\x18")
                return self.until(terminal, pathlib.Path(home, "line"))
            finally:
                os.close(terminal)
                os.kill(child, 9)
                os.waitpid(child, 0)

    def until(self, terminal, file):
        """Text of a file as soon as it is there; what the terminal prints is drained."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if select.select([terminal], [], [], 0.02)[0]:
                os.read(terminal, 65536)
            if file.exists() and (file.name == "ready" or file.read_text().endswith(">\n")):
                return file.read_text().strip().strip("<>")
        self.fail(f"zsh wrote no {file.name}")

    def test_verbs_options_values_and_words(self):
        self.assertEqual(self.typed("railyard swe\t"), "railyard sweep ")
        self.assertEqual(self.typed("railyard run --perf\t"), "railyard run --perfetto=")
        self.assertEqual(self.typed("railyard run --format mark\t"),
                         "railyard run --format markdown ")
        self.assertEqual(self.typed("railyard topology bott\t"), "railyard topology bottlenecks ")
        self.assertEqual(self.typed("railyard run scenarios/quick\t"),
                         "railyard run scenarios/quickstart.json ")


class Man(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = pathlib.Path(cls.folder.name)
        railyard("man", "--out", cls.pages)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_there_is_a_page_of_the_program_and_of_every_verb(self):
        verbs = all_verbs()
        names = {f"railyard-{verb}.1" for verb in verbs} | {"railyard.1"}
        self.assertEqual({page.name for page in self.pages.iterdir()}, names)
        self.assertEqual((self.pages / "railyard-run.1").read_text(), railyard("man", "run"))
        self.assertEqual((self.pages / "railyard.1").read_text(), railyard("man"))

    @wants("groff")
    def test_groff_has_nothing_to_say_and_prints_every_option(self):
        for page in sorted(self.pages.iterdir()):
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-P-cbou", page],
                                  capture_output=True, text=True, check=True, timeout=SECONDS)
            self.assertEqual(done.stderr, "", page.name)
            text = done.stdout.replace("\u2010", "-").replace("\u2212", "-")
            self.assertIn("EXIT STATUS", text)
            if page.name == "railyard.1":
                continue
            verb = page.stem.removeprefix("railyard-")
            for option in options_of(verb):
                self.assertRegex(text, rf"(?m)^ *(-\w( \w+)?, )?{option}\b", f"{verb} {option}")
            for example in railyard(verb, "--help").split("examples:\n")[1].splitlines():
                self.assertIn(example.strip()[:60], text)

    @wants("man")
    def test_man_finds_it_in_a_folder_of_pages(self):
        section = self.pages.parent / (self.pages.name + ".man") / "man1"
        shutil.copytree(self.pages, section)
        self.addCleanup(shutil.rmtree, section.parent)
        text = output("man", "-M", section.parent, "-P", "cat", "railyard-sweep",
                      env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        self.assertIn("--resume", text)


class Changelog(unittest.TestCase):
    def test_its_top_version_is_that_of_the_project(self):
        versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        project = re.search(r"project\(Railyard VERSION (\S+)",
                            (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(versions[0], project)
        numbers = [tuple(map(int, version.split("."))) for version in versions]
        self.assertTrue(all(len(number) == 3 for number in numbers))
        self.assertEqual(numbers, sorted(set(numbers), reverse=True))
        self.assertEqual(railyard("--version"), f"railyard {project}\n")


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
