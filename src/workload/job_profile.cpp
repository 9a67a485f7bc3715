#include "railyard/workload/job_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::workload {
namespace {

using config::Errors;
using config::Node;
using config::Range;
using config::Reader;
using Kind = JobProfile::Kind;

constexpr double kJobsMax = 20e6;
constexpr double kGoldenSection = 0.6180339887498949;

void read_gpus(const Node& node, Errors& errors, Kind& kind) {
  if (!node.is_object()) return errors.add(node, "expected an object of GPUs and weights");
  for (std::size_t i = 0; i < node.size(); ++i) {
    const auto gpus = config::parse_integer(node.key_at(i));
    if (!gpus || *gpus < 1 || *gpus > kTraceJobGpusMax) {
      errors.add_at_key(node.at(i), "expected a number of GPUs");
      continue;
    }
    double weight = 0;
    if (!config::decode(node.at(i), errors, weight)) continue;
    if (weight < 0) errors.add(node.at(i), "a weight is not negative");
    if (weight > 0) kind.gpus.emplace_back(static_cast<std::uint32_t>(*gpus), weight);
  }
  std::ranges::sort(kind.gpus);
  if (kind.gpus.empty()) errors.add(node, "no GPUs have a weight");
}

void read_run_time(const Node& node, Errors& errors, Kind& kind) {
  std::vector<std::vector<double>> points;
  if (!config::decode(node, errors, points)) return;
  bool good = points.size() >= 2;
  for (const auto& point : points) {
    good = good && point.size() == 2 && point[0] > 0 && point[0] <= kTraceSecondsMax;
    if (!good) break;
    const std::pair next(point[0], point[1] / 100);
    good = kind.run_time.empty() ? next.second == 0
                                 : next.first > kind.run_time.back().first &&
                                       next.second > kind.run_time.back().second;
    kind.run_time.push_back(next);
  }
  if (!good || kind.run_time.back().second != 1) {
    errors.add(node, "expected points [seconds, percent], both rising, from 0 to 100 percent");
  }
}

void read_kinds(Reader& reader, JobProfile& profile) {
  const auto list = reader.required_child("types");
  if (!list) return;
  if (!list->is_array()) return reader.fail("types", "expected an array of kinds of jobs");
  double total = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Reader one(list->at(i), reader.errors());
    Kind kind;
    kind.name = one.required<std::string>("name");
    kind.share = one.required<double>("percent", Range<double>{0.0, 100.0});
    total += kind.share;
    if (const auto gpus = one.required_child("gpus")) read_gpus(*gpus, one.errors(), kind);
    if (const auto time = one.required_child("run_time_s"))
      read_run_time(*time, one.errors(), kind);
    one.finish();
    if (kind.share > 0) profile.kinds.push_back(std::move(kind));
  }
  // Published shares are rounded.
  if (std::abs(total - 100) > 0.5)
    reader.fail("types", fmt::format("the kinds are {} percent of jobs, not 100", total));
  for (Kind& kind : profile.kinds) kind.share /= total;
}

void read_arrivals(Reader& reader, JobProfile& profile) {
  const auto node = reader.required_child("arrivals");
  if (!node) return;
  Reader arrivals(*node, reader.errors());
  profile.gap_cv = arrivals.required<double>("cv", Range<double>{1.0, 1000.0});
  profile.same_second =
      arrivals.optional<double>("same_second_percent", 0.0, Range<double>{0.0, 99.0}) / 100;
  arrivals.finish();
  const double square = (profile.gap_cv * profile.gap_cv + 1) * (1 - profile.same_second) - 1;
  if (square < 1 - 1e-12) {
    reader.fail("arrivals", "gaps that are zero already make more than this \"cv\"");
  }
}

/// Seconds from the first to the last point, on the average.
double mean_run_time(const Kind& kind) {
  double mean = 0;
  for (std::size_t i = 1; i < kind.run_time.size(); ++i) {
    const auto& [from, below] = kind.run_time[i - 1];
    const auto& [to, above] = kind.run_time[i];
    mean += (above - below) * (to - from) / std::log(to / from);
  }
  return mean;
}

