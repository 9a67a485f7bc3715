#!/usr/bin/env python3
"""Rules of the project that a program can check: `tidy.py CHECK…`, or all without a name.

Each complaint is one line, path:line: what is wrong, what to do instead. Exit 1 where there is one.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import bans  # noqa: E402
import layers  # noqa: E402
import prose  # noqa: E402
import shape  # noqa: E402
from tree import Tree  # noqa: E402

CHECKS = {
    "layers": layers.layers,
    "third_party": layers.third_party,
    "bans": bans.bans,
    "headers": shape.headers,
    "columns": shape.columns,
    "functions": shape.functions,
    "mutable_objects": shape.mutable_objects,
    "open_ends": prose.open_ends,
    "links": prose.links,
    "inputs": prose.inputs,
    "commits": prose.commits,
    "addresses": prose.addresses,
    "packages": prose.packages,
    "scripts": prose.scripts,
    "sizes": prose.sizes,
}


def main(names):
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    tree = Tree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    if "commits" in names and tree.commits() is None:
        print("no Git checkout: there are no commits to read")
        return 77
    complaints = [line for name in names or CHECKS for line in CHECKS[name](tree)]
    for line in complaints:
        print(line)
    print(f"{len(tree.paths())} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
