#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "support/shared_data.hpp"
#include "unit/config/messages.hpp"

namespace {

using railyard::config::Document;
using railyard::config::Errors;
using railyard::config::Kind;
using railyard::config::nearest;
using railyard::config::Node;
using railyard::test::complaint;
using railyard::test::document;

std::string parse_complaint(std::string_view text) {
  return complaint([&] { static_cast<void>(Document::parse_text(text, "x.json")); });
}

// Columns counted by hand in the text below, from 1.
TEST_CASE("every value knows its line, column and pointer") {
  const Document parsed = document(
      "{\n"
      "  \"a\": [1, -2.5e3, \"x\"],\n"
      "  \"b\": { \"c\": true,\n"
      "\t\"d\": null }\n"
      "}\n");
  const Node root = parsed.root();
  CHECK(root.place() == "scenarios/x.json:1:1");
  CHECK(root.pointer().empty());
  const Node a = *root.find("a");
  CHECK(a.place() == "scenarios/x.json:2:8");
  CHECK(a.at(1).place() == "scenarios/x.json:2:12");
  CHECK(a.at(1).real() == -2500.0);
  CHECK(a.at(2).place() == "scenarios/x.json:2:20");
  CHECK(a.at(2).pointer() == "/a/2");
  const Node b = *root.find("b");
  CHECK(b.find("c")->place() == "scenarios/x.json:3:15");
  CHECK(b.find("d")->place() == "scenarios/x.json:4:7");
  CHECK(b.find("d")->pointer() == "/b/d");
  CHECK_FALSE(b.find("e").has_value());
}

TEST_CASE("columns count letters, not bytes") {
  // é and ☃ are one letter each, of two and three bytes.
  CHECK(document("[\"é☃\", 1]").root().at(1).place() == "scenarios/x.json:1:8");
}

TEST_CASE("values keep their kind, their text and the order of the file") {
  const Node root =
      document(R"({"z": 1, "a": 2.5, "m": "t\u00e9\n", "t": true, "n": null, "l": [], "o": {}})")
          .root();
  const std::vector<Kind> kinds{Kind::integer, Kind::real,  Kind::string, Kind::boolean,
                                Kind::null,    Kind::array, Kind::object};
  REQUIRE(root.size() == kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) CHECK(root.at(i).kind() == kinds[i]);
  CHECK(root.key_at(0) == "z");
  CHECK(root.key_at(1) == "a");
  CHECK(root.at(0).real() == 1.0);
  CHECK(root.at(2).string() == "té\n");
  CHECK(root.dump() == R"({"z":1,"a":2.5,"m":"té\n","t":true,"n":null,"l":[],"o":{}})");
}

TEST_CASE("a dump parses to the same dump") {
  const std::string text =
      R"({"a":[1,-2,0.1,1e+300,5e-324],"b\"\\/":{"":"\u0001\t"},"c":9223372036854775807})";
  const std::string once = document(text).root().dump();
  CHECK(document(once).root().dump() == once);
  CHECK(once == text);
}

TEST_CASE("asking a value for another kind is an internal error") {
  const Node root = document(R"({"a": "text"})").root();
  CHECK_THROWS_AS(static_cast<void>(root.find("a")->integer()), railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(root.string()), railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(root.at(1)), railyard::InternalError);
  CHECK_THROWS_AS(static_cast<void>(Node().kind()), railyard::InternalError);
}

TEST_CASE("comments and a byte order mark are no values, and do not shift places") {
  const Node root =
      document("\xef\xbb\xbf// \"a\": 1, {\n/* [\n */ {\"b\" /*:*/ : // ,\n 2}").root();
  CHECK(root.place() == "scenarios/x.json:3:5");
  CHECK(root.find("b")->place() == "scenarios/x.json:4:2");
  CHECK(root.dump() == R"({"b":2})");
}

TEST_CASE("slashes and tildes in keys are escaped in pointers") {
  CHECK(document(R"({"a/b~c": 1})").root().at(0).pointer() == "/a~1b~0c");
}

