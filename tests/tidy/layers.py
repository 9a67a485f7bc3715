"""What a module may depend on (docs/architecture.md, sections 2 and 3)."""

import re

from tree import MODULES, includes_of

MAY_USE = {
    "core": "",
    "config": "core",
    "topology": "core config",
    "network": "core config topology",
    "collective": "core config",
    "workload": "core config collective",
    "training": "core config topology network collective workload",
    "scheduler": "core config topology",
    "cluster": "core config topology network collective workload training scheduler",
    "metrics": "core",  # and the observers below
    "report": "core metrics",
    "scenario": "core config topology network collective workload training scheduler cluster "
                "metrics",
    "sweep": "core config scenario metrics",
    "study": "core config topology network collective workload training scenario metrics sweep",
    "bridge": " ".join(module for module in MODULES if module != "cli"),
    "cli": " ".join(MODULES),
}
# What publishers hand to metrics: their observer interfaces, and the plain values those carry.
OBSERVERS = {"network/observer.hpp", "training/observer.hpp", "cluster/observer.hpp",
             "training/attribution.hpp"}

# (pattern of the header, modules, only in .cpp files, what to do instead)
THIRD_PARTY = [
    (r"nlohmann/", "config report bridge", True, "read through config::Node, write through report"),
    (r"boost/program_options", "cli", True, "options are parsed in cli and handed down as values"),
    (r"yaml-cpp/", "topology", False, "YAML is read in topology"),
    (r"pugixml", "topology collective report", False,
     "XML is read in topology and collective, and written in report"),
    (r"boost/dll", "bridge", True, "plug-in libraries are loaded in bridge"),
    (r"boost/", "topology scheduler", True, "arbitrary graphs live in topology; ask it for routes"),
    (r"Eigen/", " ".join(MODULES), True, "keep matrices behind the .cpp file"),
    (r"protozero/", "workload", True, "protobuf traces are read and written in workload"),
    (r"sqlite3\.h", "sweep", True, "results are stored by sweep"),
    (r"(coin/|Cbc|Osi|Coin)", "scheduler", True, "the solver stands behind scheduler's interface"),
    (r"xgboost/", "scheduler", True, "predictors stand behind scheduler's interface"),
    (r"fmt/", " ".join(MODULES), False, ""),
]
# Outside these, a system header of C or C++ has no slash and no further rule here.
SYSTEM = re.compile(r"^(?:[a-z_0-9]+|(?:sys|bits)/\w+\.h|\w+\.h)$")
# The solver's pure part: spans in, span out (architecture.md, rule 2).
PURE = re.compile(r"^(src|include/railyard)/network/(\w*max_min\w*|\w*solver\w*)\.[ch]pp$")
PURE_MAY_USE = {"core/check.hpp", "core/ids.hpp"}


def module_of(path):
    """The module a source file belongs to, or None outside src and include."""
    match = re.match(r"(?:src|include/railyard)/(\w+)/", path)
    return match.group(1) if match else None


def target_of(header):
    """(module, path below the module's folder, public) of a header of our own, or None."""
    match = re.match(r"(railyard/)?(\w+)/(.+)", header)
    if match and match.group(2) in MODULES:
        return match.group(2), match.group(3), bool(match.group(1))
    return None


def layer_complaint(module, path, header):
    target = target_of(header)
    if not target:
        return None
    other, file, public = target
    if other == module:
        return None
    if module == "metrics" and f"{other}/{file}" in OBSERVERS and public:
        return None
    if other not in MAY_USE.get(module, "").split():
        allowed = MAY_USE.get(module) or "nothing"
        return f"{module} may not use {other} (it may use: {allowed}); see docs/architecture.md"
    if not public:
        return f"{header} is private to {other}; use or add a header in include/railyard/{other}"
    return None


def layers(tree):
    complaints = []
    for path in tree.paths(".hpp", ".cpp", under=("src", "include")):
        module = module_of(path)
        if module is None:
            continue
        if module not in MAY_USE:
            complaints.append(f"{path}:1: {module} is no module of docs/architecture.md")
            continue
        for line, header in includes_of(tree.text(path)):
            complaint = layer_complaint(module, path, header)
            if complaint:
                complaints.append(f"{path}:{line}: {complaint}")
            target = target_of(header)
            if PURE.match(path) and target and target[0] != "network" \
                    and f"{target[0]}/{target[1]}" not in PURE_MAY_USE:
                complaints.append(f"{path}:{line}: the solver is pure; it may not see {header}")
    return complaints + linked_layers(tree)


def linked_layers(tree):
    """The same table for the libraries a module's CMakeLists.txt names."""
    complaints = []
    for path in tree.paths("CMakeLists.txt", under=("src",)):
        module = path.split("/")[1]
        if module == "metrics":  # its observers are interfaces of modules above core
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for other in re.findall(r"railyard::(\w+)", line.split("#")[0]):
                allowed = MAY_USE.get(module, "").split() + [module]
                if other in MODULES and other not in allowed:
                    complaints.append(f"{path}:{number}: {module} may not link {other}")
    return complaints


def third_party(tree):
    complaints = []
    for path in tree.paths(".hpp", ".cpp", under=("src", "include")):
        module = module_of(path)
        for line, header in includes_of(tree.text(path)):
            if target_of(header):
                continue
            complaint = placement_complaint(module, path, header)
            if complaint:
                complaints.append(f"{path}:{line}: {complaint}")
    return complaints


def placement_complaint(module, path, header):
    if header.startswith("doctest/"):
        return "doctest belongs to tests"
    for pattern, modules, only_cpp, instead in THIRD_PARTY:
        if not re.match(pattern, header):
            continue
        if module not in modules.split():
            return f"{header} may stand only in {modules}: {instead}"
        if only_cpp and path.startswith("include/"):
            return f"no public header includes {header}: {instead}"
        everywhere_in = "topology" if pattern == "boost/" else "config report bridge cli sweep"
        if only_cpp and path.endswith(".hpp") and module not in everywhere_in.split():
            return f"{header} may stand only in .cpp files: {instead}"
        return None
    if not SYSTEM.match(header) and not header.endswith(".hpp"):
        return f"{header} is of no library this project knows; see tests/tidy/layers.py"
    return None
