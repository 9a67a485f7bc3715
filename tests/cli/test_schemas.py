#!/usr/bin/env python3
"""test_schemas.py PROGRAM: shipped files and a result validate against `railyard schema`."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ""
# A string, or a comment: what stands in strings is no comment.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def read(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(TOKEN.sub(lambda match: match.group() if match.group()[0] == '"' else " ",
                                text))


def railyard(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, check=True).stdout


class Schemas(unittest.TestCase):
    def validator(self, kind):
        schema = json.loads(railyard("schema", kind))
        jsonschema.Draft202012Validator.check_schema(schema)
        return jsonschema.Draft202012Validator(schema)

    def check_files(self, kind, pattern):
        validator = self.validator(kind)
        files = sorted(ROOT.glob(pattern))
        self.assertTrue(files, pattern)
        for file in files:
            with self.subTest(file=file.name):
                validator.validate(read(file))

    def test_topologies(self):
        self.check_files("topology", "topologies/*.json")

    def test_workloads(self):
        self.check_files("workload", "workloads/models/*.json")
        self.check_files("workload", "workloads/micro/*.json")

    def test_collectives(self):
        self.check_files("collective", "workloads/collectives/*.json")

    def test_scenarios_and_sweeps(self):
        scenario, sweep = self.validator("scenario"), self.validator("sweep")
        for file in sorted(ROOT.glob("scenarios/**/*.json")) + [ROOT / "tests/cli/small.json",
                                                                ROOT / "tests/cli/sweep.json"]:
            with self.subTest(file=file.name):
                data = read(file)
                (sweep if "scenario" in data else scenario).validate(data)

    def test_results(self):
        self.validator("result").validate(json.loads(railyard("run", "tests/cli/small.json",
                                                              "--format", "json")))

    def test_misspelt_keys_missing_units_and_unknown_policies_are_faults(self):
        validator = self.validator("scenario")
        for name in ("unknown_key", "unknown_topology_key", "missing_unit", "wrong_unit",
                     "wrong_type", "unknown_policy",
                     "unknown_parameter", "missing_key", "no_policies", "bad_seed"):
            with self.subTest(name=name):
                self.assertFalse(validator.is_valid(read(ROOT / f"tests/bad_input/{name}.json")))


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=0)
