#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "railyard/core/check.hpp"
#include "railyard/report/compare.hpp"
#include "railyard/report/report.hpp"
#include "result_json.hpp"

namespace railyard::report {

void JsonWriter::line_break() {
  if (row_depth_ > 0) {
    if (!first_) out_ += ' ';
    return;
  }
  out_ += '\n';
  out_.append(2 * depth_, ' ');
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!first_) out_ += ',';
  line_break();
  first_ = false;
}

void JsonWriter::open(char bracket, bool row) {
  before_value();
  out_ += bracket;
  ++depth_;
  if (row && row_depth_ == 0) row_depth_ = depth_;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  const bool empty = first_;
  const bool in_row = row_depth_ > 0;
  if (row_depth_ == depth_) row_depth_ = 0;
  --depth_;
  if (!empty && !in_row) {
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }
  out_ += bracket;
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  before_value();
  out_ += nlohmann::json(name).dump();
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before_value();
  // Names come from users' files: what is not UTF-8 is replaced, not refused.
  out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void JsonWriter::value(double number) {
  RAILYARD_CHECK(std::isfinite(number), "a result holds {}, which JSON cannot say", number);
  before_value();
  out_ += fmt::format("{}", number);
}

void JsonWriter::value(std::uint64_t number) {
  before_value();
  out_ += fmt::format("{}", number);
}

void JsonWriter::null() {
  before_value();
  out_ += "null";
}

void JsonWriter::value(const std::vector<std::string>& texts) {
  open('[');
  for (const std::string& text : texts) value(text);
  close(']');
}

void JsonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
}

std::string JsonWriter::finish() {
  RAILYARD_CHECK(depth_ == 0, "{} brackets are still open", depth_);
  return out_ + '\n';
}

void open_result(JsonWriter& json, const metrics::RunResult& result) {
  json.open('{');
  json.member("railyard", result.version);
  json.member("scenario", result.scenario);
  json.member("seed", result.seed);
  json.member("digest", result.digest);
}

namespace {

void add_parts(JsonWriter& json, const char* key,
               const std::optional<metrics::Attribution>& attribution,
               std::span<const metrics::AttributionPart> parts) {
  json.key(key);
  if (!attribution) {
    json.null();
    return;
  }
  json.open('{', true);
  for (const auto& part : parts) json.member(part.key, in_seconds((*attribution).*part.member));
  json.close('}');
}

}  // namespace

void add_findings(JsonWriter& json, const std::vector<metrics::Finding>& findings) {
  json.objects("symptoms", findings, [&](const metrics::Finding& one) {
    json.member("symptom", one.symptom->key);
    json.member("job", one.job);
    json.member("jobs", one.jobs);
    json.member("measure", one.cause->measure);
    json.member("value", one.value);
    json.member("bound", one.symptom->bound);
    json.member("cause", one.cause->key);
    json.member("part", one.part);
    json.member("remedy", one.cause->remedy);
  });
}

void add_metrics(JsonWriter& json, const metrics::PolicyResult& policy) {
  json.key("metrics");
  json.open('{');
  for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
    const auto metric = static_cast<metrics::Metric>(i);
    json.member(metrics::metric_catalog()[i].key, policy.metrics.get(metric));
    if (metric != metrics::Metric::diffusion_simplified) continue;
    // Their place in the contract.
    add_parts(json, "attribution", policy.attribution, metrics::attribution_parts());
    add_parts(json, "attribution_contention", policy.attribution, metrics::contention_parts());
  }
  json.close('}');
}

