// Kueue's topology-aware scheduling: a gang is `required` to lie in one domain of a level, or would
// have it `preferred`, or is `unconstrained`. The tightest domain of the level that holds it wins;
// where none does a required gang waits and a preferred one goes up a level, at the top to several
// domains: those with most room, and the tightest for the rest. Below, domains are chosen the same
// way. Unconstrained gangs fill the domains with least room first (profile Mixed).
//
// With slices the gang is cut into equal ones, each inside one domain of their level (annotation
// podset-slice-required-topology), and room is counted in slices. A gang that they do not divide is
// never admitted, as Kueue's webhook rejects it.
#include <algorithm>

#include "scheduler/hosts.hpp"
#include "scheduler/placement/catalog_entries.hpp"

namespace railyard::scheduler {

namespace {

struct TasSettings {
  enum class Mode : std::uint8_t { required, preferred, unconstrained };
  Mode mode = Mode::preferred;
  bool of_minipods = false;  ///< the level asked for; else leaves
  std::uint32_t slice = 1;   ///< hosts
  bool slices_in_minipods = false;
  RankOrder rank_order = RankOrder::pp_fastest;
};

class Tas final : public PlacementPolicy {
 public:
  explicit Tas(const TasSettings& settings) : settings_(settings) {}

  std::optional<Placement> place(const GangShape& shape, const Inventory& view,
                                 Rng /*rng*/) const override {
    if (shares_host(shape, view)) {
      return place_in_order(shape, view, FreeOrder::fewest_first, settings_.rank_order);
    }
    const std::uint32_t wanted = hosts_wanted(shape, view);
    if (wanted % settings_.slice != 0) return std::nullopt;
    const std::vector<FreeLeaf> leaves = free_leaves(view);
    const std::vector<HostId> hosts = settings_.mode == TasSettings::Mode::unconstrained
                                          ? least_room_first(leaves, wanted / settings_.slice)
                                          : together(leaves, wanted / settings_.slice);
    if (hosts.size() < wanted) return std::nullopt;
    return on_whole_hosts(hosts, view, settings_.rank_order);
  }

 private:
  using Leaves = std::vector<FreeLeaf>;

  /// Slices that leaves or minipods hold.
  [[nodiscard]] std::vector<std::uint32_t> leaf_rooms(const Leaves& leaves) const {
    std::vector<std::uint32_t> rooms;
    for (const FreeLeaf& leaf : leaves) {
      rooms.push_back(static_cast<std::uint32_t>(leaf.hosts.size()) / settings_.slice);
    }
    return rooms;
  }
  static std::vector<Leaves> by_minipod(const Leaves& leaves) {
    std::vector<Leaves> minipods;
    for (const FreeLeaf& leaf : leaves) {
      minipods.resize(std::max(minipods.size(), index(leaf.minipod) + 1));
      minipods[index(leaf.minipod)].push_back(leaf);
    }
    return minipods;
  }
  [[nodiscard]] std::uint32_t room(const Leaves& minipod) const {
    std::uint32_t slices = 0;
    std::uint32_t hosts = 0;
    for (const FreeLeaf& leaf : minipod) {
      const auto free = static_cast<std::uint32_t>(leaf.hosts.size());
      slices += free / settings_.slice;
      hosts += free;
    }
    return settings_.slices_in_minipods ? hosts / settings_.slice : slices;
  }

  /// Slices of a minipod, from its leaves by best fit.
  void take(const Leaves& minipod, std::uint32_t slices, std::vector<HostId>& out) const {
    // Slices that only have to lie in the minipod are hosts to its leaves.
    const std::uint32_t unit = settings_.slices_in_minipods ? 1 : settings_.slice;
    std::vector<std::uint32_t> rooms;
    for (const FreeLeaf& leaf : minipod) {
      rooms.push_back(static_cast<std::uint32_t>(leaf.hosts.size()) / unit);
    }
    for (const DomainPart& part : best_fit_domains(rooms, slices * settings_.slice / unit)) {
      const auto from = minipod[part.domain].hosts.begin();
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(part.units * unit));
    }
  }