TEST_CASE("a duplicate key is an error at the second one, wherever it stands") {
  CHECK(parse_complaint("{\"a\": {\"c\": 1,\n \"c\": 2},\n \"b\": 3, \"a\": 4, \"b\": 5}") ==
        "x.json:2:2 /a/c: duplicate key; it was given first at 1:8\n"
        "x.json:3:10 /a: duplicate key; it was given first at 1:2\n"
        "x.json:3:18 /b: duplicate key; it was given first at 3:2");
  CHECK(parse_complaint(R"([{"a": 1}, {"a": 1}])").empty());
  CHECK(parse_complaint(R"({"a": 1, "\u0061": 1})") ==
        "x.json:1:10 /a: duplicate key; it was given first at 1:2");
}

TEST_CASE("numbers that do not fit are refused at both ends, and the last that fit are not") {
  CHECK(document("[9223372036854775807]").root().at(0).integer() == INT64_MAX);
  CHECK(document("[-9223372036854775808]").root().at(0).integer() == INT64_MIN);
  CHECK(parse_complaint("[9223372036854775808]") ==
        "x.json:1:2 /0: the integer 9223372036854775808 does not fit 64 bits");
  CHECK(parse_complaint("[-9223372036854775809]") ==
        "x.json:1:2 /0: the integer -9223372036854775809 does not fit 64 bits");
  CHECK(document("[1.7e308]").root().at(0).real() == 1.7e308);
  CHECK(parse_complaint("[1.8e308]") == "x.json:1:2: the number 1.8e308 is too large");
  CHECK(parse_complaint("[NaN]") ==
        "x.json:1:2: NaN is not a JSON value; strings need double quotes, and numbers are finite");
}

TEST_CASE("a syntax error says where it is and what to do") {
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"", "1:1: the text is empty; expected a JSON value"},
      {"// only a comment\n", "2:1: the text is empty; expected a JSON value"},
      {"{\"a\": 1,\n}", "2:1: a comma before '}' must be followed by a key; remove the comma"},
      {"[1, ]", "1:5: a comma before ']' must be followed by a value; remove the comma"},
      {"[1,,2]", "1:4: expected a value, found ,"},
      {"{\"a\" 1}", "1:6: expected ':' between a key and its value, found 1"},
      {"{\"a\": 1\n \"b\": 2}", "2:2: expected ',' or '}' before \"b\"; is a comma missing?"},
      {"[1 2]", "1:4: expected ',' or ']' before 2; is a comma missing?"},
      {"{a: 1}", "1:2: expected a key in double quotes, found a"},
      {"{'a': 1}", "1:2: strings are written in double quotes, not in single ones"},
      {"[yes]", "1:2: yes is not a JSON value; strings need double quotes, and numbers are finite"},
      {"[\"abc\n\"]", "1:2: this string has no closing quote on its line"},
      {"[\"\xff\"]", "1:2: this string holds bytes that are not UTF-8"},
      {"[\"\t\"]",
       "1:2: this string holds a control character; write it as an escape, \\n or \\u0007"},
      {"[\"\\q\"]", "1:2: invalid string: forbidden character after backslash"},
      {"{\"a\": [1}", "1:9: expected ',' or ']', found '}'"},
      {"{\n\"a\": {", "2:7: the text ends inside the object that begins at 2:6; is a '}' missing?"},
      {"[1", "1:3: the text ends inside the array that begins at 1:1; is a ']' missing?"},
      {"{} {}", "1:4: expected the end of the text after its one value, found {"},
      {"[1, /* x", "1:5: this comment has no end; expected */"},
      {"[01]", "1:2 /0: 01 is not a JSON number"},
      {"[-]", "1:2: - is not a JSON number"},
      {std::string_view("{}\0{}", 5), "1:3: the text holds a zero byte; is this a JSON file?"}};
  for (const auto& example : cases) {
    CAPTURE(example.first);
    CHECK(parse_complaint(example.first) == "x.json:" + std::string(example.second));
  }
}

