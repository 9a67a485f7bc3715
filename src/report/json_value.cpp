#include "json_value.hpp"

#include <fstream>
#include <iterator>

#include "railyard/core/check.hpp"

namespace railyard::report {

namespace {

void read_parts(const Value& values, std::span<const metrics::AttributionPart> parts,
                metrics::Attribution& out) {
  for (const auto& part : parts) {
    const double seconds = values.at(std::string(part.key)).number().value_or(0);
    if (!(seconds >= 0)) values.fail("a part of an iteration cannot be negative");
    out.*part.member = from_seconds(seconds);  // exact: it was written from ticks
  }
}

}  // namespace

std::optional<metrics::Attribution> read_attribution(const Value& value) {
  if (value.is_null()) return std::nullopt;
  metrics::Attribution parts;
  read_parts(value, metrics::attribution_parts(), parts);
  return parts;
}

void read_contention(const Value& value, metrics::Attribution& out) {
  read_parts(value, metrics::contention_parts(), out);
}

void read_metrics(const Value& metrics, metrics::PolicyResult& policy) {
  for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
    const std::string key(metrics::metric_catalog()[i].key);
    // Results of earlier versions lack what came later.
    if (i >= static_cast<std::size_t>(metrics::Metric::cost_total) && !metrics.has(key)) continue;
    policy.metrics.set(static_cast<metrics::Metric>(i), metrics.at(key).number());
  }
  const Value attribution = metrics.at("attribution");
  if (attribution.is_null()) return;
  metrics::Attribution parts;
  read_parts(attribution, metrics::attribution_parts(), parts);
  read_contention(metrics.at("attribution_contention"), parts);
  policy.attribution = parts;
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw ResultError(fmt::format("{}: no such file", path.string()));
  }
  if (std::filesystem::is_directory(path, ignored)) {
    throw IoError(fmt::format("{}: is a folder, not a file", path.string()));
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) throw IoError(fmt::format("{}: cannot be read", path.string()));
  return text;
}

Json parse_json(const std::string& text, const std::string& name) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    throw ResultError(fmt::format("{}: not JSON: {}", name, error.what()));
  }
}

}  // namespace railyard::report
