// GOAL for LogGOPSim: every collective as the messages of its algorithm on a flat group.
//
// Durations are rounded to whole nanoseconds. A task of several messages ends, at each of its
// ranks, in a `calc 0` that all of them precede. In a collective a rank's first message waits for
// that rank alone, where a recording waits for all ranks: a step of a ring needs no more.
#include <fmt/ostream.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "railyard/collective/choices.hpp"
#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "workload/writers/rank_tasks.hpp"

namespace railyard::workload {
namespace {

/// The messages of one kind of collective, shared by all tasks of that kind.
struct Steps {
  collective::Schedule schedule;
  /// By member: its sends and receives, in order of the schedule.
  std::vector<std::vector<std::uint32_t>> of_member;
};

class GoalWriter {
 public:
  GoalWriter(const IterationDag& dag, const RankTasks& tasks, std::ostream& out)
      : dag_(dag), tasks_(tasks), out_(out) {
    std::uint64_t tag = 0;
    for (const Task& task : dag.tasks) {
      first_tag_.push_back(tag);
      if (task.kind == TaskKind::collective)
        tag += steps_of(task).schedule.transfers.size() * task.repeat;
      if (task.kind == TaskKind::send) ++tag;
    }
    if (tag > UINT32_MAX)
      throw config::ConfigError(fmt::format("{} messages: more than GOAL has tags", tag));
  }

  void write() {
    fmt::print(out_, "num_ranks {}\n", dag_.ranks);
    for (rank_ = 0; rank_ < dag_.ranks; ++rank_) {
      fmt::print(out_, "\nrank {} {{\n", rank_);
      label_ = 0;
      end_of_.clear();
      for (const std::uint32_t task : tasks_.tasks_of(rank_)) write_task(task);
      fmt::print(out_, "}}\n");
    }
  }

 private:
  const Steps& steps_of(const Task& task) {
    const auto& group = dag_.groups[task.group];
    const auto size = static_cast<std::uint32_t>(group.size());
    const std::string text = collective::choice_for(dag_.collectives.of(task.operation), size);
    const std::tuple key{text,
                         static_cast<int>(task.operation),
                         task.size.count(),
                         group.size(),
                         task.shares,
                         task.by_source};
    auto& slot = steps_[key];
    if (slot) return *slot;
    const config::Choice choice = collective::decode_choice_text(text);
    const auto shape = collective::GroupShape::flat(size);
    collective::Request request{task.operation, task.size, {}};
    if (task.shares != 0) request.shares = dag_.shares[task.shares - 1];
    request.by_source = task.by_source;
    const auto refuse = [&](const std::string& reason) {
      throw config::ConfigError(fmt::format("collective algorithm \"{}\" cannot expand {}: {}",
                                            choice.name, collective::name(task.operation), reason));
    };
    if (choice.name == "auto") refuse("it depends on the fabric; name an algorithm");
    const auto algorithm = collective::algorithm_of(choice);
    if (const std::string refusal = algorithm->refusal(request, shape); !refusal.empty())
      refuse(refusal);
    slot = std::make_unique<Steps>();
    slot->schedule = algorithm->schedule(request, shape);
    for (const auto& transfer : slot->schedule.transfers) {
      if (std::max(transfer.source, transfer.destination) >= shape.ranks())
        refuse("it reduces in switches, but the messages of GOAL end at ranks; use ring");
    }
    slot->of_member.resize(group.size());
    for (std::uint32_t i = 0; i < slot->schedule.transfers.size(); ++i) {
      const auto& transfer = slot->schedule.transfers[i];
      slot->of_member[transfer.source].push_back(i);
      slot->of_member[transfer.destination].push_back(i);
    }
    return *slot;
  }

  std::uint64_t requires_all(std::uint64_t label, std::uint32_t task) {
    for (const RankTasks::Wait& wait : tasks_.waits(task)) {
      if (const auto end = end_of_.find(wait.task); end != end_of_.end())
        fmt::print(out_, "l{} requires l{}\n", label, end->second);
    }
    return label;
  }