// 128 levels are allowed, 129 are not; a hundred thousand must not crash either.
TEST_CASE("nesting is bounded") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(parse_complaint(nested(128)).empty());
  CHECK(parse_complaint(nested(129)) == "x.json:1:129: values are nested more than 128 deep");
  CHECK(parse_complaint(nested(100'000)) == "x.json:1:129: values are nested more than 128 deep");
}

// 25 duplicates: 20 lines and one that counts the other five.
TEST_CASE("all errors come at once, up to twenty") {
  const auto repeated = [](int keys) {
    std::string text = "{\"k\": 0";
    for (int i = 0; i < keys; ++i) text += ",\n\"k\": 0";
    return text + "}";
  };
  const auto lines = [&](int keys) {
    try {
      static_cast<void>(document(repeated(keys)));
    } catch (const railyard::config::ConfigError& error) {
      return error.lines();
    }
    return std::vector<std::string>{};
  };
  CHECK(lines(20).size() == Errors::kLimit);
  CHECK(lines(20).back() == "scenarios/x.json:21:1 /k: duplicate key; it was given first at 1:2");
  CHECK(lines(25).size() == Errors::kLimit + 1);
  CHECK(lines(25).back() == "… and 5 more errors");
}

TEST_CASE("a missing file is the user's fault, an unreadable one is not") {
  CHECK(complaint([] { static_cast<void>(Document::parse_file("no/such.json")); }) ==
        "no/such.json: no such file");
  CHECK_THROWS_AS(static_cast<void>(Document::parse_file(railyard::test::source_dir())),
                  railyard::IoError);
}

/// A folder for one test, removed at its end.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name) << text;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_ = std::filesystem::current_path() / "test_config_documents";
};

TEST_CASE("an object may stand in a file of its own, relative to the file that names it") {
  const Folder folder;
  folder.write("a.json",
               "{\"topology\": \"b.json\", \"gone\": \"c.json\",\n \"bad\": \"bad.json\", "
               "\"inline\": {\"n\": 1}, \"no\": 5}");
  folder.write("b.json", "{\"n\": 2}");
  folder.write("bad.json", "{\"n\": }");
  const std::string at = folder.path().string() + "/";
  Errors errors;
  const Node root = Document::parse_file(folder.path() / "a.json").root();
  CHECK(resolve(*root.find("inline"), errors).dump() == "{\"n\":1}");
  const Node other = resolve(*root.find("topology"), errors);
  CHECK(other.find("n")->place() == at + "b.json:1:7");
  CHECK(other.directory() == folder.path());
  CHECK(errors.empty());
  CHECK_FALSE(resolve(*root.find("gone"), errors));
  CHECK_FALSE(resolve(*root.find("bad"), errors));
  CHECK_FALSE(resolve(*root.find("no"), errors));
  CHECK(complaint(errors) ==
        at + "a.json:1:32 /gone: " + at + "c.json: no such file\n" + at +
            "bad.json:1:7: expected a value, found }\n" + at +
            "a.json:2:47 /no: expected an object or the path of a file, found the number 5");
}

// Distances by hand: bandwith→bandwidth 1 (a letter), latecny→latency 1 (a swap), ECMP→ecmp 0
// (capitals), abcdef→uvwxyz 6.
TEST_CASE("the nearest name is found by edit distance, and none when all are far") {
  CHECK(nearest("link_bandwith", {"link_latency", "link_bandwidth"}) == "link_bandwidth");
  CHECK(nearest("latecny", {"latent", "latency"}) == "latency");
  CHECK(nearest("ECMP", {"spray", "ecmp"}) == "ecmp");
  CHECK(nearest("abcdef", {"uvwxyz"}).empty());
  CHECK(nearest("abc", {}).empty());
  CHECK(nearest("aa", {"ab", "ac"}) == "ab");
  CHECK(nearest("x", {"y"}).empty());
}

// The limit is max(2, size/3): two of six letters may be wrong, three may not; of nine letters
// three may, four may not.
TEST_CASE("how far a name may be depends on its length") {
  CHECK(nearest("abcdef", {"abcdxx"}) == "abcdxx");
  CHECK(nearest("abcdef", {"abcxxx"}).empty());
  CHECK(nearest("abcdefghi", {"abcdefxxx"}) == "abcdefxxx");
  CHECK(nearest("abcdefghi", {"abcdexxxx"}).empty());
}

}  // namespace
