// Chakra execution traces, as astra-sim's feeder reads them: integers as int64, one file a rank.
//
// Chakra counts whole microseconds: durations are rounded to them, and the exact ones stand in the
// attribute railyard_ticks (of 10 ps), which only our reader knows. Groups that are not all ranks
// are defined by a metadata node process_group:init. A collective that is repeated is written so
// many times. Algorithms are not said: peers choose theirs. A group's operations are one sequence.
#include <protozero/pbf_writer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"
#include "workload/chakra_numbers.hpp"
#include "workload/writers/rank_tasks.hpp"

namespace railyard::workload {
namespace {

using collective::Operation;
using protozero::pbf_writer;

void put_framed(std::ostream& out, const std::string& message) {
  std::string length;
  protozero::write_varint(std::back_inserter(length), message.size());
  out << length << message;
}

void put_attribute(pbf_writer& node, const char* name, std::int64_t value) {
  pbf_writer attribute(node, 10);
  attribute.add_string(1, name);
  attribute.add_int64(9, value);
}

std::int64_t comm_type(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return chakra::kAllReduce;
    case Operation::all_gather:
      return chakra::kAllGather;
    case Operation::broadcast:
      return chakra::kBroadcast;
    case Operation::all_to_all:
      return chakra::kAllToAll;
    case Operation::reduce_scatter:
      return chakra::kReduceScatter;
    case Operation::reduce:
      return chakra::kReduce;
    case Operation::barrier:
      return chakra::kBarrier;
    case Operation::send_recv:
      break;
  }
  throw config::ConfigError(
      "Chakra has no collective \"send_recv\": it knows sends and receives only; use tasks that "
      "send");
}

class RankWriter {
 public:
  RankWriter(const IterationDag& dag, const RankTasks& tasks, std::ostream& out, std::uint32_t rank)
      : dag_(dag), tasks_(tasks), out_(out), rank_(rank) {}

  void write() {
    std::string metadata;
    pbf_writer(metadata).add_string(1, "0.0.4");
    put_framed(out_, metadata);
    write_groups();
    for (const std::uint32_t task : tasks_.tasks_of(rank_)) write_task(task);
  }

 private:
  void write_groups() {
    std::string list;
    for (std::size_t g = 0; g < dag_.groups.size(); ++g) {
      std::string ranks;
      bool mine = false;
      for (const Rank rank : dag_.groups[g]) {
        mine = mine || rank == Rank{rank_};
        ranks += fmt::format("{}{}", ranks.empty() ? "" : ",", index(rank));
      }
      if (!mine) continue;
      list += fmt::format("{}{{\"pg_name\":\"{}\",\"ranks\":[{}]}}", list.empty() ? "" : ",", g + 1,
                          ranks);
    }
    if (list.empty()) return;
    std::string node = begin(chakra::kMetadata, "## process_group:init ##");
    pbf_writer message(node);
    pbf_writer(message, 8).add_string(1, fmt::format("[{}]", list));
    put_framed(out_, node);
  }

  std::string begin(std::uint32_t type, std::string_view name) {
    std::string node;
    pbf_writer message(node);
    if (next_id_ != 0) message.add_uint64(1, next_id_);
    ++next_id_;
    message.add_string(2, name.data(), name.size());
    message.add_enum(3, static_cast<std::int32_t>(type));
    return node;
  }

  void put_waits(pbf_writer& message, std::uint32_t task) {
    ids_.clear();
    for (const RankTasks::Wait& wait : tasks_.waits(task)) {
      // What only the other ranks of this task take part in, they wait for.
      if (const auto node = node_of_.find(wait.task); node != node_of_.end())
        ids_.push_back(node->second);
    }
    message.add_packed_uint64(5, ids_.begin(), ids_.end());
  }

  void write_task(std::uint32_t t) {
    const Task& task = dag_.tasks[t];
    const bool sends = task.kind == TaskKind::send && tasks_.is_sender(t, rank_);
    for (std::uint32_t i = 0; i < task.repeat; ++i) {
      const std::uint32_t type = has_duration(task.kind)             ? chakra::kCompute
                                 : task.kind == TaskKind::collective ? chakra::kCollective
                                 : sends                             ? chakra::kSend
                                                                     : chakra::kReceive;
      std::string node = begin(type, fmt::format("task {}", t));
      pbf_writer message(node);
      if (i == 0 && type != chakra::kReceive) put_waits(message, t);
      if (i > 0) {
        const std::uint64_t before = next_id_ - 2;
        message.add_packed_uint64(5, &before, &before + 1);
      }
      put_what(message, t, type);
      put_framed(out_, node);
    }
    node_of_[t] = next_id_ - 1;
  }

  void put_what(pbf_writer& message, std::uint32_t t, std::uint32_t type) {
    const Task& task = dag_.tasks[t];
    if (type == chakra::kCompute) {
      constexpr std::int64_t kTicksPerMicrosecond = 100'000;
      message.add_uint64(
          7, static_cast<std::uint64_t>((task.duration.count() + kTicksPerMicrosecond / 2) /
                                        kTicksPerMicrosecond));
      put_attribute(message, "railyard_ticks", task.duration.count());
    }
    {
      pbf_writer attribute(message, 10);
      attribute.add_string(1, "is_cpu_op");
      attribute.add_bool(27, task.kind == TaskKind::host);
    }
    if (type == chakra::kCompute) return;
    if (type == chakra::kCollective) {
      const auto members = static_cast<std::int64_t>(dag_.groups[task.group].size());
      const bool shard = task.operation == Operation::all_gather;
      if (task.shares != 0) {
        throw config::ConfigError(fmt::format(
            "task {}: Chakra has no all_to_all with unequal shares; leave out \"expert_load\"", t));
      }
      if (shard && task.size.count() % members != 0) {
        throw config::ConfigError(
            fmt::format("task {}: an all_gather of {} bytes has no whole shard for each of {} "
                        "ranks, which is what Chakra states",
                        t, task.size.count(), members));
      }
      put_attribute(message, "comm_type", comm_type(task.operation));
      put_attribute(message, "comm_size", task.size.count() / (shard ? members : 1));
      pbf_writer attribute(message, 10);
      attribute.add_string(1, "pg_name");
      attribute.add_string(29, fmt::format("{}", task.group + 1));
      return;
    }
    put_attribute(message, "comm_size", task.size.count());
    put_attribute(message, "comm_tag", t);
    put_attribute(message, "comm_src", type == chakra::kSend ? rank_ : tasks_.partner(t, rank_));
    put_attribute(message, "comm_dst", type == chakra::kSend ? tasks_.partner(t, rank_) : rank_);
  }

  const IterationDag& dag_;
  const RankTasks& tasks_;
  std::ostream& out_;
  std::uint32_t rank_;
  std::uint64_t next_id_ = 0;
  std::map<std::uint32_t, std::uint64_t> node_of_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace

void write_chakra(const Recording& recording, const OpenTraceFile& open) {
  const RankTasks tasks(recording.dag);
  for (std::uint32_t rank = 0; rank < recording.dag.ranks; ++rank) {
    const auto out = open(rank);
    RankWriter(recording.dag, tasks, *out, rank).write();
  }
}

}  // namespace railyard::workload
