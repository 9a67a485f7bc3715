#include "railyard/workload/compression.hpp"

#include <map>
#include <utility>

#include "railyard/config/document.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {
namespace {

using Tasks = std::vector<std::uint32_t>;

bool reduces_gradients(const Task& task) {
  return task.kind == TaskKind::collective && task.cause == Cause::data &&
         (task.operation == collective::Operation::all_reduce ||
          task.operation == collective::Operation::reduce_scatter);
}

class Compressor {
 public:
  Compressor(const IterationDag& dag, const Compression& compression, std::int64_t gradient_bytes,
             const GpuSpec& gpu)
      : dag_(dag),
        compression_(compression),
        gradient_bytes_(gradient_bytes),
        actor_of_rank_(dag.ranks),
        ticks_per_byte_(kTicksPerSecond / (static_cast<double>(gpu.memory_bandwidth.bytes_per_s()) *
                                           gpu.memory_efficiency)) {
    for (std::uint32_t actor = 0; actor < dag.actors.size(); ++actor) {
      for (const Rank rank : dag.actors[actor]) actor_of_rank_[index(rank)] = actor;
    }
  }

  IterationDag run() {
    IterationDag& out = builder_.dag();
    out = dag_;
    out.tasks.clear();
    out.dependencies.clear();
    for (const Task& task : dag_.tasks) {
      Tasks dependencies;
      for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
        const Tasks& ends = ends_[dag_.dependencies[task.first_dependency + d]];
        dependencies.insert(dependencies.end(), ends.begin(), ends.end());
      }
      ends_.push_back(reduces_gradients(task) ? add_compressed(task, dependencies)
                                              : Tasks{builder_.add(task, dependencies)});
    }
    return std::move(out);
  }

 private:
  /// Returns the tasks whose ends are the end of the reduction.
  Tasks add_compressed(const Task& task, Tasks dependencies) {
    const GradientReduction reduction{task.operation, task.size * task.repeat, gradient_bytes_,
                                      static_cast<std::uint32_t>(dag_.groups[task.group].size())};
    if (const std::string reason = compression_.refusal(reduction); !reason.empty())
      throw config::ConfigError(reason);
    const CompressedReduction what = compression_.compressed(reduction);
    dependencies = {add_coding(task, what.encoding, dependencies)};
    for (const CompressedPiece& piece : what.pieces) {
      Task part = task;
      part.operation = piece.operation;
      part.size = piece.size;
      part.repeat = 1;
      dependencies = piece.local == 0 ? Tasks{builder_.add(part, dependencies)}
                                      : add_local(part, piece.local, dependencies);
    }
    return {add_coding(task, what.decoding, dependencies)};
  }

  /// On every GPU of the group at once, in the order of the reductions.
  std::uint32_t add_coding(const Task& reduction, Bytes touched, const Tasks& dependencies) {
    Task task;
    task.kind = TaskKind::host;
    task.cause = Cause::data;
    task.stream = reduction.stream;
    task.actor = reduction.actor;
    task.duration = to_ticks(static_cast<double>(touched.count()) * ticks_per_byte_);
    return builder_.add(task, dependencies);
  }

  /// The same within each part of so many consecutive ranks, all at once: on a stream a part.
  Tasks add_local(const Task& whole, std::uint32_t ranks, const Tasks& dependencies) {
    Tasks out;
    const LocalGroups& groups = local_groups(whole, ranks);
    for (std::uint32_t g = 0; g < groups.count; ++g) {
      Task part = whole;
      part.group = groups.first_group + g;
      part.stream = groups.first_stream + g;
      part.actor = actor_of_rank_[index(builder_.dag().groups[part.group].front())];
      out.push_back(builder_.add(part, dependencies));
    }
    return out;
  }

  struct LocalGroups {
    std::uint32_t first_group = 0;
    std::uint32_t first_stream = 0;
    std::uint32_t count = 0;
  };
  const LocalGroups& local_groups(const Task& whole, std::uint32_t ranks) {
    const auto [found, inserted] = local_.try_emplace({whole.group, whole.stream});
    LocalGroups& groups = found->second;
    if (!inserted) return groups;
    IterationDag& out = builder_.dag();
    const std::vector<Rank> members = out.groups[whole.group];
    groups.first_group = static_cast<std::uint32_t>(out.groups.size());
    groups.first_stream = out.streams;
    groups.count = static_cast<std::uint32_t>(members.size()) / ranks;
    for (std::uint32_t g = 0; g < groups.count; ++g) {
      const auto begin = members.begin() + static_cast<std::ptrdiff_t>(g) * ranks;
      out.groups.emplace_back(begin, begin + ranks);
    }
    out.streams += groups.count;
    return groups;
  }

  const IterationDag& dag_;
  const Compression& compression_;
  std::int64_t gradient_bytes_;
  std::vector<std::uint32_t> actor_of_rank_;
  double ticks_per_byte_;
  DagBuilder builder_;
  std::vector<Tasks> ends_;  ///< by task of the given DAG
  std::map<std::pair<std::uint32_t, std::uint32_t>, LocalGroups> local_;
};

}  // namespace

IterationDag compress(const IterationDag& dag, const Compression& compression,
                      std::int64_t gradient_bytes, const GpuSpec& gpu) {
  RAILYARD_CHECK(gradient_bytes > 0, "gradients of {} bytes", gradient_bytes);
  return Compressor(dag, compression, gradient_bytes, gpu).run();
}

}  // namespace railyard::workload
