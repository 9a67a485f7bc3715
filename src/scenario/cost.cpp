// What a run costs: prices and powers of the scenario × GPU-hours, energy and switch ports of the
// run. Off where the scenario has no "cost".
#include "cost.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "railyard/config/prices.hpp"
#include "railyard/core/check.hpp"

namespace railyard::scenario {
namespace {

using cluster::JobRecord;
using metrics::Metric;

constexpr double kHoursPerYear = 8766;  // 365.25 days
constexpr double kJoulePerKwh = 3.6e6;

double hours(double ticks) {
  return ticks / static_cast<double>(kTicksPerSecond) / 3600;
}

/// An end of a cable in a switch, as switches are bought.
double switch_ports(const topology::Topology& topology) {
  const auto count = std::count_if(
      topology.links().begin(), topology.links().end(),
      [&](const auto& link) { return topology::is_switch(topology.kind(link.from)); });
  return static_cast<double>(count);
}

/// What a GPU draws: the scenario's word, else that of its kind.
void read_powers(config::Reader& reader, const World& world, Prices& out) {
  const auto busy = reader.maybe<config::Power>("power");
  const auto idle = reader.maybe<config::Power>("idle_power");
  out.pue = reader.optional<double>("pue", 1.0, config::Range<double>{1.0, 10.0});
  out.energy = reader.has("kwh") || reader.has("pue") || busy || idle;
  if (!out.energy || world.gpu == nullptr) return;
  out.busy_w = busy ? busy->watts : world.gpu->power_w;
  out.idle_w = idle ? idle->watts : world.gpu->idle_power_w;
  if (out.busy_w <= 0) {
    reader.fail("power", fmt::format("energy needs what {} GPUs draw while they compute: give "
                                     "\"power\" here or in the GPU's file",
                                     world.gpu->name));
  }
  if (!idle && out.idle_w <= 0) {
    reader.fail("idle_power",
                fmt::format("energy needs what {} GPUs draw while they do not compute, "
                            "which no data sheet says: give \"idle_power\" here or "
                            "in the GPU's file",
                            world.gpu->name));
  }
  if (out.idle_w > out.busy_w && out.busy_w > 0) {
    reader.fail("idle_power", fmt::format("{} W is more than the {} W that the GPU draws while it "
                                          "computes",
                                          out.idle_w, out.busy_w));
  }
}

/// Ticks × GPUs, from the decisions on.
double held_ticks(const JobRecord& record) {
  double ticks = 0;
  for (const cluster::JobRun& run : record.runs) {
    ticks += static_cast<double>(scheduler::gpu_count(run.slots)) *
             static_cast<double>((run.until - run.from).count());
  }
  return ticks;
}

/// Of a job whose iterations are not simulated (recorded, in one host) nothing else is known than
/// that it ran: it counts as computing.
double busy_ticks(const JobRecord& record, double held) {
  return record.iterations_run > 0 ? std::min(record.busy_gpu_ticks, held) : held;
}

double energy_j(const Prices& prices, double all_h, double busy_h) {
  if (!prices.energy) return 0;
  return prices.pue * 3600 * (busy_h * prices.busy_w + (all_h - busy_h) * prices.idle_w);
}

/// Sums over the jobs.
struct JobCosts {
  double held_h = 0;
  double busy_h = 0;
  double finished = 0;
  double finished_cost = 0;
  double iterations = 0;
  double iterations_cost = 0;
  double tokens = 0;
  double tokens_cost = 0;
};

JobCosts add_jobs(const Prices& prices, double network_per_gpu_h,
                  const std::vector<cluster::JobSpec>& jobs, const cluster::Outcome& outcome,
                  metrics::PolicyResult& out) {
  JobCosts sum;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const JobRecord& record = outcome.jobs[j];
    if (record.runs.empty()) continue;
    const double held = held_ticks(record);
    const double held_h = hours(held);
    const double busy_h = hours(busy_ticks(record, held));
    const double cost = held_h * (prices.gpu_hour + network_per_gpu_h) +
                        energy_j(prices, held_h, busy_h) / kJoulePerKwh * prices.kwh;
    sum.held_h += held_h;
    sum.busy_h += busy_h;
    if (!prices.currency.empty()) out.jobs[j].cost = cost;
    if (record.status == cluster::JobStatus::finished) {
      ++sum.finished;
      sum.finished_cost += cost;
    }
    if (!jobs[j].iterations) continue;
    sum.iterations += record.work_done;
    sum.iterations_cost += cost;
    if (jobs[j].dag->tokens <= 0) continue;
    sum.tokens += record.work_done * jobs[j].dag->tokens;
    sum.tokens_cost += cost;
  }
  return sum;
}

}  // namespace

