#include "railyard/report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "json_value.hpp"

namespace railyard::report {

namespace {

/// Keys that results of earlier versions lack.
void read_explained(const Value& value, metrics::JobResult& job) {
  job.iteration_s_alone = value.at("iteration_s_alone").number();
  job.iteration_s_reference = value.at("iteration_s_reference").number();
  job.attribution = read_attribution(value.at("attribution"));
  job.contended_with = value.at("contended_with").texts();
  value.at("runs").each([&job](const std::string&, const Value& run) {
    job.runs.push_back({run.at("from_s").number().value_or(0),
                        run.at("until_s").number().value_or(0), run.at("hosts").text()});
  });
}

/// Keys that only some jobs have.
void read_rare(const Value& value, metrics::JobResult& job) {
  if (value.has("attribution_contention") && job.attribution) {
    read_contention(value.at("attribution_contention"), *job.attribution);
  }
  if (value.has("preemptions")) {
    job.preemptions = value.at("preemptions").integer<std::uint32_t>().value_or(0);
    job.failures = value.at("failures").integer<std::uint32_t>().value_or(0);
    job.kept_s = value.at("kept_s").number();
  }
  if (value.has("cost")) job.cost = value.at("cost").number();
  if (!value.has("held_back")) return;
  value.at("held_back").each([&job](const std::string&, const Value& held) {
    job.held_back.push_back({held.at("from_s").number().value_or(0),
                             held.at("until_s").number().value_or(0), held.at("why").text()});
  });
}

metrics::CostResult read_cost(const Value& value) {
  const auto number = [&value](const char* key) { return value.at(key).number().value_or(0); };
  return {.currency = value.at("currency").text(),
          .busy_gpu_h = number("busy_gpu_h"),
          .waiting_gpu_h = number("waiting_gpu_h"),
          .reserved_gpu_h = number("reserved_gpu_h"),
          .idle_gpu_h = number("idle_gpu_h"),
          .network_per_gpu_h = number("network_per_gpu_h"),
          .energy_kwh = number("energy_kwh"),
          .gpus = number("gpus"),
          .network = number("network"),
          .energy = number("energy"),
          .switch_ports = number("switch_ports")};
}

metrics::SchedulingResult read_scheduling(const Value& value) {
  return {.scheduler = value.at("scheduler").text(),
          .placement = value.at("placement").text(),
          .queue = value.at("queue").text(),
          .reservation = value.at("reservation").text(),
          .predictor = value.at("predictor").text(),
          .interval_s = value.at("interval_s").number().value_or(0),
          .decision_latency_s = value.at("decision_latency_s").number().value_or(0)};
}

metrics::ClusterResult read_cluster(const Value& value) {
  metrics::ClusterResult cluster;
  cluster.gpus_per_host = value.at("gpus_per_host").integer<std::uint32_t>().value_or(0);
  value.at("leaves").each([&cluster](const std::string&, const Value& leaf) {
    cluster.leaves.push_back(
        {leaf.at("name").text(), leaf.at("minipod").text(), leaf.at("hosts").text()});
  });
  cluster.background = value.at("background").text();
  // Results of earlier builds do not have them.
  if (value.has("gpus")) cluster.gpus = value.at("gpus").integer<std::uint64_t>().value_or(0);
  if (value.has("occupied_gpus"))
    cluster.occupied_gpus = value.at("occupied_gpus").integer<std::uint64_t>().value_or(0);
  return cluster;
}

metrics::JobResult read_job(const Value& value) {
  metrics::JobResult job;
  job.name = value.at("name").text();
  job.gpus = value.at("gpus").integer<std::uint32_t>().value_or(0);
  job.status = value.at("status").text();
  job.submit_s = value.at("submit_s").number();
  job.start_s = value.at("start_s").number();
  job.finish_s = value.at("finish_s").number();
  job.iteration_s = value.at("iteration_s").number();
  job.iteration_s_min = value.at("iteration_s_min").number();
  job.iteration_s_max = value.at("iteration_s_max").number();
  job.slowdown = value.at("slowdown").number();
  job.spread_dp_max = value.at("spread_dp_max").integer<std::uint32_t>();
  job.spread_pp_max = value.at("spread_pp_max").integer<std::uint32_t>();
  job.minipods = value.at("minipods").integer<std::uint32_t>();
  job.leaves = value.at("leaves").integer<std::uint32_t>();
  if (value.has("shared_share")) {
    job.shared_share = value.at("shared_share").number();
    job.contention_share = value.at("contention_share").number();
  }
  if (value.has("runs")) read_explained(value, job);
  read_rare(value, job);
  return job;
}

metrics::LinkResult read_link(const Value& value) {
  metrics::LinkResult link;
  link.name = value.at("name").text();
  link.tier = value.at("tier").text();
  link.bytes = value.at("bytes").number().value_or(0);
  link.utilization = value.at("utilization").number().value_or(0);
  link.busy_share = value.at("busy_share").number().value_or(0);
  link.binding_share = value.at("binding_share").number().value_or(0);
  return link;
}

metrics::CurvePoint read_point(const Value& value) {
  return {.t_s = value.at("t_s").number().value_or(0),
          .allocated_share = value.at("allocated_share").number().value_or(0),
          .retained_share = value.at("retained_share").number()};
}

metrics::PolicyResult read_policy(const std::string& name, const Value& value) {
  metrics::PolicyResult policy;
  policy.name = name;
  read_metrics(value.at("metrics"), policy);
  value.at("jobs").each(
      [&](const std::string&, const Value& job) { policy.jobs.push_back(read_job(job)); });
  value.at("links").each(
      [&](const std::string&, const Value& link) { policy.links.push_back(read_link(link)); });
  if (value.has("curve")) {
    value.at("curve").each(
        [&](const std::string&, const Value& point) { policy.curve.push_back(read_point(point)); });
  }
  if (value.has("links_of")) policy.links_of = value.at("links_of").text();
  if (value.has("cost")) policy.cost = read_cost(value.at("cost"));
  if (value.has("scheduling")) policy.scheduling = read_scheduling(value.at("scheduling"));
  policy.warnings = value.at("warnings").texts();
  policy.placement = value.at("placement").text();
  return policy;
}

std::string percent_text(double before, double after) {
  if (before == 0.0) return fmt::format("{:+}", after);
  const double percent = (after / before - 1) * 100;
  return fmt::format("{:+.{}f} %", percent, std::abs(percent) < 0.01 ? 6 : 2);
}

}  // namespace

metrics::RunResult parse_result(const std::string& text, const std::string& name) {
  const Json json = parse_json(text, name);
  const Value root(json, name, "");
  metrics::RunResult result;
  result.version = root.at("railyard").text();
  result.scenario = root.at("scenario").text();
  result.seed = root.at("seed").integer<std::uint64_t>().value_or(0);
  result.digest = root.at("digest").text();
  result.baseline = root.at("baseline").text();
  if (root.has("cluster")) result.cluster = read_cluster(root.at("cluster"));
  root.at("policies").each([&](const std::string& policy, const Value& value) {
    result.policies.push_back(read_policy(policy, value));
  });
  const auto is_baseline = [&](const auto& policy) { return policy.name == result.baseline; };
  if (std::none_of(result.policies.begin(), result.policies.end(), is_baseline)) {
    root.at("baseline").fail(fmt::format("no policy is named \"{}\"", result.baseline));
  }
  result.notes = root.at("notes").texts();
  result.description = root.at("description").text();
  return result;
}

metrics::RunResult read_result(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = is_folder ? path / "result.json" : path;
  return parse_result(read_text(file), file.string());
}

double Tolerances::of(std::string_view metric) const {
  for (const std::string_view key : {metric, std::string_view("*")}) {
    if (const auto found = relative.find(key); found != relative.end()) return found->second;
  }
  return 0;
}

std::string Difference::change() const {
  if (metric.empty() || !before || !after)
    return before || (metric.empty() && !after) ? "vanished" : "appeared";
  return percent_text(*before, *after);
}

std::vector<Difference> compare(const metrics::RunResult& before, const metrics::RunResult& after,
                                const Tolerances& tolerances) {
  std::vector<Difference> out;
  const auto find = [](const metrics::RunResult& result, const std::string& name) {
    const auto at = std::find_if(result.policies.begin(), result.policies.end(),
                                 [&name](const auto& policy) { return policy.name == name; });
    return at == result.policies.end() ? nullptr : &*at;
  };
  const auto moved = [&](std::string_view metric, std::optional<double> a,
                         std::optional<double> b) {
    if (a.has_value() != b.has_value()) return true;
    if (!a || *a == *b) return false;
    return !(std::abs(*a - *b) <= tolerances.of(metric) * std::abs(*a));
  };
  for (const metrics::PolicyResult& old : before.policies) {
    const metrics::PolicyResult* now = find(after, old.name);
    if (now == nullptr) {
      out.push_back({old.name, "", std::nullopt, std::nullopt});
      continue;
    }
    for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
      const auto metric = static_cast<metrics::Metric>(i);
      const std::string key(metrics::metric_catalog()[i].key);
      const auto a = old.metrics.get(metric);
      const auto b = now->metrics.get(metric);
      if (moved(key, a, b)) out.push_back({old.name, key, a, b});
    }
    for (const auto& part : metrics::attribution_parts()) {
      const auto seconds = [&part](const metrics::PolicyResult& policy) -> std::optional<double> {
        if (!policy.attribution) return std::nullopt;
        return in_seconds((*policy.attribution).*part.member);
      };
      const std::string key = fmt::format("attribution_{}_s", part.key);
      if (moved(key, seconds(old), seconds(*now)))
        out.push_back({old.name, key, seconds(old), seconds(*now)});
    }
  }
  for (const metrics::PolicyResult& policy : after.policies) {
    if (find(before, policy.name) == nullptr) out.push_back({policy.name, "", std::nullopt, 1.0});
  }
  return out;
}

}  // namespace railyard::report