  void write_task(std::uint32_t t) {
    const Task& task = dag_.tasks[t];
    if (has_duration(task.kind)) {
      // The host launches beside what the GPU computes.
      fmt::print(out_, "l{}: calc {}{}\n", ++label_, (task.duration.count() + 50) / 100,
                 task.kind == TaskKind::host ? " cpu 2" : "");
      end_of_[t] = requires_all(label_, t);
    } else if (task.kind == TaskKind::send) {
      const bool sends = tasks_.is_sender(t, rank_);
      fmt::print(out_, "l{}: {} {}b {} {} tag {}\n", ++label_, sends ? "send" : "recv",
                 task.size.count(), sends ? "to" : "from", tasks_.partner(t, rank_), first_tag_[t]);
      if (sends) requires_all(label_, t);
      end_of_[t] = label_;
    } else {
      write_collective(t, task);
    }
  }

  void write_collective(std::uint32_t t, const Task& task) {
    const Steps& steps = steps_of(task);
    const auto& group = dag_.groups[task.group];
    std::uint32_t me = 0;
    while (group[me] != Rank{rank_}) ++me;
    std::uint64_t begin = requires_all(open_join(), t);
    for (std::uint32_t round = 0; round < task.repeat; ++round) {
      std::map<std::uint32_t, std::uint64_t> label_of;  // of the transfers met
      std::map<std::uint32_t, std::uint64_t> on_channel;
      for (const std::uint32_t i : steps.of_member[me]) {
        const auto& transfer = steps.schedule.transfers[i];
        const bool sends = transfer.source == me;
        const std::uint64_t tag =
            first_tag_[t] + std::uint64_t{round} * steps.schedule.transfers.size() + i;
        fmt::print(out_, "l{}: {} {}b {} {} tag {}\n", ++label_, sends ? "send" : "recv",
                   transfer.size.count(), sends ? "to" : "from",
                   index(group[sends ? transfer.destination : transfer.source]), tag);
        label_of[i] = label_;
        if (!sends) continue;
        fmt::print(out_, "l{} requires l{}\n", label_, begin);
        for (std::uint32_t d = 0; d < transfer.dependency_count; ++d) {
          const std::uint32_t before = steps.schedule.dependencies[transfer.first_dependency + d];
          fmt::print(out_, "l{} requires l{}\n", label_, label_of.at(before));
        }
        auto& last = on_channel[transfer.channel];
        if (last != 0) fmt::print(out_, "l{} requires l{}\n", label_, last);
        last = label_;
      }
      const std::uint64_t join = open_join();
      fmt::print(out_, "l{} requires l{}\n", join, begin);
      for (const auto& [transfer, label] : label_of)
        fmt::print(out_, "l{} requires l{}\n", join, label);
      begin = join;
    }
    end_of_[t] = begin;
  }

  /// A join costs nothing, on a processor of its own so that no computation holds it up.
  std::uint64_t open_join() {
    fmt::print(out_, "l{}: calc 0 cpu 1\n", ++label_);
    return label_;
  }

  const IterationDag& dag_;
  const RankTasks& tasks_;
  std::ostream& out_;
  std::uint32_t rank_ = 0;
  std::uint64_t label_ = 0;
  std::vector<std::uint64_t> first_tag_;
  std::map<std::uint32_t, std::uint64_t> end_of_;
  /// choice, operation, size, members, shares, by source
  using Key = std::tuple<std::string, int, std::int64_t, std::size_t, std::uint32_t, bool>;
  std::map<Key, std::unique_ptr<Steps>> steps_;
};

}  // namespace

void write_goal(const Recording& recording, const OpenTraceFile& open) {
  const RankTasks tasks(recording.dag);
  const auto out = open(0);
  GoalWriter(recording.dag, tasks, *out).write();
}

}  // namespace railyard::workload
