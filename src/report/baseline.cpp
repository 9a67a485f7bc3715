#include "railyard/report/baseline.hpp"

#include "json_value.hpp"
#include "result_json.hpp"

namespace railyard::report {

std::string baseline_json(const Baseline& baseline) {
  JsonWriter json;
  json.open('{');
  json.member("description", baseline.description);
  json.member("reason", baseline.reason);
  json.member("scenario", baseline.scenario);
  json.key("set");
  json.open('{', true);
  for (const auto& [pointer, value] : baseline.set) json.member(pointer, value);
  json.close('}');
  json.key("tolerances");
  json.open('{', true);
  for (const auto& [metric, share] : baseline.tolerances.relative) json.member(metric, share);
  json.close('}');
  json.member("seed", baseline.result.seed);
  json.member("digest", baseline.result.digest);
  json.member("baseline", baseline.result.baseline);
  json.key("policies");
  json.open('{');
  for (const metrics::PolicyResult& policy : baseline.result.policies) {
    json.key(policy.name);
    json.open('{');
    add_metrics(json, policy);
    json.close('}');
  }
  json.close('}');
  json.close('}');
  return json.finish();
}

Baseline parse_baseline(const std::string& text, const std::string& name) {
  const Json json = parse_json(text, name);
  const Value root(json, name, "");
  Baseline out;
  out.description = root.at("description").text();
  out.reason = root.at("reason").text();
  out.scenario = root.at("scenario").text();
  root.at("set").each([&out](const std::string& pointer, const Value& value) {
    out.set.emplace_back(pointer, value.text());
  });
  root.at("tolerances").each([&out](const std::string& metric, const Value& value) {
    if (metric != "*" && !metrics::find_metric(metric)) value.fail("no such metric");
    const double share = value.number().value_or(-1);
    if (!(share >= 0)) value.fail("a tolerance is a share from 0");
    out.tolerances.relative[metric] = share;
  });
  out.result.seed = root.at("seed").integer<std::uint64_t>().value_or(0);
  out.result.digest = root.at("digest").text();
  out.result.baseline = root.at("baseline").text();
  root.at("policies").each([&out](const std::string& policy, const Value& value) {
    out.result.policies.emplace_back().name = policy;
    read_metrics(value.at("metrics"), out.result.policies.back());
  });
  return out;
}

Baseline read_baseline(const std::filesystem::path& path) {
  return parse_baseline(read_text(path), path.string());
}

}  // namespace railyard::report
