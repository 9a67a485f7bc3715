#include "json_value.hpp"

#include <fstream>
#include <iterator>

#include "railyard/core/check.hpp"

namespace railyard::report {

void read_metrics(const Value& metrics, metrics::PolicyResult& policy) {
  for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
    const std::string key(metrics::metric_catalog()[i].key);
    policy.metrics.set(static_cast<metrics::Metric>(i), metrics.at(key).number());
  }
  const Value attribution = metrics.at("attribution");
  if (!attribution.is_null()) {
    metrics::Attribution parts;
    for (const auto& part : metrics::attribution_parts()) {
      const double seconds = attribution.at(std::string(part.key)).number().value_or(0);
      if (!(seconds >= 0)) attribution.fail("a part of an iteration cannot be negative");
      parts.*part.member = from_seconds(seconds);  // exact: it was written from ticks
    }
    policy.attribution = parts;
  }
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw ResultError(fmt::format("{}: no such file", path.string()));
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
