#!/usr/bin/env python3
"""test_bad_input.py PROGRAM [--update]: each NAME.json here has one fault.

NAME.expected is the one line that names it.

`railyard run NAME.json` must exit 2, say exactly that line on stderr and nothing on stdout, and
leave --out alone.
--update rewrites the expected lines: review them, each must say what to do.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 60  # a fault is found before anything runs; this only ends a hang
LEAST = 30    # faults that the project promises to answer


def run(program, name, out):
    path = f"tests/bad_input/{name}.json"
    return subprocess.run([program, "run", path, "--out", out], cwd=ROOT, capture_output=True,
                          text=True,
                          timeout=SECONDS, check=False)


def complaints_of(name, done, out, expected):
    if done.returncode != 2:
        yield f"exit {done.returncode}, wanted 2"
    if done.stdout:
        yield f"stdout is not empty: {done.stdout[:200]!r}"
    if done.stderr != expected:
        yield f"stderr\n      is     {done.stderr!r}\n      wanted {expected!r}"
    if done.stderr.count("\n") != 1:
        yield "one fault is one line"
    if str(ROOT) in done.stderr:
        yield "the message holds an absolute path"
    left = sorted(path.name for path in pathlib.Path(out).rglob("*"))
    if left:
        yield f"--out holds {left}"


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    update = "--update" in sys.argv[2:]
    names = sorted(path.stem for path in HERE.glob("*.json"))
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as out:
            done = run(program, name, out)
            file = HERE / f"{name}.expected"
            if update:
                file.write_text(done.stderr, encoding="utf-8")
            expected = file.read_text(encoding="utf-8") if file.exists() else ""
            for complaint in complaints_of(name, done, out, expected):
                failed += 1
                print(f"{name}: {complaint}")
    if len(names) < LEAST:
        failed += 1
        print(f"{len(names)} files, at least {LEAST} are promised")
    print(f"{len(names)} wrong inputs, {failed} complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
