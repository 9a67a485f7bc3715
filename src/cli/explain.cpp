// `explain`: what a result says of one job, as sentences or as JSON.
#include "railyard/study/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"
#include "railyard/report/compare.hpp"
#include "railyard/report/json_writer.hpp"
#include "railyard/report/report.hpp"
#include "railyard/report/table.hpp"
#include "railyard/scheduler/catalogs.hpp"

namespace railyard::cli {

namespace {

using report::JsonWriter;
using report::wrapped;
using study::Explanation;
using study::Waiting;

/// Names in a sentence before "and N more".
constexpr std::size_t kNamesShown = 6;
constexpr std::size_t kLinksShown = 5;
/// A link that holds up flows for longer than this share of an iteration is hot.
constexpr double kHotShare = 0.05;

std::string time(double seconds) {
  if (seconds >= 2 * 86'400) return fmt::format("{:.4g} d", seconds / 86'400);
  if (seconds >= 2 * 3600) return fmt::format("{:.4g} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.4g} min", seconds / 60);
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.4g} s", seconds);
  return fmt::format("{:.4g} ms", seconds * 1000);
}

std::string names(const std::vector<std::string>& all) {
  const std::size_t shown = std::min(all.size(), kNamesShown);
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + all[i];
  if (shown < all.size()) out += fmt::format(" and {} more", all.size() - shown);
  return out;
}

template <typename Factory>
std::string_view summary_of(const std::vector<config::CatalogEntry<Factory>>& entries,
                            const std::string& name) {
  for (const auto& entry : entries) {
    if (entry.description.name == name) return entry.description.summary;
  }
  return "a policy of your own";
}

std::string rule_of_queue(const Explanation& why, const scheduler::Catalogs& catalogs) {
  const auto& by = why.scheduling;
  if (by.queue.empty()) return fmt::format("scheduler {}", by.scheduler);
  return fmt::format("queue {}: {}", by.queue, summary_of(catalogs.queues, by.queue));
}

std::string holders_sentence(const Waiting& wait) {
  std::vector<std::string> parts;
  for (const study::Holder& holder : wait.holders) {
    parts.push_back(fmt::format("{} ({:.0f} %)", holder.job, 100 * holder.gpu_s / wait.held_gpu_s));
  }
  return fmt::format("Of the GPU time that jobs held meanwhile: {}.{}", names(parts),
                     wait.background_gpu_s > 0 ? " Hosts that are occupied for the whole run are "
                                                 "not among it."
                                               : "");
}

std::string waiting_text(const Explanation& why, const Waiting& wait,
                         const scheduler::Catalogs& catalogs) {
  const double waited = wait.until_s - wait.from_s;
  std::string out = wrapped(
      "  ",
      fmt::format("{} from {} on{}", wait.ended ? "waited" : "still waits,", time(wait.from_s),
                  waited > 0 ? fmt::format(", for {}.", time(waited)) : ": not at all."));
  if (wait.short_s > 0) {
    out += wrapped("  - ", why.hosts_wanted > 0
                               ? fmt::format("{}: it wants {} whole hosts, at most {} were free.",
                                             time(wait.short_s), why.hosts_wanted, wait.most_free)
                               : fmt::format("{}: it wants {} GPUs of one host, no host had more "
                                             "than {} free.",
                                             time(wait.short_s), why.job.gpus, wait.most_free));
  }
  if (wait.behind_s > 0) {
    out += wrapped(
        "  - ", fmt::format("{}: enough was free, and {}, submitted before it, waited "
                            "too ({}).",
                            time(wait.behind_s), names(wait.ahead), rule_of_queue(why, catalogs)));
  }
  if (wait.other_s > 0) {
    const auto& by = why.scheduling;
    const bool reserved = by.reservation != "none";
    std::string cause = fmt::format("decisions fall every {} and take effect {} later",
                                    time(by.interval_s), time(by.decision_latency_s));
    if (wait.other_s > by.interval_s + by.decision_latency_s) {
      cause = fmt::format("{}{} found no place among the hosts open to it",
                          reserved ? fmt::format("reservation {}; ", by.reservation) : "",
                          by.placement.empty() ? by.scheduler : by.placement);
    }
    out += wrapped("  - ", fmt::format("{}: enough was free and nobody was before it; {}.",
                                       time(wait.other_s), cause));
  }
  for (const study::HeldBy& held : wait.held_back) {
    out += wrapped("  - ", fmt::format("of all this {} under a rule of the cluster: {}.",
                                       time(held.held_s), held.why));
  }
  if (!wait.holders.empty() && waited > 0) out += wrapped("  ", holders_sentence(wait));
  if (!wait.overtaken_by.empty()) {
    out += wrapped("  ", fmt::format("Submitted after it and started meanwhile: {}.",
                                     names(wait.overtaken_by)));
  }
  return out;
}

std::string placed_text(const Explanation& why, const scheduler::Catalogs& catalogs) {
  if (!why.placed) return "  it never got GPUs.\n";
  const study::Placed& placed = *why.placed;
  const auto& by = why.scheduling;
  std::string out = wrapped("  ", by.placement.empty()
                                      ? fmt::format("scheduler {}: {}", by.scheduler,
                                                    summary_of(catalogs.schedulers, by.scheduler))
                                      : fmt::format("placement {}: {}", by.placement,
                                                    summary_of(catalogs.placements, by.placement)));
  out += wrapped("  hosts: ", placed.hosts);
  report::Table table{{{"minipod", "", {}, true},
                       {"whole hosts free just before", "", {}},
                       {"hosts it got", "", {}}}};
  for (const study::MinipodShare& share : placed.shares) {
    table.columns[0].cells.push_back(share.minipod);
    table.columns[1].cells.push_back(fmt::format("{}", share.free));
    table.columns[2].cells.push_back(fmt::format("{}", share.taken));
  }
  if (why.hosts_wanted > 0) {
    out += report::to_text(table);
    out += wrapped("  ", fmt::format("It touches {} minipods and {} leaves; what was free could "
                                     "have held it in {} and {}.",
                                     placed.minipods, placed.leaves, placed.minipods_least,
                                     placed.leaves_least));
  }
  if (why.job.spread_dp_max && why.job.spread_pp_max) {
    out += wrapped("  ", fmt::format("Its widest data-parallel group touches {} minipods, its "
                                     "widest pipeline {}.",
                                     *why.job.spread_dp_max, *why.job.spread_pp_max));
  }
  return out;
}

std::string links_text(const Explanation& why) {
  std::string out;
  std::size_t shown = 0;
  for (const metrics::LinkResult& link : why.links) {
    if (link.binding_share <= kHotShare || shown++ == kLinksShown) break;
    out += wrapped("  - ", fmt::format("{} ({}): {:.0f} % full, holds up flows for {:.0f} % of the "
                                       "time",
                                       link.name, link.tier, 100 * link.utilization,
                                       100 * link.binding_share));
  }
  if (!out.empty()) return "  hottest links:\n" + out;
  return why.links.empty() ? "" : "  no link binds a flow for more than 5 % of the time.\n";
}

std::string iteration_text(const Explanation& why) {
  const metrics::JobResult& job = why.job;
  if (!job.iteration_s_alone) {
    return wrapped("  ", job.runs.empty()
                             ? "it never ran."
                             : "it lies in one host and runs for its recorded duration: nothing of "
                               "the fabric touches it.");
  }
  std::string out;
  if (job.iteration_s) {
    out += wrapped("  ", fmt::format("{} on average{}.", time(*job.iteration_s),
                                     job.iteration_s_min && job.iteration_s_max
                                         ? fmt::format(" ({} to {})", time(*job.iteration_s_min),
                                                       time(*job.iteration_s_max))
                                         : ""));
  }
  out += wrapped(
      "  ", fmt::format("Alone where it is it takes {}{}.", time(*job.iteration_s_alone),
                        job.iteration_s_reference
                            ? fmt::format(", on its reference placement {} ({}×)",
                                          time(*job.iteration_s_reference),
                                          fmt::format("{:.4g}", *job.iteration_s_alone /
                                                                    *job.iteration_s_reference))
                            : ""));
  out += wrapped("  ", job.contended_with.empty()
                           ? "It shared no link that could be filled with any other job."
                           : fmt::format("It shared links that can be filled with {}.",
                                         names(job.contended_with)));
  if (job.attribution) {
    const double total = in_seconds(job.attribution->total());
    std::string parts;
    for (const auto& part : metrics::attribution_parts()) {
      const double span = in_seconds((*job.attribution).*part.member);
      if (span <= 0) continue;
      parts += fmt::format("{}{} {} ({:.1f} %)", parts.empty() ? "" : ", ", part.title, time(span),
                           100 * span / total);
    }
    out += wrapped("  ", fmt::format("On its critical path: {}.", parts));
  }
  return out + links_text(why);
}

std::string symptoms_text(const metrics::JobResult& job) {
  std::string out;
  for (const metrics::Finding& one : metrics::findings_of(job)) {
    out += wrapped("  - ",
                   fmt::format("{}: {} is {:.3g} %, {} {:g} %.", one.symptom->title,
                               one.cause->measure, 100 * one.value,
                               one.symptom->below ? "below" : "above", 100 * one.symptom->bound));
    out += wrapped("    cause: ", fmt::format("{}", one.cause->title));
    out += wrapped("    remedy: ", one.cause->remedy);
  }
  return out.empty() ? "" : "\nwhat ails it (`railyard list symptoms`)\n" + out;
}

std::string text_of(const Explanation& why, const scheduler::Catalogs& catalogs) {
  std::string out =
      fmt::format("job \"{}\" under policy set \"{}\": {} GPUs, {}\n\nwhy it waited\n",
                  why.job.name, why.policy, why.job.gpus, why.job.status);
  for (const Waiting& wait : why.waits) out += waiting_text(why, wait, catalogs);
  if (why.waits.empty()) out += "  it was rejected: the warnings of the result say why.\n";
  out += "\nwhy it is where it is\n" + placed_text(why, catalogs);
  out += "\nwhy an iteration takes that long\n" + iteration_text(why);
  return out + symptoms_text(why.job);
}

void add_wait(JsonWriter& json, const Waiting& wait) {
  json.open('{');
  json.member("from_s", wait.from_s);
  json.member("until_s", wait.until_s);
  json.member("started", std::uint64_t{wait.ended});
  json.member("too_little_free_s", wait.short_s);
  json.member("behind_others_s", wait.behind_s);
  json.member("other_s", wait.other_s);
  json.member("most_free", wait.most_free);
  json.rows("holders", wait.holders, [&](const study::Holder& holder) {
    json.member("job", holder.job);
    json.member("gpu_s", holder.gpu_s);
  });
  json.member("held_gpu_s", wait.held_gpu_s);
  json.member("background_gpu_s", wait.background_gpu_s);
  json.rows("held_back", wait.held_back, [&](const study::HeldBy& held) {
    json.member("why", held.why);
    json.member("held_s", held.held_s);
  });
  json.member("ahead", wait.ahead);
  json.member("overtaken_by", wait.overtaken_by);
  json.close('}');
}

void add_placed(JsonWriter& json, const study::Placed& placed) {
  json.open('{');
  json.member("at_s", placed.at_s);
  json.member("hosts", placed.hosts);
  json.member("minipods", placed.minipods);
  json.member("leaves", placed.leaves);
  json.member("minipods_least", placed.minipods_least);
  json.member("leaves_least", placed.leaves_least);
  json.rows("free_hosts_before", placed.shares, [&](const study::MinipodShare& share) {
    json.member("minipod", share.minipod);
    json.member("free", share.free);
    json.member("taken", share.taken);
  });
  json.close('}');
}

void add_iteration(JsonWriter& json, const Explanation& why) {
  const metrics::JobResult& job = why.job;
  json.open('{');
  json.member("iteration_s", job.iteration_s);
  json.member("iteration_s_alone", job.iteration_s_alone);
  json.member("iteration_s_reference", job.iteration_s_reference);
  json.member("contended_with", job.contended_with);
  json.key("attribution");
  if (job.attribution) {
    json.open('{', true);
    for (const auto& part : metrics::attribution_parts()) {
      json.member(part.key, in_seconds((*job.attribution).*part.member));
    }
    json.close('}');
  } else {
    json.null();
  }
  json.rows("links", why.links, [&](const metrics::LinkResult& link) {
    json.member("name", link.name);
    json.member("tier", link.tier);
    json.member("utilization", link.utilization);
    json.member("binding_share", link.binding_share);
  });
  json.close('}');
}

std::string json_of(const metrics::RunResult& result, const std::vector<Explanation>& all) {
  JsonWriter json;
  json.open('{');
  json.member("scenario", result.scenario);
  json.member("job", all.front().job.name);
  json.member("gpus", all.front().job.gpus);
  json.member("hosts_wanted", all.front().hosts_wanted);
  json.key("policies");
  json.open('{');
  for (const Explanation& why : all) {
    json.key(why.policy);
    json.open('{');
    json.member("status", why.job.status);
    json.key("waits");
    json.open('[');
    for (const Waiting& wait : why.waits) add_wait(json, wait);
    json.close(']');
    json.key("placed");
    if (why.placed) {
      add_placed(json, *why.placed);
    } else {
      json.null();
    }
    json.key("iteration");
    add_iteration(json, why);
    report::add_findings(json, metrics::findings_of(why.job));
    json.close('}');
  }
  json.close('}');
  json.close('}');
  return json.finish();
}

/// The index of a name; ConfigError with the nearest one.
template <typename Named>
std::size_t index_of(const std::vector<Named>& all, const std::string& name,
                     const std::string& what) {
  std::vector<std::string_view> known;
  for (const Named& one : all) known.push_back(one.name);
  const auto at = std::find(known.begin(), known.end(), name);
  if (at != known.end()) return static_cast<std::size_t>(at - known.begin());
  if (known.size() > kNamesShown) {
    const std::string_view near = config::nearest(name, known);
    throw config::ConfigError(
        near.empty() ? fmt::format("{}; it has {}, from \"{}\" on", what, known.size(), known[0])
                     : fmt::format("{}; did you mean \"{}\"?", what, near));
  }
  throw config::ConfigError(unknown(what, name, known));
}

}  // namespace

