#!/usr/bin/env python3
"""Holds the checks to their word: each is fed what it must refuse, and what it must let pass."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import bans  # noqa: E402
import layers  # noqa: E402
import prose  # noqa: E402
import shape  # noqa: E402
from tree import Memory, code_of, scan  # noqa: E402

SOLVER = "src/network/max_min.cpp"


def include(header):
    return f'#include "{header}"\n'


class CheckTest(unittest.TestCase):
    def refuses(self, check, path, text, words, **others):
        """The check complains about this file, once, in these words, and about no other."""
        complaints = check(Memory({path: text, **others}))
        self.assertEqual(len(complaints), 1, complaints or f"{text!r} was let pass")
        self.assertIn(words, complaints[0])
        self.assertTrue(complaints[0].startswith(path + ":"), complaints[0])

    def passes(self, check, path, text, **others):
        self.assertEqual(check(Memory({path: text, **others})), [])


class Layers(CheckTest):
    def test_a_lower_module_includes_no_higher_one(self):
        self.refuses(layers.layers, "src/core/a.cpp", include("railyard/config/document.hpp"),
                     "core may not use config")
        self.refuses(layers.layers, "include/railyard/collective/a.hpp",
                     "#include <railyard/topology/graph.hpp>\n", "collective may not use topology")
        self.refuses(layers.layers, "src/scheduler/a.cpp", include("railyard/network/max_min.hpp"),
                     "scheduler may not use network")
        self.refuses(layers.layers, "src/cluster/a.cpp", include("railyard/metrics/run_result.hpp"),
                     "cluster may not use metrics")
        self.refuses(layers.layers, "src/scenario/a.cpp", include("railyard/report/table.hpp"),
                     "scenario may not use report")

    def test_the_line_of_the_include_is_named(self):
        text = "// one\n// two\n" + include("railyard/cli/verb.hpp")
        self.refuses(layers.layers, "src/sweep/a.cpp", text, "a.cpp:3:")

    def test_allowed_includes_pass(self):
        self.passes(layers.layers, "src/training/a.cpp", include("railyard/network/max_min.hpp"))
        self.passes(layers.layers, "src/cli/a.cpp", include("railyard/report/table.hpp"))
        self.passes(layers.layers, "src/topology/a.cpp", include("topology/detail.hpp"))
        self.passes(layers.layers, "src/core/a.cpp", "// #include <railyard/cli/verb.hpp>\n")

    def test_private_headers_stay_private(self):
        self.refuses(layers.layers, "src/training/a.cpp", include("network/heap.hpp"), "private")

    def test_metrics_sees_observers_only(self):
        self.passes(layers.layers, "src/metrics/a.cpp", include("railyard/network/observer.hpp"))
        self.refuses(layers.layers, "src/metrics/a.cpp", include("railyard/network/max_min.hpp"),
                     "metrics may not use network")

    def test_the_solver_is_pure(self):
        self.refuses(layers.layers, SOLVER, include("railyard/config/reader.hpp"), "is pure")
        self.refuses(layers.layers, SOLVER, include("railyard/core/rng.hpp"), "solver is pure")
        self.passes(layers.layers, SOLVER, include("railyard/network/max_min.hpp"))

    def test_unknown_modules_are_named(self):
        self.refuses(layers.layers, "src/utils/a.cpp", "", "no module")

    def test_linked_libraries_follow_the_same_table(self):
        self.refuses(layers.layers, "src/collective/CMakeLists.txt",
                     "railyard_module(collective PUBLIC railyard::core railyard::network)\n",
                     "collective may not link network")
        self.passes(layers.layers, "src/collective/CMakeLists.txt",
                    "railyard_module(collective PUBLIC railyard::core) # railyard::network\n")


class ThirdParty(CheckTest):
    def test_libraries_stand_in_their_modules(self):
        for path, header in (("src/workload/a.cpp", "nlohmann/json.hpp"),
                             ("src/network/a.cpp", "boost/graph/adjacency_list.hpp"),
                             ("src/scenario/a.cpp", "boost/program_options.hpp"),
                             ("src/network/a.cpp", "doctest/doctest.h"),
                             ("src/topology/a.cpp", "boost/dll/import.hpp")):
            self.refuses(layers.third_party, path, f"#include <{header}>\n", header.split("/")[0])

    def test_sqlite_stands_in_sweep(self):
        self.refuses(layers.third_party, "src/cli/a.cpp", "#include <sqlite3.h>\n", "only in sweep")
        self.passes(layers.third_party, "src/sweep/a.cpp", "#include <sqlite3.h>\n")

    def test_public_headers_name_none_of_them(self):
        self.refuses(layers.third_party, "include/railyard/config/a.hpp",
                     "#include <nlohmann/json.hpp>\n", "no public header")
        self.refuses(layers.third_party, "include/railyard/topology/a.hpp",
                     "#include <boost/graph/graph_traits.hpp>\n", "no public header")
        self.refuses(layers.third_party, "src/network/a.hpp", "#include <Eigen/Dense>\n", ".cpp")

    def test_placed_libraries_pass(self):
        self.passes(layers.third_party, "src/config/a.cpp", "#include <nlohmann/json.hpp>\n")
        self.passes(layers.third_party, "src/topology/a.hpp", "#include <boost/graph/a.hpp>\n")
        self.passes(layers.third_party, "src/scheduler/a.cpp", "#include <Eigen/Dense>\n")
        self.passes(layers.third_party, "include/railyard/core/a.hpp", "#include <fmt/format.h>\n")
        self.passes(layers.third_party, "src/cli/a.cpp", "#include <vector>\n#include <unistd.h>\n")


class Bans(CheckTest):
    def test_each_banned_word_is_refused_with_its_replacement(self):
        for path, text, words in (
                ("src/core/a.cpp", "int x = std::rand();", "core/rng.hpp"),
                ("src/core/a.cpp", "int x = rand ();", "core/rng.hpp"),
                ("tests/unit/core/a.cpp", "#include <random>", "core/rng.hpp"),
                ("src/cli/run.cpp", "std::exit(1);", "only main"),
                ("include/railyard/core/a.hpp", "using namespace std;", "header"),
                ("src/scenario/a.cpp", 'std::getenv("HOME");', "option from cli"),
                ("src/network/a.cpp", "std::chrono::steady_clock::now();", "TimePoint"),
                ("src/cluster/a.cpp", "#include <thread>", "in sweep"),
                ("src/core/a.cpp", "std::hash<int> h;", "digest.hpp"),
                ("src/core/a.cpp", "std::ranges::nth_element(v, m);", "total order"),
                ("src/core/a.cpp", "for (auto x : v | std::views::filter(f)) {}", "plain loops"),
                ("src/core/a.cpp", "#include <format>", "fmt"),
                ("src/training/a.hpp", "#include <fstream>", "no stream"),
                ("CMakeLists.txt", "add_compile_options(-ffast-math)", "floating-point"),
                ("tests/unit/core/a.cpp", "TEST_CASE(x) { CHECK(true); }", "cannot fail")):
            with self.subTest(text=text):
                self.refuses(bans.bans, path, text + "\n", words)

    def test_where_it_is_allowed_it_passes(self):
        for path, text in (("src/cli/main.cpp", "std::exit(1);"),
                           ("src/cli/a.cpp", 'std::getenv("NO_COLOR");'),
                           ("src/sweep/a.cpp", "#include <thread>"),
                           ("src/cli/a.cpp", "std::chrono::steady_clock::now();"),
                           ("src/core/a.cpp", "using namespace std::chrono_literals;"),
                           ("src/core/a.hpp", "inline auto f() {\n  using namespace std;\n}"),
                           ("src/core/a.cpp", '// std::rand() is banned\nauto s = "rand()";'),
                           ("src/core/a.cpp", "operand(1); stream.rand_bits();"),
                           ("src/config/a.cpp", "#include <fstream>"),
                           ("tests/unit/core/a.cpp", "CHECK(true == x);")):
            with self.subTest(text=text):
                self.passes(bans.bans, path, text + "\n")


class Shape(CheckTest):
    def test_headers_open_with_a_comment_and_a_guard(self):
        self.refuses(shape.headers, "include/railyard/core/a.hpp", "// A clock.\nint x;\n", "once")
        self.refuses(shape.headers, "include/railyard/core/a.hpp", "#pragma once\nint x;\n",
                     "comment")
        self.passes(shape.headers, "include/railyard/core/a.hpp", "// A clock.\n#pragma once\n")
        self.passes(shape.headers, "include/railyard/core/a.hpp", "#pragma once\n\n// A clock.\n")

    def test_lines_have_a_hundred_columns(self):
        self.passes(shape.columns, "src/core/a.cpp", "/" * 100 + "\n")
        self.refuses(shape.columns, "src/core/a.cpp", "/" * 101 + "\n", "101 columns")
        self.passes(shape.columns, "src/core/a.cpp", "// " + "§" * 97 + "\n")
        self.passes(shape.columns, "src/core/a.cpp", 'auto s = R"(\n' + "x" * 200 + '\n)";\n')

    def test_functions_have_seventy_lines(self):
        def function(lines):
            body = "  if (a) { f(); }\n" * (lines - 2)
            return "Foo::Foo(int a) : a_{a}, b_(a) {\n" + body + "}\n"

        self.passes(shape.functions, "src/core/a.cpp", function(70))
        self.refuses(shape.functions, "src/core/a.cpp", function(71), "Foo::Foo has 71 lines")
        wrapped = "namespace a {\nclass B : public C {\n" + function(71) + "};\n}\n"
        self.refuses(shape.functions, "src/core/a.cpp", wrapped, "71 lines")

    def test_long_classes_and_tables_are_no_functions(self):
        self.passes(shape.functions, "src/core/a.cpp",
                    "struct A : B<decltype(f())> {\n" + "  int x = f();\n" * 90 + "};\n")
        self.passes(shape.functions, "src/core/a.cpp",
                    "constexpr std::array<Row, 90> kRows = {{\n" + "  {f(1), 2},\n" * 90 + "}};\n")

    def test_braces_in_literals_do_not_count(self):
        text = ("auto f(char c) {\n"
                "  return c == '{' || c == '\\'' ? \"}{\" : R\"x({{)x\"; // {\n}\n"
                "int million = 1'000'000;\nvoid g() {\n" + "  h();\n" * 66 + "}\n")
        self.passes(shape.functions, "src/core/a.cpp", text)
        kinds = [(scope.kind, scope.first, scope.last) for scope in scan(text)[0]]
        self.assertEqual(kinds, [("function", 1, 3), ("function", 5, 72)])

    def test_mutable_objects_are_refused(self):
        for text, name in (("int counter = 0;", "counter"),
                           ("namespace {\nstd::vector<int> cache;\n}", "cache"),
                           ("static std::map<int, int> table{{1, 2}};", "table"),
                           ("void f() {\n  static int calls = 0;\n}", "calls"),
                           ("thread_local Scratch scratch;", "scratch"),
                           ("struct A {\n  inline static int shared = 0;\n};", "shared"),
                           ("Foo* current = nullptr;", "current")):
            with self.subTest(text=text):
                self.refuses(shape.mutable_objects, "src/core/a.cpp", text + "\n",
                             name + " can change")

    def test_constants_and_members_are_no_mutable_objects(self):
        for text in ("constexpr int kLimit = 20;", "const std::string kName{};",
                     "static constexpr std::array<int, 2> kTable = {1, 2};", "using A = B<int>;",
                     "int f(int a);", "struct A {\n  int x = 0;\n  static A make();\n};",
                     "void f() {\n  int x = 0;\n  static const auto table = make();\n}",
                     "enum class E { a, b };", "extern template class A<int>;", "class A;",
                     "inline constexpr auto kF = [](int x) { return x; };",
                     "template <class T>\nconcept C = requires(T t) { t.x(); };"):
            with self.subTest(text=text):
                self.passes(shape.mutable_objects, "src/core/a.cpp", text + "\n")

    def test_code_keeps_its_lines(self):
        text = "a /* b\nc */ d // e\n\"f\\\"g\" 'h' 1'000 R\"(i\nj)\" k"
        self.assertEqual(code_of(text).count("\n"), text.count("\n"))
        self.assertEqual(code_of(text).split(), ["a", "d", '""', "''", "1'000", '""', "k"])


class Prose(CheckTest):
    def test_open_ends_need_an_issue(self):
        word = "TO" + "DO"
        self.refuses(prose.open_ends, "src/core/a.cpp", f"// {word}: later\n", "issue number")
        self.passes(prose.open_ends, "src/core/a.cpp", f"// {word} #12: later\n")

    def test_links_lead_somewhere(self):
        page = "# Model\n\n## Time & ticks\n"
        others = {"docs/model.md": page}
        self.passes(prose.links, "docs/a.md",
                    "[m](model.md) [t](model.md#time--ticks) [u](../docs)\n"
                    "[w](https://example.org) `[x](no.md)`\n```\n[x](no.md)\n```\n", **others)
        self.refuses(prose.links, "docs/a.md", "[m](modell.md)\n", "leads nowhere", **others)
        self.refuses(prose.links, "docs/a.md", "[m](model.md#space)\n", "no such heading", **others)
        self.refuses(prose.links, "docs/a.md", "![p](../../p.png)\n", "out of the repository")
        self.refuses(prose.links, "README.md", "[a]: docs/none.md\n", "leads nowhere", **others)

    def test_inputs_are_used_by_tests(self):
        scenario = {"topologies/clos.json": "{}"}
        path, text = "scenarios/quickstart.json", '{"topology": "../topologies/clos.json"}'
        self.passes(prose.inputs, path, text, **scenario,
                    **{"tests/golden/list.txt": "quickstart.json 9f\n"})
        complaints = prose.inputs(Memory({path: text, **scenario}))
        self.assertEqual(len(complaints), 2, complaints)
        self.passes(prose.inputs, path, "{}", **{
            "tests/golden/a.cpp": 'for (auto& f : directory_iterator(source_dir() / "scenarios"))'})
        self.refuses(prose.inputs, path, "{}", "no test",
                     **{"tests/golden/list.txt": "not_quickstart.json\n"})

    def test_commits_say_what_they_did_to_the_digest(self):
        good = [("a1", "core: x\n\nwhy\n\nNo behaviour change\n"),
                ("b2", "core: y\n\nDigest: 9f00aa12 (was 1f00aa12)\n")]
        self.assertEqual(prose.commits(Memory({}, good)), [])
        for message in ("core: x\n", "core: x\n\nNo behaviour change\nSigned-off\n",
                        "core: x\n\nDigest: unknown\n"):
            self.assertEqual(len(prose.commits(Memory({}, good + [("c3", message)]))), 1, message)
        self.assertEqual(prose.commits(Memory({}, None)), [])

    def test_addresses_of_machines_and_registries_are_refused(self):
        self.refuses(prose.addresses, "docs/a.md", "see /" + "home/me/railyard\n", "one machine")
        self.refuses(prose.addresses, "docs/a.md", "/nowhere/" + "shared/data\n", "this checkout")
        self.refuses(prose.addresses, "cmake/a.cmake", "set(U https" + "://example.org)\n", "Debian")
        self.refuses(prose.addresses, "CMakeLists.txt", "include(Fetch" + "Content)\n", "Debian")
        self.passes(prose.addresses, "docs/a.md", "https" + "://example.org/home/me ../shared/a\n")

    def test_the_running_packages_are_part_of_the_testing_ones(self):
        path = "tools/packages/test.txt"
        self.passes(prose.packages, path, "cmake\nclang\n", **{"tools/packages/run.txt": "cmake\n"})
        self.refuses(prose.packages, path, "clang\n", "cmake of run.txt",
                     **{"tools/packages/run.txt": "cmake # 3.25\n"})
        self.refuses(prose.packages, path, "clang\nclang\n", "twice",
                     **{"tools/packages/run.txt": ""})

    def test_scripts_parse_and_can_be_called(self):
        self.passes(prose.scripts, "tools/a", "#!/usr/bin/env bash\nif true; then :; fi\n")
        self.refuses(prose.scripts, "tools/a", "#!/usr/bin/env bash\nif true; then :\n", "syntax")
        self.refuses(prose.scripts, "tools/a.py", "#!/usr/bin/env python3\nif True\n", "line 2")
        plain = Memory({"tools/a": "#!/bin/sh\n"}, plain=("tools/a",))
        self.assertIn("cannot be executed", prose.scripts(plain)[0])

    def test_large_files_are_refused(self):
        self.passes(prose.sizes, "workloads/a.csv", "x" * 2048 * 1024)
        self.refuses(prose.sizes, "workloads/a.csv", "x" * 2048 * 1024 + "y" * 1024, "2049 KiB")


if __name__ == "__main__":
    unittest.main()
