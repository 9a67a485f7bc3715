#include <doctest/doctest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "railyard/config/csv.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/rng.hpp"

namespace {

using railyard::Rng;
using railyard::RngStreams;
using railyard::config::ConfigError;
using railyard::config::Csv;
using railyard::config::CsvColumn;
using railyard::config::Document;
using railyard::config::Errors;
using railyard::config::Node;
using railyard::config::Reader;

constexpr std::uint64_t kSeed = 7;
constexpr std::uint64_t kMutations = 2'000;

constexpr std::string_view kJson = R"({
  // a scenario in small
  "topology": { "hosts": 256, "bandwidth": "400Gbps", "latency": "500ns", "tiers": [1.0, 0.25, -2e3] },
  "jobs": [ { "name": "gpt3-175b", "size": "1.5GiB", "é\u00e9": null, "on": true }, {} ], /* end */
  "seed": 9223372036854775807
})";

constexpr std::string_view kCsv =
    "job_id,submit_time_s,num_gpus,kind\r\n0,0,64,Pretrain\r\n1,313.5,8,\"a, "
    "\"\"b\"\"\"\r\n2,1e4,16,\"two\nlines\"\r\n";

/// Pieces that parsers trip over.
constexpr std::string_view kPieces[] = {"\"",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "//",
                                        "/*",
                                        "*/",
                                        "\\",
                                        "\\u",
                                        "\n",
                                        "\r",
                                        "\t",
                                        "1e999",
                                        "-",
                                        "0",
                                        ".",
                                        "nan",
                                        "null",
                                        "\xff",
                                        "\xc3",
                                        "\xef\xbb\xbf",
                                        "99999999999999999999",
                                        "Gbps",
                                        "~",
                                        "'"};

/// One to four random edits: a piece or byte put in, bytes taken out, doubled or flipped.
std::string mutated(std::string_view text, Rng& rng) {
  std::string out(text);
  const auto place = [&] { return static_cast<std::size_t>(rng.below(out.size() + 1)); };
  for (std::uint64_t edits = 1 + rng.below(4); edits > 0; --edits) {
    const std::size_t at = place();
    switch (rng.below(5)) {
      case 0:
        out.insert(at, kPieces[rng.below(std::size(kPieces))]);
        break;
      case 1:
        out.insert(at, 1, static_cast<char>(rng.below(256)));
        break;
      case 2:
        out.erase(at, static_cast<std::size_t>(rng.below(8)));
        break;
      case 3: {
        // In steps: the order in which arguments are evaluated is the compiler's choice.
        const std::size_t from = place();
        const std::size_t size = static_cast<std::size_t>(rng.below(16));
        out.insert(at, out.substr(from, size));
        break;
      }
      default:
        if (at < out.size())
          out[at] = static_cast<char>(out[at] ^ static_cast<char>(1U << rng.below(8)));
    }
  }
  return out;
}

/// Every value as every type, so that all decoders meet it.
void decode_all(const Node& node, Errors& errors) {
  bool boolean{};
  std::int64_t integer{};
  double real{};
  std::string text;
  railyard::Bytes bytes;
  railyard::Bandwidth bandwidth;
  railyard::Duration duration{};
  railyard::FlopRate rate;
  decode(node, errors, boolean);
  decode(node, errors, integer);
  decode(node, errors, real);
  decode(node, errors, text);
  decode(node, errors, bytes);
  decode(node, errors, bandwidth);
  decode(node, errors, duration);
  decode(node, errors, rate);
  if (node.is_object()) {
    Reader reader(node, errors);
    static_cast<void>(reader.child("hosts"));
    reader.finish();
  }
  if (!node.is_object() && !node.is_array()) return;
  for (std::size_t i = 0; i < node.size(); ++i) decode_all(node.at(i), errors);
}

/// Each line of an error begins with its place, and is one line.
void check_lines(const ConfigError& error, std::string_view place) {
  REQUIRE_FALSE(error.lines().empty());
  REQUIRE(error.lines().size() <= Errors::kLimit + 1);
  for (const std::string& line : error.lines()) {
    REQUIRE(line.find('\n') == std::string::npos);
    REQUIRE((line.rfind(place, 0) == 0 || line.rfind("… and ", 0) == 0));
    REQUIRE(line.find("json.exception") == std::string::npos);
  }
}

TEST_CASE(
    "mutated JSON either parses, and then to the same dump again, or is a ConfigError with "
    "places") {
  const RngStreams streams(kSeed);
  std::uint64_t parsed = 0;
  for (std::uint64_t i = 0; i < kMutations; ++i) {
    Rng rng = streams.stream("json", i);
    const std::string text = mutated(kJson, rng);
    CAPTURE(kSeed);
    CAPTURE(i);
    CAPTURE(text);
    try {
      const Document document = Document::parse_text(text, "x.json");
      ++parsed;
      const std::string dump = document.root().dump();
      REQUIRE(Document::parse_text(dump, "y.json").root().dump() == dump);
      Errors errors;
      decode_all(document.root(), errors);
      errors.throw_if_any();
    } catch (const ConfigError& error) {
      check_lines(error, "x.json:");
    }
  }
  // Edits in comments, names and numbers keep the text valid, most others do not: neither side may
  // be empty.
  CHECK(parsed > kMutations / 20);
  CHECK(parsed < kMutations - kMutations / 20);
}

TEST_CASE("mutated --set options either apply or are a ConfigError that names the option") {
  const Document document = Document::parse_text(kJson, "x.json");
  const RngStreams streams(kSeed);
  std::uint64_t applied = 0;
  for (std::uint64_t i = 0; i < kMutations; ++i) {
    Rng rng = streams.stream("set", i);
    const bool spoil_pointer = rng.below(2) == 0;
    const std::string pointer = spoil_pointer ? mutated("/jobs/0/name", rng) : "/jobs/0/name";
    const std::string value = mutated(R"({"a": [1, "x"], "b": 2})", rng);
    CAPTURE(kSeed);
    CAPTURE(i);
    try {
      const Document changed = document.set(pointer, value);
      ++applied;
      REQUIRE(changed.root().size() >= document.root().size());
      Errors errors;
      decode_all(changed.root(), errors);
    } catch (const ConfigError& error) {
      REQUIRE(std::string(error.what()).rfind("--set ", 0) == 0);
    }
  }
  CHECK(applied > kMutations / 4);
}

TEST_CASE("mutated CSV either parses or is a ConfigError with a line") {
  const RngStreams streams(kSeed);
  std::uint64_t parsed = 0;
  for (std::uint64_t i = 0; i < kMutations; ++i) {
    Rng rng = streams.stream("csv", i);
    const std::string text = mutated(kCsv, rng);
    CAPTURE(kSeed);
    CAPTURE(i);
    CAPTURE(text);
    try {
      Csv csv = Csv::parse_text(text, "x.csv");
      ++parsed;
      Errors errors;
      const CsvColumn submit = csv.required("submit_time_s", errors);
      const CsvColumn gpus = csv.required("num_gpus", errors);
      csv.finish({"job_id", "kind"}, errors);
      for (std::size_t row = 0; row < csv.rows(); ++row) {
        REQUIRE(csv.real(row, submit, errors, {.min = 0}) >= 0);
        REQUIRE(csv.integer(row, gpus, errors, {.min = 1}) >= 1);
      }
      errors.throw_if_any();
    } catch (const ConfigError& error) {
      check_lines(error, "x.csv:");
    }
  }
  CHECK(parsed > kMutations / 20);
}

}  // namespace