double weight_of(const Kind& kind) {
  double sum = 0;
  for (const auto& [gpus, weight] : kind.gpus) sum += weight;
  return sum;
}

double mean_gpus(const Kind& kind) {
  double sum = 0;
  for (const auto& [gpus, weight] : kind.gpus) sum += gpus * weight;
  return sum / weight_of(kind);
}

double mean_gpu_time(const JobProfile& profile) {
  double sum = 0;
  for (const Kind& kind : profile.kinds) sum += kind.share * mean_gpus(kind) * mean_run_time(kind);
  return sum;
}

/// Without sizes larger than the cluster. Says what share of jobs and GPU time that is.
JobProfile fitting(JobProfile profile, std::uint32_t gpus, std::vector<std::string>& notes) {
  const double before = mean_gpu_time(profile);
  double lost = 0;
  for (Kind& kind : profile.kinds) {
    const double weight = weight_of(kind);
    std::erase_if(kind.gpus, [gpus](const auto& size) { return size.first > gpus; });
    const double cut = kind.share * (1 - weight_of(kind) / weight);
    kind.share -= cut;
    lost += cut;
  }
  if (lost <= 0) return profile;
  std::erase_if(profile.kinds, [](const Kind& kind) { return kind.gpus.empty(); });
  if (profile.kinds.empty())
    throw config::ConfigError(
        fmt::format("every job of the profile needs more than {} GPUs", gpus));
  notes.push_back(fmt::format(
      "{:.3g} % of the profile's jobs, {:.3g} % of its GPU time, need more than {} GPUs "
      "and are left out",
      100 * lost, 100 * (1 - mean_gpu_time(profile) / before), gpus));
  for (Kind& kind : profile.kinds) kind.share /= 1 - lost;
  return profile;
}

/// One number in each of `count` equal parts of (0, 1), in random order.
std::vector<double> strata(Rng& rng, std::size_t count) {
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = (static_cast<double>(i) + rng.uniform()) / static_cast<double>(count);
  rng.shuffle(std::span(out));
  return out;
}

/// How many jobs of each kind: largest remainders.
std::vector<std::size_t> counts_of(const JobProfile& profile, std::size_t jobs) {
  std::vector<std::size_t> out;
  std::vector<std::pair<double, std::size_t>> rest;
  std::size_t given = 0;
  for (const Kind& kind : profile.kinds) {
    const double exact = kind.share * static_cast<double>(jobs);
    rest.emplace_back(std::floor(exact) - exact, out.size());
    out.push_back(static_cast<std::size_t>(exact));
    given += out.back();
  }
  std::ranges::sort(rest);
  for (std::size_t i = 0; given < jobs; ++i, ++given) ++out[rest[i % rest.size()].second];
  return out;
}

/// Steps of the sizes' distribution function.
std::uint32_t gpus_at(const Kind& kind, double share) {
  double left = share * weight_of(kind);
  for (const auto& [gpus, weight] : kind.gpus) {
    left -= weight;
    if (left < 0) return gpus;
  }
  return kind.gpus.back().first;
}

double run_time_at(const Kind& kind, double share) {
  std::size_t i = 1;
  while (i + 1 < kind.run_time.size() && kind.run_time[i].second <= share) ++i;
  const auto& [from, below] = kind.run_time[i - 1];
  const auto& [to, above] = kind.run_time[i];
  return from * std::exp(std::log(to / from) * (share - below) / (above - below));
}

/// Thousandths of a second: what a file states, and what libraries agree on.
Duration rounded(double seconds) {
  return from_seconds(std::max(1.0, std::round(seconds * 1000)) / 1000);
}

