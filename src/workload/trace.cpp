#include "railyard/workload/trace.hpp"

#include <fmt/format.h>

#include "railyard/config/text_lines.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {

TraceOperation& RankTrace::add(TraceOperation operation, std::string_view name) {
  RAILYARD_CHECK(operations.size() < UINT32_MAX, "more operations than a rank can count");
  operation.name_begin = names.size();
  operation.name_size = static_cast<std::uint32_t>(name.size());
  names.append(name);
  operations.push_back(operation);
  return operations.back();
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
