"""The shape of C++ files: opening comments, lengths, and objects that live outside functions."""

import re

from tree import code_of, scan, without_template

MAX_COLUMNS = 100
MAX_FUNCTION_LINES = 70


def headers(tree):
    """`#pragma once`, and a comment that says what the file is in the domain."""
    complaints = []
    for path in tree.paths(".hpp"):
        text = tree.text(path)
        if not re.search(r"(?m)^#pragma once$", text):
            complaints.append(f"{path}:1: a header needs #pragma once")
        lines = [line.strip() for line in text.splitlines()]
        opening = next((line for line in lines if line and line != "#pragma once"), "")
        if not opening.startswith(("//", "/*")):
            complaints.append(f"{path}:1: open with a comment: what this is, its invariants")
    return complaints


def columns(tree):
    """Lines that a reader can see whole. Raw strings and addresses cannot be broken."""
    complaints = []
    for path in tree.paths(".hpp", ".cpp", ".py"):
        text = tree.text(path)
        code = code_of(text).splitlines() if path.endswith((".hpp", ".cpp")) else []
        inside_raw = raw_string_lines(text) if code else set()
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MAX_COLUMNS and number not in inside_raw and "://" not in line:
                complaints.append(f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}")
    return complaints


def raw_string_lines(text):
    found = set()
    for match in re.finditer(r'\bR"([^()\\\s]{0,16})\(.*?\)\1"', text, re.DOTALL):
        first = text.count("\n", 0, match.start()) + 1
        found.update(range(first, first + match.group().count("\n") + 1))
    return found


def functions(tree):
    """A function that fits a screen; test cases count as functions."""
    complaints = []
    for path in tree.paths(".hpp", ".cpp"):
        for scope in scan(tree.text(path))[0]:
            length = scope.last - scope.first + 1
            if scope.kind == "function" and length > MAX_FUNCTION_LINES:
                name = re.search(r"([\w:~]+)\s*\(", without_template(scope.head))
                name = name.group(1) if name else "a function"
                complaints.append(f"{path}:{scope.first}: {name} has {length} lines, at most "
                                  f"{MAX_FUNCTION_LINES}; give its steps names")
    return complaints


_NO_OBJECT = re.compile(
    r"^(using|typedef|template|static_assert|friend|extern|class|struct|enum|union|namespace|return"
    r"|goto|break|continue|case|default|if|for|while|do|else|throw|delete|asm|concept|requires)\b")
_CONSTANT = re.compile(r"\b(const|constexpr|consteval|constinit\s+const)\b")
_OBJECT = re.compile(r"^(?:(?:static|inline|thread_local|constinit|mutable|volatile|unsigned)\s+)*"
                     r"[\w:]+(?:<.*>)?(?:::\w+)?[\s*&]+\w+(?:\[[^\]]*\])*\s*(?:=.*|\{.*)?$")


def mutable_objects(tree):
    """Nothing that outlives a run may change: namespace-scope, static and thread_local objects."""
    complaints = []
    for path in tree.paths(".hpp", ".cpp", under=("src", "include", "tests", "tools")):
        for line, statement, scope in scan(tree.text(path))[1]:
            declaration = statement.split("=")[0].split("{")[0]
            kind = scope.kind if scope else "namespace"
            stored = re.match(r"^(inline\s+)?(static|thread_local)\b", statement)
            if not (stored or kind == "namespace"):
                continue
            if _NO_OBJECT.match(statement) or _CONSTANT.search(declaration):
                continue
            if "(" not in declaration and _OBJECT.match(statement):
                name = declaration.split()[-1]
                complaints.append(f"{path}:{line}: {name} can change and outlives the run; "
                                  "make it constexpr, or a member of what owns it")
    return complaints