namespace {

void add_runs(JsonWriter& json, const std::vector<metrics::JobRun>& runs) {
  json.objects("runs", runs, [&](const metrics::JobRun& run) {
    json.member("from_s", run.from_s);
    json.member("until_s", run.until_s);
    json.member("hosts", run.hosts);
  });
}

/// What only some jobs have: those given in iterations, those that lost their GPUs, those that a
/// rule of the cluster kept waiting, and all where there are prices.
void add_rare(JsonWriter& json, const metrics::JobResult& job) {
  if (job.attribution) {
    add_parts(json, "attribution_contention", job.attribution, metrics::contention_parts());
  }
  if (job.preemptions + job.failures > 0) {
    json.member("preemptions", job.preemptions);
    json.member("failures", job.failures);
    json.member("kept_s", job.kept_s);
  }
  if (job.cost) json.member("cost", *job.cost);
  if (job.held_back.empty()) return;
  json.objects("held_back", job.held_back, [&](const metrics::HeldBack& held) {
    json.member("from_s", held.from_s);
    json.member("until_s", held.until_s);
    json.member("why", held.why);
  });
}

/// Only where there are prices or powers.
void add_cost(JsonWriter& json, const std::optional<metrics::CostResult>& cost) {
  if (!cost) return;
  json.key("cost");
  json.open('{', true);
  json.member("currency", cost->currency);
  json.member("busy_gpu_h", cost->busy_gpu_h);
  json.member("waiting_gpu_h", cost->waiting_gpu_h);
  json.member("reserved_gpu_h", cost->reserved_gpu_h);
  json.member("idle_gpu_h", cost->idle_gpu_h);
  json.member("network_per_gpu_h", cost->network_per_gpu_h);
  json.member("energy_kwh", cost->energy_kwh);
  json.member("gpus", cost->gpus);
  json.member("network", cost->network);
  json.member("energy", cost->energy);
  json.member("switch_ports", cost->switch_ports);
  json.close('}');
}

/// Only where jobs show some.
void add_symptoms(JsonWriter& json, const metrics::PolicyResult& policy) {
  const auto found = metrics::findings_of(policy);
  if (!found.empty()) add_findings(json, found);
}

void add_scheduling(JsonWriter& json, const metrics::SchedulingResult& scheduling) {
  json.key("scheduling");
  json.open('{', true);
  json.member("scheduler", scheduling.scheduler);
  json.member("placement", scheduling.placement);
  json.member("queue", scheduling.queue);
  json.member("reservation", scheduling.reservation);
  json.member("predictor", scheduling.predictor);
  json.member("interval_s", scheduling.interval_s);
  json.member("decision_latency_s", scheduling.decision_latency_s);
  json.close('}');
}

void add_cluster(JsonWriter& json, const metrics::ClusterResult& cluster) {
  json.key("cluster");
  json.open('{');
  json.member("gpus_per_host", cluster.gpus_per_host);
  json.rows("leaves", cluster.leaves, [&](const metrics::LeafResult& leaf) {
    json.member("name", leaf.name);
    json.member("minipod", leaf.minipod);
    json.member("hosts", leaf.hosts);
  });
  json.member("background", cluster.background);
  json.member("gpus", cluster.gpus);
  json.member("occupied_gpus", cluster.occupied_gpus);
  json.close('}');
}

void add_jobs(JsonWriter& json, const std::vector<metrics::JobResult>& jobs) {
  json.rows("jobs", jobs, [&](const metrics::JobResult& job) {
    json.member("name", job.name);
    json.member("gpus", job.gpus);
    json.member("status", job.status);
    json.member("submit_s", job.submit_s);
    json.member("start_s", job.start_s);
    json.member("finish_s", job.finish_s);
    json.member("iteration_s", job.iteration_s);
    json.member("iteration_s_min", job.iteration_s_min);
    json.member("iteration_s_max", job.iteration_s_max);
    json.member("slowdown", job.slowdown);
    json.member("spread_dp_max", job.spread_dp_max);
    json.member("spread_pp_max", job.spread_pp_max);
    json.member("minipods", job.minipods);
    json.member("leaves", job.leaves);
    json.member("shared_share", job.shared_share);
    json.member("contention_share", job.contention_share);
    json.member("iteration_s_alone", job.iteration_s_alone);
    json.member("iteration_s_reference", job.iteration_s_reference);
    add_parts(json, "attribution", job.attribution, metrics::attribution_parts());
    json.member("contended_with", job.contended_with);
    add_runs(json, job.runs);
    add_rare(json, job);
  });
}

void add_links(JsonWriter& json, const std::vector<metrics::LinkResult>& links) {
  json.rows("links", links, [&](const metrics::LinkResult& link) {
    json.member("name", link.name);
    json.member("tier", link.tier);
    json.member("bytes", link.bytes);
    json.member("utilization", link.utilization);
    json.member("busy_share", link.busy_share);
    json.member("binding_share", link.binding_share);
  });
}

/// Only where there is one: results without a reservation have no such key.
void add_curve(JsonWriter& json, const std::vector<metrics::CurvePoint>& curve) {
  if (curve.empty()) return;
  json.rows("curve", curve, [&](const metrics::CurvePoint& point) {
    json.member("t_s", point.t_s);
    json.member("allocated_share", point.allocated_share);
    json.member("retained_share", point.retained_share);
  });
}

void add_comparison(JsonWriter& json, const metrics::RunResult& result) {
  json.key("comparison");
  json.open('{');
  const metrics::PolicyResult* base = nullptr;
  if (!result.policies.empty()) base = &result.policies[policy_index(result, result.baseline)];
  for (const metrics::PolicyResult& policy : result.policies) {
    if (&policy == base) continue;
    json.key(policy.name);
    json.open('{');
    for (std::size_t i = 0; i < metrics::kMetrics; ++i) {
      const auto ours = policy.metrics.get(static_cast<metrics::Metric>(i));
      const auto theirs = base->metrics.get(static_cast<metrics::Metric>(i));
      if (!ours || !theirs) continue;
      json.key(metrics::metric_catalog()[i].key);
      json.open('{', true);
      json.member("ratio", *theirs == 0.0 ? std::nullopt : std::optional(*ours / *theirs));
      json.close('}');
    }
    json.close('}');
  }
  json.close('}');
}

}  // namespace