void read_cost(config::Reader& scenario, World& world) {
  const auto node = scenario.child("cost");
  if (!node) return;
  config::Reader reader(*node, scenario.errors());
  Prices out;
  const char* first = nullptr;
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, double*>>{
           {"gpu_hour", &out.gpu_hour}, {"kwh", &out.kwh}, {"switch_port", &out.switch_port}}) {
    const auto money = reader.maybe<config::Money>(key);
    if (!money) continue;
    *value = money->amount;
    if (first == nullptr) {
      first = key;
      out.currency = money->currency;
    } else if (money->currency != out.currency) {
      reader.fail(key, fmt::format("is in {}, \"{}\" in {}: nothing is converted, give all in one "
                                   "currency",
                                   money->currency, first, out.currency));
    }
  }
  read_powers(reader, world, out);
  const bool ports = reader.has("switch_port");
  out.network_years =
      reader.optional<double>("network_years", 0.0, config::Range<double>{0.01, 100.0});
  if (ports != reader.has("network_years")) {
    reader.fail(ports ? "switch_port" : "network_years",
                "give \"switch_port\", the price of one, and \"network_years\", over which it is "
                "written off, or neither");
  }
  if (ports && world.topology.gpu_count() > 0 && switch_ports(world.topology) == 0) {
    reader.fail("switch_port", "the fabric has no switches between its hosts");
  }
  const bool nothing = !reader.has("gpu_hour") && !reader.has("kwh") && !ports && !out.energy;
  if (nothing && !reader.has("network_years")) {
    scenario.fail("cost", "give a price (\"gpu_hour\", \"kwh\", \"switch_port\") or a power");
  }
  reader.finish();
  world.prices = out;
}

void add_costs(const World& world, const std::vector<cluster::JobSpec>& jobs,
               const cluster::Outcome& outcome, metrics::PolicyResult& out) {
  if (!world.prices) return;
  const Prices& prices = *world.prices;
  metrics::CostResult cost;
  cost.currency = prices.currency;
  cost.switch_ports = switch_ports(world.topology);
  const auto gpus = static_cast<double>(world.topology.gpu_count());
  if (prices.network_years > 0) {
    cost.network_per_gpu_h =
        cost.switch_ports * prices.switch_port / (prices.network_years * kHoursPerYear) / gpus;
  }
  const JobCosts sum = add_jobs(prices, cost.network_per_gpu_h, jobs, outcome, out);
  const double all_h = (gpus - outcome.background_gpus) *
                       hours(static_cast<double>(outcome.end.time_since_epoch().count()));
  cost.busy_gpu_h = sum.busy_h;
  cost.waiting_gpu_h = sum.held_h - sum.busy_h;
  cost.reserved_gpu_h = hours(outcome.reserved_idle_gpu_ticks);
  cost.idle_gpu_h = std::max(0.0, all_h - sum.held_h - cost.reserved_gpu_h);
  const double joule = energy_j(prices, all_h, sum.busy_h);
  cost.energy_kwh = joule / kJoulePerKwh;
  cost.gpus = all_h * prices.gpu_hour;
  cost.network = all_h * cost.network_per_gpu_h;
  cost.energy = cost.energy_kwh * prices.kwh;
  out.cost = cost;
  metrics::Metrics& m = out.metrics;
  if (prices.energy) m.set(Metric::energy_j, joule);
  if (prices.currency.empty()) return;
  m.set(Metric::cost_total, cost.gpus + cost.network + cost.energy);
  const auto set = [&m](Metric metric, double money, double results) {
    if (results > 0) m.set(metric, money / results);
  };
  set(Metric::cost_per_job, sum.finished_cost, sum.finished);
  set(Metric::cost_per_iteration, sum.iterations_cost, sum.iterations);
  set(Metric::cost_per_token, sum.tokens_cost, sum.tokens);
}

}  // namespace railyard::scenario
