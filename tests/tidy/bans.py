"""What may not be written, and what to write instead (docs/architecture.md §3, rules 7 and 8)."""

import re

from tree import code_of

# (pattern in code, paths it holds for, paths it does not, what is wrong and what to use)
MODEL = r"^(src|include)/"
OUTSIDE = r"^(src|include/railyard)/(cli|sweep|bridge)/"
EVERYWHERE = r"^(src|include|tests|tools)/"
BANS = [
    (r"\bstd::rand\b|(?<![\w:.>])s?rand\s*\(", EVERYWHERE, None,
     "rand has hidden state; draw from a named stream of core/rng.hpp"),
    (r"#\s*include\s*<random>", EVERYWHERE, None,
     "<random> differs between libraries; draw from core/rng.hpp"),
    (r"(?<![\w.>])(std::)?(exit|_Exit|quick_exit|abort)\s*\(", MODEL,
     r"/main\.cpp$|/core/check\.cpp$",
     "only main ends the process; throw config::ConfigError or use RAILYARD_CHECK"),
    (r"^using\s+namespace\b", r"\.hpp$", None,  # indented, it stays within its function
     "a header leaks it into every user; name what you need"),
    (r"\b(std::|secure_)?getenv\s*\(", MODEL, r"/cli/",
     "a result is no function of the environment; pass an option from cli"),
    (r"\b(system_clock|steady_clock|high_resolution_clock)\b", MODEL, OUTSIDE,
     "simulated time is core/time.hpp's TimePoint; wall clocks belong to cli, sweep and bridge"),
    (r"#\s*include\s*<(thread|mutex|shared_mutex|future|atomic|condition_variable|semaphore|latch"
     r"|barrier|stop_token|pthread\.h)>", MODEL, OUTSIDE,
     "a run has one thread; parallelism is across runs, in sweep"),
    (r"\b(fork|vfork|execv[pe]*|popen|posix_spawnp?|std::system)\s*\(", MODEL, OUTSIDE,
     "processes are started in cli, sweep and bridge only"),
    (r"\bstd::hash\b", EVERYWHERE, None,
     "std::hash differs between libraries; use core/digest.hpp or a hash of your own"),
    (r"\bnth_element\b", EVERYWHERE, None,
     "nth_element leaves an unspecified order; sort with a total order"),
    (r"\bstd::(ranges::)?views\b|#\s*include\s*<ranges>", EVERYWHERE, None,
     "views do not compile on clang 14; use plain loops and std::ranges algorithms"),
    (r"#\s*include\s*<(format|source_location|expected|print)>", EVERYWHERE, None,
     "not in both compilers of Debian 12; use fmt and the macros of core/check.hpp"),
    (r"#\s*include\s*<regex>|\b(setlocale|std::locale)\b", MODEL, r"/cli/",
     "results know no locale; parse by hand, print with fmt"),
    (r"#\s*include\s*<(iostream|fstream|sstream|ostream|istream)>",
     r"^(src|include/railyard)/(core|network|collective|training|scheduler|cluster|metrics)/", None,
     "simulated classes hold no stream; emit events, let config read and report write"),
    (r"#\s*include\s*<bits/", EVERYWHERE, None, "name the standard header"),
    (r"-ffast-math|-march=native|-Ofast", r"CMakeLists\.txt$|\.cmake$|CMakePresets\.json$", None,
     "it changes floating-point results between machines and compilers"),
    (r"\b(REQUIRE|CHECK)(_MESSAGE)?\s*\(\s*(true|1)\s*\)|\bdoctest::skip\s*\(\s*(true\s*)?\)",
     r"^tests/.*\.[ch]pp$", None,
     "a test that cannot fail; assert something or call FAIL"),
]


def bans(tree):
    complaints = []
    for path in tree.paths(".hpp", ".cpp", ".cmake", "CMakeLists.txt", "CMakePresets.json"):
        rules = [(re.compile(pattern), message) for pattern, where, but, message in BANS
                 if re.search(where, path) and not (but and re.search(but, path))]
        text = tree.text(path)
        text = code_of(text) if path.endswith((".hpp", ".cpp")) else re.sub(r"#.*", "", text)
        for number, line in enumerate(text.splitlines(), 1):
            complaints += [f"{path}:{number}: {message}"
                           for rule, message in rules if rule.search(line)]
    return complaints