std::string result_json(const metrics::RunResult& result) {
  JsonWriter json;
  open_result(json, result);
  json.member("baseline", result.baseline);
  json.key("policies");
  json.open('{');
  for (const metrics::PolicyResult& policy : result.policies) {
    json.key(policy.name);
    json.open('{');
    add_metrics(json, policy);
    add_jobs(json, policy.jobs);
    add_links(json, policy.links);
    add_curve(json, policy.curve);
    json.member("warnings", policy.warnings);
    json.member("placement", policy.placement);
    json.member("links_of", policy.links_of);
    add_scheduling(json, policy.scheduling);
    add_cost(json, policy.cost);
    add_symptoms(json, policy);
    json.close('}');
  }
  json.close('}');
  add_comparison(json, result);
  json.member("notes", result.notes);
  json.member("description", result.description);
  add_cluster(json, result.cluster);
  json.close('}');
  return json.finish();
}

std::string meta_json(const Meta& meta) {
  JsonWriter json;
  const auto add_facts = [&json](const metrics::RunFacts& facts) {
    json.member("wall_s", facts.wall_s);
    json.member("events", facts.events);
    json.member("flows", facts.flows);
    json.member("solves", facts.solves);
    json.member("flows_touched", facts.flows_touched);
    json.member("iterations_simulated", facts.iterations_simulated);
    json.member("memo_hits", facts.memo_hits);
    json.member("memo_misses", facts.memo_misses);
    json.member("contended_epochs", facts.contended_epochs);
    json.member("peak_rss_bytes", facts.peak_rss_bytes);
  };
  metrics::RunFacts total;
  for (const auto& [name, facts] : meta.runs) total += facts;
  json.open('{');
  json.member("railyard", meta.version);
  json.member("command", meta.command);
  json.member("threads", std::uint64_t{meta.threads});
  json.member("wall_s", meta.wall_s);
  json.key("total");
  json.open('{');
  add_facts(total);
  json.close('}');
  json.key("runs");
  json.open('{');
  for (const auto& [name, facts] : meta.runs) {
    json.key(name);
    json.open('{', true);
    add_facts(facts);
    json.close('}');
  }
  json.close('}');
  json.close('}');
  return json.finish();
}

std::string differences_json(const std::vector<Difference>& differences) {
  JsonWriter json;
  json.open('[');
  for (const Difference& one : differences) {
    json.open('{', true);
    json.member("policy", one.policy);
    json.key("metric");
    if (one.metric.empty()) {
      json.null();
    } else {
      json.value(one.metric);
    }
    json.member("before", one.metric.empty() ? std::nullopt : one.before);
    json.member("after", one.metric.empty() ? std::nullopt : one.after);
    json.member("change", one.change());
    json.close('}');
  }
  json.close(']');
  return json.finish();
}

}  // namespace railyard::report
