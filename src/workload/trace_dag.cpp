// A matched trace as an IterationDag.
//
// A message is a send task on a stream of its own. What its rank does after the send waits for a
// barrier behind it on that stream, which is reached when the last byte has left; the receive is a
// barrier that waits for the arrival and for its own dependencies. `started` dependencies wait for
// a barrier in front of the operation. All these barriers take no time.
#include <algorithm>
#include <map>
#include <utility>

#include "workload/trace_matching.hpp"

namespace railyard::workload {
namespace {

constexpr std::uint32_t kNoTask = UINT32_MAX;

class Joiner {
 public:
  explicit Joiner(const MatchedTrace& matched)
      : matched_(matched),
        done_(matched.units.size(), kNoTask),
        arrived_(matched.units.size(), kNoTask),
        begun_(matched.units.size(), kNoTask),
        begin_wanted_(matched.units.size(), false),
        end_wanted_(matched.units.size(), false),
        group_stream_(matched.trace->groups.size(), kNoTask) {}

  IterationDag run() {
    const Trace& trace = *matched_.trace;
    IterationDag& dag = builder_.dag();
    dag.ranks = static_cast<std::uint32_t>(trace.ranks.size());
    for (std::uint32_t rank = 0; rank < dag.ranks; ++rank) dag.actors.push_back({Rank{rank}});
    for (const TraceGroup& group : trace.groups) dag.groups.push_back(group.ranks);
    for (std::uint64_t at = 0; at < matched_.unit_of.size(); ++at) {
      for_each_dependency(at, [&](const TraceDependency& on, std::uint32_t unit) {
        (on.started ? begin_wanted_ : end_wanted_)[unit] = true;
      });
    }
    for (const std::uint32_t unit : order_units(matched_)) add(unit);
    return std::move(dag);
  }

 private:
  template <typename Visit>
  void for_each_dependency(std::uint64_t position, const Visit& visit) const {
    const std::uint32_t rank = matched_.rank_of[position];
    const TraceOperation& operation = matched_.operation(position);
    for (std::uint32_t d = 0; d < operation.dependency_count; ++d) {
      const TraceDependency& on =
          matched_.trace->ranks[rank].dependencies[operation.first_dependency + d];
      visit(on, matched_.unit_of[matched_.first[rank] + on.operation]);
    }
  }

  /// The tasks that a unit's operations wait for.
  void collect(std::uint32_t unit) {
    before_.clear();
    for (std::uint64_t m = matched_.first_member[unit]; m < matched_.first_member[unit + 1]; ++m) {
      for_each_dependency(matched_.members[m], [&](const TraceDependency& on, std::uint32_t of) {
        const std::uint32_t task = on.started ? begun_[of] : done_[of];
        if (task != kNoTask) before_.push_back(task);
      });
    }
    std::sort(before_.begin(), before_.end());
    before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
  }

  std::uint32_t new_stream() { return builder_.dag().streams++; }

  std::uint32_t barrier(std::uint32_t stream) {
    Task task;
    task.kind = TaskKind::barrier;
    task.stream = stream;
    return builder_.add(task, before_);
  }

  /// The barrier in front of an operation, if anybody waits for its begin. The operation is the
  /// next on that stream, so it need not wait for anything else.
  void mark_begin(std::uint32_t unit, std::uint32_t stream) {
    if (!begin_wanted_[unit]) return;
    begun_[unit] = barrier(stream);
    before_.clear();
  }

  void add(std::uint32_t unit) {
    const TraceUnit& one = matched_.units[unit];
    const TraceOperation& operation = matched_.operation(one);
    collect(unit);
    switch (operation.kind) {
      case TraceKind::compute:
        add_compute(unit, one, operation);
        return;
      case TraceKind::send:
        add_send(unit, one.rank, operation.peer, operation);
        if (end_wanted_[unit]) {
          before_.clear();
          done_[unit] = barrier(builder_.dag().tasks.back().stream);
        }
        return;
      case TraceKind::receive:
        add_receive(unit, one, operation);
        return;
      case TraceKind::collective:
      case TraceKind::barrier:
        add_collective(unit, one, operation);
        return;
    }
  }

  void add_compute(std::uint32_t unit, const TraceUnit& one, const TraceOperation& operation) {
    const auto [at, fresh] =
        compute_stream_.try_emplace({one.rank, operation.stream}, builder_.dag().streams);
    if (fresh) new_stream();
    mark_begin(unit, at->second);
    Task task;
    task.stream = at->second;
    task.actor = one.rank;
    task.duration = operation.duration;
    done_[unit] = builder_.add(task, before_);
  }

  void add_send(std::uint32_t unit, std::uint32_t from, std::uint32_t to,
                const TraceOperation& operation) {
    Task task;
    task.kind = TaskKind::send;
    task.cause = Cause::pipeline;
    task.stream = new_stream();
    mark_begin(unit, task.stream);
    task.actor = from;
    task.peer = to;
    task.size = std::max(operation.size, Bytes(1));
    arrived_[unit] = builder_.add(task, before_);
  }

  void add_receive(std::uint32_t unit, const TraceUnit& one, const TraceOperation& operation) {
    const std::vector<std::uint32_t> posted = before_;
    std::uint32_t arrival = one.partner == kNoUnit ? kNoTask : arrived_[one.partner];
    if (arrival == kNoTask) {  // from a rank without a trace: at once
      before_.clear();
      add_send(unit, operation.peer, one.rank, operation);
      arrival = std::exchange(arrived_[unit], kNoTask);
    }
    if (begin_wanted_[unit] && !posted.empty()) {
      before_ = posted;
      begun_[unit] = barrier(new_stream());
    }
    done_[unit] = arrival;
    if (posted.empty()) return;
    before_ = posted;
    before_.push_back(arrival);
    done_[unit] = barrier(builder_.dag().tasks[arrival].stream);
  }

  void add_collective(std::uint32_t unit, const TraceUnit& one, const TraceOperation& operation) {
    std::uint32_t& stream = group_stream_[operation.group];
    if (stream == kNoTask) stream = new_stream();
    mark_begin(unit, stream);
    if (operation.kind == TraceKind::barrier || operation.size <= Bytes(0)) {
      done_[unit] = barrier(stream);
      return;
    }
    Task task;
    task.kind = TaskKind::collective;
    task.cause = Cause::data;
    task.operation = operation.operation;
    task.stream = stream;
    task.actor = one.rank;
    task.group = operation.group;
    task.size = operation.size;
    done_[unit] = builder_.add(task, before_);
  }

  const MatchedTrace& matched_;
  DagBuilder builder_;
  // By unit: the task whose end is the unit's; a send's arrival; its begin.
  std::vector<std::uint32_t> done_;
  std::vector<std::uint32_t> arrived_;
  std::vector<std::uint32_t> begun_;
  std::vector<bool> begin_wanted_;
  std::vector<bool> end_wanted_;
  std::vector<std::uint32_t> group_stream_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> compute_stream_;
  std::vector<std::uint32_t> before_;
};

}  // namespace

IterationDag match(const Trace& trace, AbsentRanks absent) {
  const MatchedTrace matched = match_operations(trace, absent);
  return Joiner(matched).run();
}

}  // namespace railyard::workload
