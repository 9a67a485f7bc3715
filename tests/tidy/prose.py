"""What stands around the code: links, open ends, addresses, package lists, inputs, commits."""

import ast
import os
import posixpath
import re
import shutil
import subprocess
import unicodedata

OPEN_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?!.*#\d+)")


def open_ends(tree):
    complaints = []
    for path in tree.paths(under=("src", "include", "tests", "tools", "cmake", "docs")):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if OPEN_END.search(line):
                complaints.append(f"{path}:{number}: an open end without an issue number (#12)")
    return complaints


def anchors_of(text):
    """The anchors a Markdown file offers, named as code hosts name them."""
    found = {}
    for line in outside_fences(text):
        match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line[1])
        if match:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1)).lower()
            kept = "".join(c for c in title
                           if c in " -_" or unicodedata.category(c)[0] in "LN")
            anchor = kept.replace(" ", "-")
            count = found[anchor] = found.get(anchor, -1) + 1
            if count:
                found[f"{anchor}-{count}"] = 0
    return set(found) | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def outside_fences(text):
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def links(tree):
    """Every relative link of the documentation leads somewhere."""
    complaints = []
    for path in tree.paths(".md"):
        for number, line in outside_fences(tree.text(path)):
            line = re.sub(r"`[^`]*`", "", line)
            targets = re.findall(r"\]\(\s*<?([^)\s>]+)", line)
            targets += re.findall(r'(?:src|href)="([^"]+)"', line)
            targets += re.findall(r"^\[[^\]]+\]:\s*(\S+)", line)
            for target in targets:
                complaint = broken(tree, path, target)
                if complaint:
                    complaints.append(f"{path}:{number}: {complaint}")
    return complaints


def broken(tree, path, target):
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None
    name, _, anchor = target.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
    if name.startswith("/") or file.startswith(".."):
        return f"{target} leads out of the repository"
    if not tree.exists(file):
        return f"{target} leads nowhere"
    if anchor and file.endswith(".md") and anchor not in anchors_of(tree.text(file)):
        return f"{target}: no such heading"
    return None


def inputs(tree):
    """Every shipped scenario, topology and workload is used by a test, by name or indirectly."""
    tests = [tree.text(path) for path in tree.paths(under=("tests",))
             if not path.startswith("tests/tidy/")]
    shipped = tree.paths(".json", ".csv", under=("scenarios", "topologies", "workloads"))
    used = {path for path in shipped if any(names(text, path) for text in tests)}
    waiting = list(used)
    while waiting:  # a scenario that a test runs carries its topology along
        text = tree.text(waiting.pop())
        reached = {path for path in shipped
                   if path not in used and posixpath.basename(path) in text}
        used |= reached
        waiting += reached
    return [f"{path}:1: no test under tests/ names it; run it from one"
            for path in shipped if path not in used]


def names(text, path):
    """Whether a test names the file, with or without its suffix, or walks its folder."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    if re.search(rf'(?:^|["/\s]){re.escape(stem)}(\.json|\.csv)?(?=["\'\s,:)])', text):
        return True
    folder = posixpath.dirname(path)
    return "directory_iterator" in text and re.search(rf'"{re.escape(folder)}/?"', text) is not None


DIGEST_LINE = re.compile(r"^(Digest: [0-9a-f]{4,}\b.*|No behaviour change)$")


def commits(tree):
    """Each commit says what it did to the behaviour, so that a digest's move can be traced."""
    history = tree.commits()
    if history is None:
        return []
    complaints = []
    for name, message in history:
        lines = message.rstrip().splitlines() or [""]
        if not DIGEST_LINE.match(lines[-1].strip()):
            complaints.append(f"{name}: {lines[0]}: the last line must be `Digest: <hash>` "
                              "or `No behaviour change`")
    return complaints


# Spelt in parts, or this file would complain about itself.
MACHINE = re.compile(r"(?<![\w.$}~-])/(?:home/\w|root/|Users/\w|work/)|\b[A-Z]:\\\\?Users")
ADDRESS = re.compile(r"https" r"?://|\bgit" r"@\w|\bssh" r"://")
DOWNLOAD = re.compile(r"\b(Fetch" r"Content|External" r"Project|file\s*\(\s*DOWN" r"LOAD"
                      r"|CPM" r"AddPackage|pip3? install|curl|wget)\b")


def addresses(tree):
    """Nothing names one machine, and the build speaks to no network but through apt."""
    complaints = []
    own_parent = os.path.dirname(tree.root) + "/"
    for path in tree.paths():
        name = posixpath.basename(path)
        build = (path.startswith(("tools/", ".ci/", "cmake/")) or path.endswith(".cmake")
                 or name in ("CMakeLists.txt", "CMakePresets.json", "package.json"))
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if MACHINE.search(line) and not path.startswith("tests/tidy/"):
                complaints.append(f"{path}:{number}: a path of one machine; make it relative")
            elif len(own_parent) > 5 and own_parent in line:
                complaints.append(f"{path}:{number}: the path of this checkout; make it relative")
            if build and (ADDRESS.search(line) or DOWNLOAD.search(line)):
                complaints.append(f"{path}:{number}: the build fetches only Debian packages")
    return complaints


SCRIPT = re.compile(r"#!.*\b(bash|sh|python3)\b")


def scripts(tree):
    """Scripts parse, and those a person calls can be called."""
    complaints = []
    for path in tree.paths():
        opening = SCRIPT.match(tree.text(path))
        if not opening:
            continue
        if not tree.executable(path):
            complaints.append(f"{path}:1: a script that cannot be executed; chmod +x")
        complaint = syntax_complaint(opening.group(1), tree.text(path))
        if complaint:
            complaints.append(f"{path}:1: {complaint}")
    return complaints


def syntax_complaint(interpreter, text):
    if interpreter == "python3":
        try:
            ast.parse(text)
        except SyntaxError as error:
            return f"line {error.lineno}: {error.msg}"
        return None
    if not shutil.which(interpreter):
        return None
    done = subprocess.run([interpreter, "-n"], input=text.encode(), capture_output=True)
    if done.returncode == 0:
        return None
    return done.stderr.decode("utf-8", "replace").strip().splitlines()[0]


MAX_KIB = 2048


def sizes(tree):
    """Clones stay quick: no file of more than two MiB."""
    return [f"{path}:1: {tree.size(path) // 1024} KiB, at most {MAX_KIB}; ship a generator instead"
            for path in tree.paths() if tree.size(path) > MAX_KIB * 1024]


def packages(tree):
    """The running list is part of the testing list, and both are sorted out: no name twice."""
    complaints, lists = [], {}
    for kind in ("run", "test"):
        path = f"tools/packages/{kind}.txt"
        lines = [line.split("#")[0].strip() for line in tree.text(path).splitlines()]
        lists[kind] = [line for line in lines if line]
        if len(set(lists[kind])) != len(lists[kind]):
            complaints.append(f"{path}:1: a package stands twice")
    for name in set(lists["run"]) - set(lists["test"]):
        complaints.append(f"tools/packages/test.txt:1: {name} of run.txt is missing")
    return complaints
