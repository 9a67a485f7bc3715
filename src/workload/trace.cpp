#include "railyard/workload/trace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

/// FNV-1a over the ends of a name, which is where numbered names differ.
std::size_t place_of(std::string_view name, std::size_t places) {
  std::uint64_t hash = 0xcbf29ce484222325U + name.size();
  const auto mix = [&hash](std::string_view part) {
    for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  };
  constexpr std::size_t kEnd = 12;
  mix(name.substr(0, kEnd));
  if (name.size() > kEnd) mix(name.substr(name.size() - std::min(kEnd, name.size() - kEnd)));
  return static_cast<std::size_t>(hash % places);
}

}  // namespace

void RankTrace::keep(TraceOperation& operation, std::string_view name) {
  constexpr std::size_t kPlaces = 256;
  if (kept_.empty()) kept_.resize(kPlaces);
  Kept& kept = kept_[place_of(name, kPlaces)];
  if (std::string_view(names).substr(kept.begin, kept.size) != name) {
    kept = {names.size(), static_cast<std::uint32_t>(name.size())};
    names.append(name);
  }
  operation.name_begin = kept.begin;
  operation.name_size = kept.size;
}

TraceOperation& RankTrace::add_kept(const TraceOperation& operation) {
  RAILYARD_CHECK(operations.size() < UINT32_MAX, "more operations than a rank can count");
  operations.push_back(operation);
  return operations.back();
}

TraceOperation& RankTrace::add(TraceOperation operation, std::string_view name) {
  if (!name.empty()) keep(operation, name);
  return add_kept(operation);
}

void RankTrace::depend(std::size_t operation, std::span<const TraceDependency> on) {
  operations[operation].first_dependency = dependencies.size();
  operations[operation].dependency_count = static_cast<std::uint32_t>(on.size());
  dependencies.insert(dependencies.end(), on.begin(), on.end());
}

std::size_t Trace::operations() const {
  std::size_t sum = 0;
  for (const RankTrace& rank : ranks) sum += rank.operations.size();
  return sum;
}

std::string Trace::describe(std::uint32_t rank, std::size_t operation) const {
  const RankTrace& of = ranks[rank];
  const TraceOperation& what = of.operations[operation];
  std::string out = fmt::format("rank {}'s ", rank);
  switch (what.kind) {
    case TraceKind::compute:
      out += "computation";
      break;
    case TraceKind::send:
      out += fmt::format("send of {} bytes to rank {}, tag {}", what.size.count(), what.peer,
                         what.tag);
      break;
    case TraceKind::receive:
      out += fmt::format("receive of {} bytes from {}, tag {}", what.size.count(),
                         what.peer == kAnyRank ? "anybody" : fmt::format("rank {}", what.peer),
                         what.tag);
      break;
    case TraceKind::collective:
      out += fmt::format("{} of {} bytes in group \"{}\"", collective::name(what.operation),
                         what.size.count(), groups[what.group].name);
      break;
    case TraceKind::barrier:
      out += fmt::format("barrier in group \"{}\"", groups[what.group].name);
      break;
  }
  const std::string_view called = of.name(what);
  const std::string place = fmt::format("{} {} {}", of.file, of.id_word, what.id);
  return out + (called.empty() ? fmt::format(" ({})", place)
                               : fmt::format(" ({}, {})", config::quoted(called), place));
}

}  // namespace railyard::workload
