// Rules of the cluster in a scenario: quotas, drains, maintenance windows.
#include "rules.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "railyard/topology/hostlist.hpp"

namespace railyard::scenario {
namespace {

using config::Node;
using config::Reader;
using scheduler::Outage;

/// "users": {"ann": 64}, "each_user": 128: names of jobs with the GPUs that they may hold.
void read_quotas(Reader& reader, const char* names, const char* each,
                 const std::set<std::string_view>& known, scheduler::Quotas& out) {
  constexpr config::Range<std::int64_t> kGpus{1, 100'000'000};
  if (reader.has(each)) {
    out.each = static_cast<std::uint64_t>(reader.required<std::int64_t>(each, kGpus));
    if (known.empty()) reader.fail(each, "no job of the scenario says whose it is");
  }
  const auto node = reader.child(names);
  if (!node) return;
  if (!node->is_object()) {
    reader.fail(names, "expected an object of names with GPUs");
    return;
  }
  Reader members(*node, reader.errors());
  for (std::size_t i = 0; i < node->size(); ++i) {
    const std::string name(node->key_at(i));
    out.named[name] = static_cast<std::uint64_t>(members.required<std::int64_t>(name, kGpus));
    if (known.contains(name)) continue;
    const std::string_view near =
        config::nearest(name, std::vector<std::string_view>(known.begin(), known.end()));
    members.fail(name, fmt::format("no job of the scenario has that name{}",
                                   near.empty() ? std::string()
                                                : fmt::format("; did you mean \"{}\"?", near)));
  }
}

/// A job that may never hold what it wants.
void check_quotas(Reader& scenario, const World& world) {
  const scheduler::Inventory inventory(world.topology);
  for (std::size_t j = 0; j < world.jobs.size(); ++j) {
    const cluster::JobSpec& job = world.jobs[j];
    if (world.from_trace[j]) continue;  // the run rejects it, and says so
    const std::uint64_t wanted = scheduler::gpus_wanted(job.shape, inventory);
    for (const auto& [whose, limit] : {std::pair("user", world.rules.users.of(job.user)),
                                       std::pair("group", world.rules.groups.of(job.group))}) {
      if (!limit || wanted <= *limit) continue;
      scenario.fail("quotas", fmt::format("job \"{}\" takes {} GPUs, the quota of its {} is {}: it "
                                          "could never start",
                                          job.name, wanted, whose, *limit));
    }
  }
}

Outage read_outage(Reader& reader, const World& world, bool planned) {
  Outage out;
  out.planned = planned;
  const auto hosts = reader.required<std::vector<std::string>>("hosts");
  if (const auto node = reader.child("hosts")) {
    out.hosts = hosts_named(*node, reader.errors(), hosts, world.topology);
  }
  out.from = TimePoint(reader.required<Duration>("from"));
  if (planned || reader.has("until")) {
    out.until = TimePoint(reader.required<Duration>("until"));
    if (out.until <= out.from) reader.fail("until", "must be later than \"from\"");
  }
  if (out.from >= TimePoint(world.horizon)) {
    reader.fail("from", "is not before the horizon: it would change nothing");
  }
  const std::size_t running =
      reader.optional_choice("running", {"finish", "preempt"}, planned ? 1 : 0);
  out.preempts = running == 1;
  reader.finish();
  const std::string list = fmt::format("{}", fmt::join(hosts, ","));
  out.name = fmt::format("{} of {}", planned ? "the maintenance" : "the drain", list);
  for (const scheduler::HostSlot& slot : world.background) {
    if (!std::ranges::binary_search(out.hosts, slot.host)) continue;
    reader.fail("hosts", fmt::format("host \"{}\" is occupied by others for the whole run",
                                     world.topology.host_name(slot.host)));
    break;
  }
  return out;
}

/// A host that two would take out at the same time: which of them says what becomes of its jobs?
void check_overlap(Reader& scenario, const char* key, const World& world) {
  const Outage& last = world.rules.outages.back();
  for (std::size_t i = 0; i + 1 < world.rules.outages.size(); ++i) {
    const Outage& other = world.rules.outages[i];
    if (other.from >= last.until || last.from >= other.until) continue;
    std::vector<HostId> both;
    std::ranges::set_intersection(last.hosts, other.hosts, std::back_inserter(both));
    if (both.empty()) continue;
    scenario.fail(key, fmt::format("host \"{}\" is taken out by {} and by {} at the same time",
                                   world.topology.host_name(both.front()), other.name, last.name));
    return;
  }
}

void read_outages(Reader& scenario, const char* key, bool planned, World& world) {
  const auto node = scenario.child(key);
  if (!node) return;
  if (!node->is_array()) {
    scenario.fail(key, "expected an array of {\"hosts\": […], \"from\": …, \"until\": …}");
    return;
  }
  for (std::size_t i = 0; i < node->size(); ++i) {
    Reader reader(node->at(i), scenario.errors());
    world.rules.outages.push_back(read_outage(reader, world, planned));
    check_overlap(scenario, key, world);
  }
}

/// Whether a job would run into a window is judged by its estimate.
void check_estimates(Reader& scenario, const World& world) {
  if (!scenario.errors().empty()) return;
  for (const PolicySpec& policy : world.policies) {
    if (make_parts(world, policy).predictor->estimates()) continue;
    scenario.fail("maintenance",
                  fmt::format("windows are planned around by run times: give policy set \"{}\" a "
                              "\"predictor\" (`railyard list predictors`)",
                              policy.name));
  }
}

}  // namespace

std::vector<HostId> hosts_named(const Node& node, config::Errors& errors,
                                const std::vector<std::string>& expressions,
                                const topology::Topology& topology) {
  const std::map<std::string, HostId> known = topology::hosts_by_name(topology);
  std::vector<HostId> out;
  for (const std::string& expression : expressions) {
    std::vector<std::string> names;
    if (const std::string fault =
            topology::expand_hostlist(expression, topology.hosts().size(), names);
        !fault.empty()) {
      errors.add(node, fmt::format("\"{}\": {}", expression, fault));
      return {};
    }
    for (const std::string& name : names) {
      const auto found = known.find(name);
      if (found == known.end()) {
        errors.add(node, fmt::format("the fabric has no host \"{}\"; its first is \"{}\"", name,
                                     topology.host_name(HostId{})));
        return {};
      }
      out.push_back(found->second);
    }
  }
  std::ranges::sort(out);
  if (const auto twice = std::ranges::adjacent_find(out); twice != out.end()) {
    errors.add(node, fmt::format("host \"{}\" stands there twice", topology.host_name(*twice)));
    return {};
  }
  return out;
}

void read_rules(Reader& scenario, World& world) {
  if (const auto node = scenario.child("quotas")) {
    std::set<std::string_view> users;
    std::set<std::string_view> groups;
    for (const cluster::JobSpec& job : world.jobs) {
      if (!job.user.empty()) users.insert(job.user);
      if (!job.group.empty()) groups.insert(job.group);
    }
    Reader reader(*node, scenario.errors());
    read_quotas(reader, "users", "each_user", users, world.rules.users);
    read_quotas(reader, "groups", "each_group", groups, world.rules.groups);
    reader.finish();
    if (!world.rules.has_quotas()) {
      scenario.fail("quotas", "give \"users\", \"each_user\", \"groups\" or \"each_group\"");
    }
    check_quotas(scenario, world);
  }
  read_outages(scenario, "drains", false, world);
  read_outages(scenario, "maintenance", true, world);
  if (scenario.has("maintenance")) check_estimates(scenario, world);
}

}  // namespace railyard::scenario