  [[nodiscard]] std::vector<HostId> together(const Leaves& leaves, std::uint32_t slices) const {
    const bool required = settings_.mode == TasSettings::Mode::required;
    std::vector<HostId> hosts;
    if (!settings_.of_minipods) {
      if (const auto leaf = tightest_domain(leaf_rooms(leaves), slices)) {
        take({leaves[*leaf]}, slices, hosts);
        return hosts;
      }
      if (required) return {};
    }
    const std::vector<Leaves> minipods = by_minipod(leaves);
    std::vector<std::uint32_t> rooms;
    for (const Leaves& minipod : minipods) rooms.push_back(room(minipod));
    if (required && !tightest_domain(rooms, slices)) return {};
    for (const DomainPart& part : best_fit_domains(rooms, slices)) {
      take(minipods[part.domain], part.units, hosts);
    }
    return hosts;
  }

  [[nodiscard]] std::vector<HostId> least_room_first(const Leaves& leaves,
                                                     std::uint32_t slices) const {
    std::vector<Leaves> domains = by_minipod(leaves);
    if (!settings_.slices_in_minipods) {
      domains.clear();
      for (const FreeLeaf& leaf : leaves) domains.push_back({leaf});
    }
    std::ranges::stable_sort(domains, {}, [this](const Leaves& domain) { return room(domain); });
    std::vector<HostId> hosts;
    for (const Leaves& domain : domains) {
      const std::uint32_t some = std::min(slices, room(domain));
      take(domain, some, hosts);
      slices -= some;
    }
    return hosts;
  }

  TasSettings settings_;
};

std::unique_ptr<PlacementPolicy> create_tas(const config::Parameters& parameters) {
  TasSettings settings;
  const std::string& mode = parameters.get<std::string>("mode");
  settings.mode = mode == "required"    ? TasSettings::Mode::required
                  : mode == "preferred" ? TasSettings::Mode::preferred
                                        : TasSettings::Mode::unconstrained;
  const bool constrained = settings.mode != TasSettings::Mode::unconstrained;
  settings.of_minipods = parameters.get<std::string>("level") == "minipod";
  if (!constrained && parameters.given("level")) {
    throw config::ConfigError("mode \"unconstrained\" asks for no \"level\"");
  }
  settings.slice = static_cast<std::uint32_t>(parameters.get<std::int64_t>("slice"));
  settings.slices_in_minipods = parameters.get<std::string>("slice_level") == "minipod";
  if (parameters.given("slice_level") && settings.slice == 1) {
    throw config::ConfigError("\"slice_level\" goes with a \"slice\" of several hosts");
  }
  if (constrained && settings.slices_in_minipods && !settings.of_minipods) {
    throw config::ConfigError(
        "slices of \"minipod\" do not lie in a \"leaf\": the level asked for is above theirs");
  }
  settings.rank_order = rank_order_of(parameters);
  return std::make_unique<Tas>(settings);
}

}  // namespace

PlacementEntry tas_entry() {
  using config::ParameterType;
  return {{.name = "tas",
           .summary = "Kueue's topology-aware scheduling: one domain of a level, required or "
                      "preferred, in slices that each lie in one domain of theirs",
           .parameters = {{.name = "mode",
                           .type = ParameterType::choice,
                           .fallback = "\"preferred\"",
                           .help = "required: it waits for one domain; preferred: else it goes up "
                                   "and is split; unconstrained: domains with least room first",
                           .choices = {"required", "preferred", "unconstrained"}},
                          {.name = "level",
                           .type = ParameterType::choice,
                           .fallback = "\"leaf\"",
                           .help = "of the one domain",
                           .choices = {"leaf", "minipod"}},
                          {.name = "slice",
                           .type = ParameterType::integer,
                           .fallback = "1",
                           .help = "hosts of a slice (podset-slice-size)",
                           .min = 1,
                           .max = 1'000'000},
                          {.name = "slice_level",
                           .type = ParameterType::choice,
                           .fallback = "\"leaf\"",
                           .help = "of the domain that a slice lies in",
                           .choices = {"leaf", "minipod"}},
                          rank_order_parameter("\"pp_fastest\"")}},
          &create_tas};
}

}  // namespace railyard::scheduler