CommandLine explain_options() {
  CommandLine line(
      {"explain",
       "RESULT JOB",
       "Why a job waited and who held its hosts meanwhile, why it is where it is, and why its "
       "iteration takes that\nlong, under every policy set. A result is a result.json or the "
       "folder "
       "that `run --out` wrote; nothing is\nsimulated again.",
       {"railyard explain build/quickstart gpt3-175b",
        "railyard explain build/quickstart gpt3-175b --policy arnold_pp --format json"}});
  line.option("policy", "NAME", "one policy set only");
  line.option("format", "FORM", "table or json (default: table)").one_of({"table", "json"});
  line.plugin_option();
  return line;
}

int explain(const CommandLine& line) {
  line.expect_words(2, 2, "a result and the name of a job");
  const report::Format format = line.format();
  if (format != report::Format::table && format != report::Format::json) {
    throw config::ConfigError("--format: explain prints a table or json");
  }
  const metrics::RunResult result = report::read_result(line.words()[0]);
  const std::string& job = line.words()[1];
  const auto only = line.text("policy");
  std::vector<Explanation> all;
  for (std::size_t p = 0; p < result.policies.size(); ++p) {
    if (only && p != index_of(result.policies, *only,
                              fmt::format("--policy: no policy set \"{}\"", *only))) {
      continue;
    }
    const auto j = index_of(result.policies[p].jobs, job,
                            fmt::format("{} has no job \"{}\"", line.words()[0], job));
    all.push_back(study::explain(result, p, j));
  }
  if (format == report::Format::json) {
    write_stdout(json_of(result, all));
    return kGood;
  }
  std::string out;
  const auto catalogs = line.catalogs();
  for (const Explanation& why : all) out += (out.empty() ? "" : "\n") + text_of(why, *catalogs);
  write_stdout(out);
  return kGood;
}

}  // namespace railyard::cli
