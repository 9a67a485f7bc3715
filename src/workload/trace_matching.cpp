#include "workload/trace_matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {
namespace {

using config::ConfigError;

/// One end of a message, sorted to find the other.
struct MessageEnd {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t tag = 0;
  std::uint64_t position = 0;
  [[nodiscard]] auto channel() const { return std::tie(source, destination, tag); }
  friend bool operator<(const MessageEnd& a, const MessageEnd& b) {
    return std::tie(a.source, a.destination, a.tag, a.position) <
           std::tie(b.source, b.destination, b.tag, b.position);
  }
};

bool same_call(const TraceOperation& a, const TraceOperation& b) {
  return a.kind == b.kind && a.size == b.size &&
         (a.kind == TraceKind::barrier || a.operation == b.operation);
}

class Matching {
 public:
  Matching(const Trace& trace, AbsentRanks absent) {
    out_.trace = &trace;
    out_.absent = absent;
  }

  MatchedTrace run() {
    number();
    for (std::uint32_t group = 0; group < trace().groups.size(); ++group) match_group(group);
    match_messages();
    find_members();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Trace& trace() const { return *out_.trace; }
  [[nodiscard]] std::string describe(std::uint64_t position) const {
    const std::uint32_t rank = out_.rank_of[position];
    return trace().describe(rank, position - out_.first[rank]);
  }
  std::uint32_t add_unit(std::uint64_t position) {
    const std::uint32_t rank = out_.rank_of[position];
    const auto unit = static_cast<std::uint32_t>(out_.units.size());
    out_.units.push_back(
        {.rank = rank, .operation = static_cast<std::uint32_t>(position - out_.first[rank])});
    out_.unit_of[position] = unit;
    return unit;
  }
  [[nodiscard]] bool present(std::uint32_t rank) const { return trace().ranks[rank].present; }

  void number();
  void match_group(std::uint32_t group);
  void compare(std::uint32_t group, std::uint32_t a, std::uint32_t b);
  void match_messages();
  void match_channel(std::vector<MessageEnd>& lone_sends, std::size_t& s, std::size_t& r);
  void match_wildcards(std::vector<MessageEnd>& lone_sends);
  void join(std::uint64_t send, std::uint64_t receive);
  void check_peer(std::uint64_t position, const TraceOperation& operation) const;
  void find_members();

  MatchedTrace out_;
  /// By group and member: the positions of its calls, in order.
  std::vector<std::vector<std::vector<std::uint64_t>>> calls_;
  std::vector<MessageEnd> sends_;
  std::vector<MessageEnd> receives_;
  std::vector<MessageEnd> wildcards_;  ///< source kAnyRank
};

void Matching::check_peer(std::uint64_t position, const TraceOperation& operation) const {
  const bool anybody = operation.kind == TraceKind::receive && operation.peer == kAnyRank;
  if (!anybody && operation.peer >= trace().ranks.size())
    throw ConfigError(fmt::format("{}: there are {} ranks, counted from 0", describe(position),
                                  trace().ranks.size()));
  if (operation.peer == out_.rank_of[position])
    throw ConfigError(fmt::format("{}: a rank does not send to itself", describe(position)));
}

/// Gives positions to operations, sorts them by what they have to be matched with.
void Matching::number() {
  const auto ranks = static_cast<std::uint32_t>(trace().ranks.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    out_.first.push_back(out_.rank_of.size());
    out_.rank_of.resize(out_.rank_of.size() + trace().ranks[rank].operations.size(), rank);
    if (!present(rank) && out_.absent == AbsentRanks::refuse) {
      throw ConfigError(fmt::format(
          "{}: rank {} of {} has no file; with absent=join it takes part in what the others do",
          trace().name, rank, ranks));
    }
  }
  RAILYARD_CHECK(out_.rank_of.size() < kNoUnit, "{} operations", out_.rank_of.size());
  out_.unit_of.assign(out_.rank_of.size(), kNoUnit);
  calls_.resize(trace().groups.size());
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> place(calls_.size());
  for (std::size_t g = 0; g < calls_.size(); ++g) {
    const auto& members = trace().groups[g].ranks;
    calls_[g].resize(members.size());
    for (std::uint32_t m = 0; m < members.size(); ++m)
      place[g].emplace_back(static_cast<std::uint32_t>(members[m]), m);
    std::sort(place[g].begin(), place[g].end());
  }
  for (std::uint64_t at = 0; at < out_.unit_of.size(); ++at) {
    const TraceOperation& operation = out_.operation(at);
    const std::uint32_t rank = out_.rank_of[at];
    switch (operation.kind) {
      case TraceKind::compute:
        add_unit(at);
        break;
      case TraceKind::send:
        check_peer(at, operation);
        add_unit(at);
        sends_.push_back({rank, operation.peer, operation.tag, at});
        break;
      case TraceKind::receive:
        check_peer(at, operation);
        add_unit(at);
        (operation.peer == kAnyRank ? wildcards_ : receives_)
            .push_back({operation.peer, rank, operation.tag, at});
        break;
      case TraceKind::collective:
      case TraceKind::barrier: {
        const auto& of_group = place[operation.group];
        const auto found = std::lower_bound(of_group.begin(), of_group.end(), std::pair(rank, 0U));
        if (found == of_group.end() || found->first != rank) {
          throw ConfigError(fmt::format("{}: the rank is not in this group of {} ranks",
                                        describe(at), of_group.size()));
        }
        calls_[operation.group][found->second].push_back(at);
        break;
      }
    }
  }
}

/// Throws where two members of a group disagree.
void Matching::compare(std::uint32_t group, std::uint32_t a, std::uint32_t b) {
  const auto& first = calls_[group][a];
  const auto& second = calls_[group][b];
  const auto rank_a = static_cast<std::uint32_t>(trace().groups[group].ranks[a]);
  const auto rank_b = static_cast<std::uint32_t>(trace().groups[group].ranks[b]);
  const std::size_t both = std::min(first.size(), second.size());
  for (std::size_t k = 0; k < both; ++k) {
    const TraceOperation& one = out_.operation(first[k]);
    const TraceOperation& other = out_.operation(second[k]);
    if (same_call(one, other)) continue;
    const auto has_it = [&](const std::vector<std::uint64_t>& calls, const TraceOperation& what) {
      return std::any_of(calls.begin() + static_cast<std::ptrdiff_t>(k), calls.end(),
                         [&](std::uint64_t at) { return same_call(out_.operation(at), what); });
    };
    const bool order = has_it(second, one) && has_it(first, other);
    throw ConfigError(fmt::format(
        "{}: the ranks of group \"{}\" disagree on {} of its {}. operation: {}, but {}; rank {} "
        "waits for rank {}, which is elsewhere",
        trace().name, trace().groups[group].name,
        order                                                        ? "the order"
        : one.kind != other.kind || one.operation != other.operation ? "the type"
                                                                     : "the size",
        k + 1, describe(first[k]), describe(second[k]), rank_a, rank_b));
  }
  if (first.size() == second.size()) return;
  const bool more = first.size() > second.size();
  const auto& longer = more ? first : second;
  throw ConfigError(fmt::format(
      "{}: {} waits for rank {}, which takes part in {} operations of group \"{}\" only, not {}",
      trace().name, describe(longer[both]), more ? rank_b : rank_a, both,
      trace().groups[group].name, longer.size()));
}

void Matching::match_group(std::uint32_t group) {
  const auto& members = trace().groups[group].ranks;
  std::uint32_t lead = kNoUnit;
  for (std::uint32_t m = 0; m < members.size(); ++m) {
    if (!present(static_cast<std::uint32_t>(members[m]))) continue;
    if (lead == kNoUnit) {
      lead = m;
    } else {
      compare(group, lead, m);
    }
  }
  if (lead == kNoUnit) return;
  std::uint32_t before = kNoUnit;
  for (std::size_t k = 0; k < calls_[group][lead].size(); ++k) {
    const std::uint32_t unit = add_unit(calls_[group][lead][k]);
    for (const auto& calls : calls_[group]) {
      if (k < calls.size()) out_.unit_of[calls[k]] = unit;
    }
    if (before != kNoUnit) out_.units[before].next = unit;
    before = unit;
  }
}

void Matching::join(std::uint64_t send, std::uint64_t receive) {
  const TraceOperation& from = out_.operation(send);
  const TraceOperation& to = out_.operation(receive);
  if (from.size != to.size) {
    throw ConfigError(fmt::format("{}: {} meets {}: they disagree on the size", trace().name,
                                  describe(send), describe(receive)));
  }
  out_.units[out_.unit_of[send]].partner = out_.unit_of[receive];
  out_.units[out_.unit_of[receive]].partner = out_.unit_of[send];
}

/// Joins the messages of one channel in order, from sends_[s] and receives_[r] on.
void Matching::match_channel(std::vector<MessageEnd>& lone_sends, std::size_t& s, std::size_t& r) {
  if (r == receives_.size() ||
      (s < sends_.size() && sends_[s].channel() < receives_[r].channel())) {
    lone_sends.push_back(sends_[s++]);
    return;
  }
  if (s == sends_.size() || receives_[r].channel() < sends_[s].channel()) {
    const MessageEnd& lone = receives_[r++];
    if (!present(lone.source)) return;
    throw ConfigError(fmt::format("{}: {} has no send: rank {} waits for rank {} for ever",
                                  trace().name, describe(lone.position), lone.destination,
                                  lone.source));
  }
  join(sends_[s++].position, receives_[r++].position);
}

/// Receives from anybody take the sends nobody else takes, in order of file and rank.
void Matching::match_wildcards(std::vector<MessageEnd>& lone_sends) {
  const auto by_destination = [](const MessageEnd& a, const MessageEnd& b) {
    return std::tie(a.destination, a.tag, a.position) < std::tie(b.destination, b.tag, b.position);
  };
  // By destination, then the place within their rank, so that no rank's messages come all first.
  std::sort(lone_sends.begin(), lone_sends.end(), [this](const auto& a, const auto& b) {
    const auto place = [this](const MessageEnd& end) {
      return end.position - out_.first[end.source];
    };
    return std::tuple(a.destination, a.tag, place(a), a.source) <
           std::tuple(b.destination, b.tag, place(b), b.source);
  });
  std::sort(wildcards_.begin(), wildcards_.end(), by_destination);
  std::vector<MessageEnd> left;
  std::size_t w = 0;
  const auto lone_receive = [this](const MessageEnd& end) {
    throw ConfigError(fmt::format("{}: {} has no send: rank {} waits for ever", trace().name,
                                  describe(end.position), end.destination));
  };
  for (const MessageEnd& send : lone_sends) {
    const auto channel = [](const MessageEnd& end) { return std::tie(end.destination, end.tag); };
    while (w < wildcards_.size() && channel(wildcards_[w]) < channel(send))
      lone_receive(wildcards_[w]);
    if (w < wildcards_.size() && channel(wildcards_[w]) == channel(send)) {
      join(send.position, wildcards_[w++].position);
    } else {
      left.push_back(send);
    }
  }
  if (w < wildcards_.size()) lone_receive(wildcards_[w]);
  lone_sends = std::move(left);
}

void Matching::match_messages() {
  std::sort(sends_.begin(), sends_.end());
  std::sort(receives_.begin(), receives_.end());
  std::vector<MessageEnd> lone_sends;
  for (std::size_t s = 0, r = 0; s < sends_.size() || r < receives_.size();)
    match_channel(lone_sends, s, r);
  match_wildcards(lone_sends);
  for (const MessageEnd& lone : lone_sends) {
    if (!present(lone.destination)) continue;
    throw ConfigError(fmt::format(
        "{}: {} has no receive: rank {} never takes it, and what waits for it there waits for ever",
        trace().name, describe(lone.position), lone.destination));
  }
}

void Matching::find_members() {
  out_.first_member.assign(out_.units.size() + 1, 0);
  for (const std::uint32_t unit : out_.unit_of) ++out_.first_member[unit + 1];
  for (std::size_t u = 1; u < out_.first_member.size(); ++u)
    out_.first_member[u] += out_.first_member[u - 1];
  out_.members.resize(out_.unit_of.size());
  std::vector<std::uint64_t> place(out_.first_member.begin(), out_.first_member.end() - 1);
  for (std::uint64_t at = 0; at < out_.unit_of.size(); ++at)
    out_.members[place[out_.unit_of[at]]++] = at;
}

}  // namespace

MatchedTrace match_operations(const Trace& trace, AbsentRanks absent) {
  return Matching(trace, absent).run();
}

}  // namespace railyard::workload
