"""The files a check looks at, and the shape of C++ text with comments and literals taken out."""

import os
import re
import subprocess

MODULES = ("core config topology network collective workload training scheduler cluster metrics "
           "report scenario sweep study bridge cli").split()


def select(paths, suffixes, under):
    return [path for path in paths
            if (not suffixes or path.endswith(suffixes))
            and (not under or path.split("/")[0] in under)]


class Tree:
    """The files of a checkout that Git knows or would add, or of an unpacked archive."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self._texts = {}
        self._paths = self._list()

    def _list(self):
        listing = run_git(self.root, "ls-files", "-co", "--exclude-standard", "-z")
        if listing is not None:
            names = {name for name in listing.split("\0") if name}
            return sorted(name for name in names
                          if os.path.isfile(os.path.join(self.root, name)))
        found = []
        for folder, subfolders, names in os.walk(self.root):
            subfolders[:] = [name for name in subfolders if name not in (".git", "build", "out")]
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return sorted(found)

    def paths(self, *suffixes, under=()):
        """Relative paths with one of the suffixes, below one of the folders; () takes all."""
        return select(self._paths, suffixes, under)

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def executable(self, path):
        return os.access(os.path.join(self.root, path), os.X_OK)

    def size(self, path):
        return os.path.getsize(os.path.join(self.root, path))

    def text(self, path):
        """The text of a file, empty for what is no text."""
        if path not in self._texts:
            with open(os.path.join(self.root, path), "rb") as file:
                raw = file.read()
            try:
                self._texts[path] = raw.decode("utf-8")
            except UnicodeDecodeError:
                self._texts[path] = ""
        return self._texts[path]

    def commits(self):
        """(hash, whole message) of every commit, newest first, or None outside a checkout."""
        log = run_git(self.root, "log", "--format=%h%x00%B%x01")
        if log is None:
            return None
        entries = [entry.strip("\n").split("\0", 1) for entry in log.split("\x01") if entry.strip()]
        return [(name, message) for name, message in entries]


def run_git(root, *arguments):
    """What Git prints, or None where the folder is not the top of a checkout or Git is missing."""
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.decode("utf-8", "replace")


class Memory:
    """A tree held in memory, for the self-test."""

    def __init__(self, files, commits=None, plain=()):
        self.root = "/nowhere/railyard"
        self._files = files
        self._commits = commits
        self._plain = plain

    def paths(self, *suffixes, under=()):
        return select(sorted(self._files), suffixes, under)

    def exists(self, path):
        folder = path.rstrip("/") + "/"
        return path in self._files or any(name.startswith(folder) for name in self._files)

    def executable(self, path):
        return path not in self._plain

    def size(self, path):
        return len(self._files[path].encode())

    def text(self, path):
        return self._files[path]

    def commits(self):
        return self._commits


_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b\d(?:['.]?\w)*)
      | (?P<character>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL)


def code_of(text):
    """C++ text without comments and with empty literals, every line where it was."""

    def blank(match):
        lines = "\n" * match.group().count("\n")
        if match.group("number"):
            return match.group()
        if match.group("comment"):
            return " " + lines
        return ("''" if match.group("character") else '""') + lines

    # An include names its header in quotes; keep it.
    kept = re.sub(r'(?m)^(\s*#\s*include\s*)"([^"\n]*)"', r"\1<\2>", text)
    return _TOKEN.sub(blank, kept)


def includes_of(text):
    """(line number, header) of each include."""
    return [(number, match.group(1))
            for number, line in enumerate(code_of(text).splitlines(), 1)
            if (match := re.match(r"\s*#\s*include\s*<([^>]+)>", line))]


class Scope:
    """One pair of braces: its kind, the text before it, its first and last line."""

    def __init__(self, kind, head, first, parent):
        self.kind = kind
        self.head = head
        self.first = first
        self.last = first
        self.parent = parent


_CONTROL = re.compile(r"^(if|for|while|switch|do|else|try|catch|return|case|default)\b")
_TYPE = re.compile(r"^(?:typedef\s+)?(?:class|struct|union|enum)\b")
_TEMPLATE = re.compile(r"^template\s*<")


def without_template(head):
    """The declaration behind its template<…> lists and attributes."""
    while True:
        head = re.sub(r"^\s*(\[\[.*?\]\]\s*|(public|private|protected)\s*:\s*)+", "", head).strip()
        if not _TEMPLATE.match(head):
            return head
        depth = 0
        for index, letter in enumerate(head):
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if letter == ">" and depth == 0:
                head = head[index + 1:]
                break
        else:
            return head


def kind_of(head, parent):
    """What a brace opens, told from the text between the last ; { or } and it."""
    if parent and parent.kind in ("function", "block"):
        return "block"
    head = without_template(head)
    if re.match(r"^(inline\s+)?namespace\b", head) or re.match(r'^extern\s*""\s*$', head):
        return "namespace"
    if _TYPE.match(head) and not re.search(r"\)\s*(const|noexcept|override|final|\s)*$", head):
        return "type"
    if head.endswith("=") or _CONTROL.match(head) or ")" not in head:
        return "other"
    return "function"


def scan(text):
    """The scopes of C++ text, and the statements (line, text, scope) that end in a semicolon."""
    lines = code_of(text).split("\n")
    continued = False
    for index, line in enumerate(lines):  # preprocessor lines hold no scopes
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        if directive:
            lines[index] = ""
    scopes, statements, open_scopes = [], [], []
    head, first = "", 1
    for number, line in enumerate(lines, 1):
        for letter in line:
            parent = open_scopes[-1] if open_scopes else None
            if letter == "{":
                kind = kind_of(head.strip(), parent)
                if kind == "function" and head.lstrip().startswith(","):
                    head = scopes[-1].head  # an initialiser list goes on
                scope = Scope(kind, head.strip(), number, parent)
                scopes.append(scope)
                open_scopes.append(scope)
                # A brace initialiser belongs to the statement around it.
                scope.outer = (head, first)
                head = ""
            elif letter == "}":
                if open_scopes:
                    scope = open_scopes.pop()
                    scope.last = number
                    head, first = ("", number)
                    if scope.kind == "other":
                        head, first = scope.outer[0] + "{}", scope.outer[1]
            elif letter == ";":
                if head.strip():
                    statements.append((first, head.strip(), parent))
                head = ""
            else:
                if not head.strip() and not letter.isspace():
                    head, first = "", number
                head += letter
        head += " " if head else ""
    return scopes, statements