/// Times of arrivals from 0 on, the last a mean gap before 1.
std::vector<double> arrivals(const JobProfile& profile, Rng& rng, std::size_t jobs) {
  const auto total = static_cast<double>(jobs - 1);
  const auto zero = static_cast<std::size_t>(std::llround(profile.same_second * total));
  const std::size_t others = jobs - 1 - zero;
  const double square = (profile.gap_cv * profile.gap_cv + 1) * (1 - profile.same_second) - 1;
  const double p = (1 + std::sqrt(std::max(0.0, (square - 1) / (square + 1)))) / 2;
  const auto often = static_cast<std::size_t>(std::llround(p * static_cast<double>(others)));
  std::vector<double> gaps(zero, 0.0);
  for (const double u : strata(rng, often)) gaps.push_back(-std::log1p(-u) / p);
  for (const double u : strata(rng, others - often)) gaps.push_back(-std::log1p(-u) / (1 - p));
  rng.shuffle(std::span(gaps));
  std::vector<double> out{0};
  for (const double gap : gaps) out.push_back(out.back() + gap);
  const double scale = out.back() > 0 ? total / static_cast<double>(jobs) / out.back() : 0;
  for (double& at : out) at *= scale;
  return out;
}

}  // namespace

JobProfile read_job_profile(const Node& node, Errors& errors) {
  Reader reader(node, errors);
  static_cast<void>(reader.required_choice("kind", {"job_profile"}));
  static_cast<void>(reader.optional<std::string>("description", ""));
  JobProfile profile;
  if (const auto base = reader.child("base")) {
    const Node other = config::resolve(*base, errors);
    if (other && other.find("base")) {
      errors.add(*base, "a profile that is a base has none itself");
    } else if (other) {
      profile = read_job_profile(other, errors);
    }
    read_arrivals(reader, profile);
  } else {
    read_arrivals(reader, profile);
    read_kinds(reader, profile);
  }
  profile.source = reader.optional<std::string>("source", profile.source);
  reader.finish();
  return profile;
}

JobTrace generate_jobs(const JobProfile& full, const GeneratedLoad& wanted) {
  RAILYARD_CHECK(wanted.load > 0 && wanted.gpus > 0 && wanted.span > Duration{},
                 "a load of {} on {} GPUs", wanted.load, wanted.gpus);
  JobTrace trace;
  trace.format = "profile";
  const JobProfile profile = fitting(full, wanted.gpus, trace.notes);
  const double offered = wanted.load * wanted.gpus * in_seconds(wanted.span);
  const double count = std::round(offered / mean_gpu_time(profile));
  if (count < 1 || count > kJobsMax) {
    throw config::ConfigError(fmt::format(
        "a load of {} on {} GPUs for {:.6g} s is {:.4g} jobs of {:.4g} GPU-seconds on the average; "
        "expected from 1 to {:.0f} jobs",
        wanted.load, wanted.gpus, in_seconds(wanted.span), count, mean_gpu_time(profile),
        kJobsMax));
  }
  const auto jobs = static_cast<std::size_t>(count);
  const RngStreams streams(wanted.seed);
  const std::vector<std::size_t> counts = counts_of(profile, jobs);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const Kind& kind = profile.kinds[k];
    Rng rng = streams.stream("kind", k);
    const double start = rng.uniform();
    for (std::size_t i = 0; i < counts[k]; ++i) {
      const double time = (static_cast<double>(i) + rng.uniform()) / static_cast<double>(counts[k]);
      const double size = start + static_cast<double>(i) * kGoldenSection;
      TraceJob job;
      job.gpus = gpus_at(kind, size - std::floor(size));
      job.duration = rounded(run_time_at(kind, time));
      job.type = kind.name;
      trace.jobs.push_back(std::move(job));
    }
  }
  Rng rng = streams.stream("arrivals");
  rng.shuffle(std::span(trace.jobs));
  double gpu_s = 0;
  for (const TraceJob& job : trace.jobs) gpu_s += job.gpus * in_seconds(job.duration);
  // The longest few hold so much of the GPU time that the draw misses its mean; the load is kept.
  const double span_s = std::min(gpu_s / (wanted.load * wanted.gpus), kTraceSecondsMax);
  const auto at = arrivals(profile, rng, jobs);
  for (std::size_t j = 0; j < jobs; ++j) {
    TraceJob& job = trace.jobs[j];
    job.name = std::to_string(j);
    job.submit = from_seconds(std::round(at[j] * span_s * 1000) / 1000);
  }
  trace.notes.push_back(
      fmt::format("{} jobs, submitted over {:.6g} days, are a load of {:.4g} % on "
                  "{} GPUs",
                  jobs, span_s / 86'400, 100 * wanted.load, wanted.gpus));
  return trace;
}

}  // namespace railyard::workload
