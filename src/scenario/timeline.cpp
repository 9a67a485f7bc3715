// One iteration as rows of bars: rank groups and links.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "railyard/core/check.hpp"
#include "railyard/training/program.hpp"
#include "recording.hpp"
#include "world.hpp"

namespace railyard::scenario {
namespace {

using metrics::Timeline;
using workload::IterationDag;
using workload::Task;
using workload::TaskKind;

/// "rank 3", "ranks 0–7", "ranks 0, 8, 16": what fits.
std::string ranks_text(const std::vector<Rank>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", index(ranks.front()));
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
  if (index(*most) - index(*least) + 1 == ranks.size())
    return fmt::format("ranks {}–{}", index(*least), index(*most));
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < 4; ++i)
    out += fmt::format("{}{}", i == 0 ? "ranks " : ", ", index(ranks[i]));
  return ranks.size() > 4 ? fmt::format("{}, … ({})", out, ranks.size()) : out;
}

class Drawing {
 public:
  Drawing(const training::Program& program, const topology::Topology& topology,
          const std::vector<workload::TaskTimes>& times)
      : program_(program), dag_(*program.dag), topology_(topology), times_(times) {
    RAILYARD_CHECK(times.size() == dag_.tasks.size(), "{} times for {} tasks", times.size(),
                   dag_.tasks.size());
  }

  /// The tasks of those actors only, and no links.
  Timeline draw_actors(const std::vector<bool>& wanted) {
    for (std::uint32_t t = 0; t < dag_.tasks.size(); ++t) {
      if (wanted[dag_.tasks[t].actor]) draw_task(t);
    }
    return std::move(out_);
  }

  Timeline draw(std::string title) {
    out_.title = std::move(title);
    for (const topology::Link& link : topology_.links())
      lowest_ = std::max(lowest_, std::min(link.tier, topology::Tier::minipod));
    for (std::uint32_t t = 0; t < dag_.tasks.size(); ++t) {
      draw_task(t);
      use_links(t);
    }
    draw_links();
    return std::move(out_);
  }

 private:
  struct Use {
    Duration start{};
    Duration end{};
    double bytes = 0;
    std::size_t tasks = 1;
  };

  std::uint32_t row(const std::string& group, const std::string& name) {
    const auto fresh = static_cast<std::uint32_t>(out_.rows.size());
    const auto [at, inserted] = rows_.try_emplace({group, name}, fresh);
    if (inserted) out_.rows.push_back({group, name});
    return at->second;
  }

  void draw_task(std::uint32_t t) {
    static constexpr std::string_view kCauses[] = {"compute", "tensor",  "pipeline",
                                                   "data",    "context", "expert"};
    const Task& task = dag_.tasks[t];
    if (task.kind == TaskKind::barrier) return;
    const std::string group = ranks_text(dag_.actors[task.actor]);
    metrics::TimelineBar bar;
    bar.start = times_[t].start;
    bar.end = times_[t].end;
    bar.category = kCauses[static_cast<std::size_t>(task.cause)];
    bar.facts = {{"task", fmt::format("{}", t)}};
    const bool communicates = !workload::has_duration(task.kind);
    if (task.kind == TaskKind::compute) bar.name = "compute";
    if (task.kind == TaskKind::host)
      bar.name = task.cause == workload::Cause::data ? "coding" : "host";
    if (task.kind == TaskKind::send)
      bar.name = fmt::format("send to {}", ranks_text(dag_.actors[task.peer]));
    if (task.kind == TaskKind::collective) {
      bar.name = std::string(collective::name(task.operation));
      bar.facts.emplace_back("group", ranks_text(dag_.groups[task.group]));
      bar.facts.emplace_back("repeat", fmt::format("{}", task.repeat));
    }
    if (communicates) bar.facts.emplace_back("bytes", fmt::format("{}", task.size.count()));
    bar.row = row(
        group, fmt::format("{} (stream {})", communicates ? bar.category : bar.name, task.stream));
    out_.bars.push_back(std::move(bar));
  }

  void use_links(std::uint32_t t) {
    const std::uint32_t id = program_.activity_of_task[t];
    if (id == 0 || program_.by_load) return;  // which links its flows chose is not kept
    const training::Activity& activity = program_.activities[id - 1];
    std::map<LinkId, double> bytes;
    const auto add = [&](const training::BoundFlow& flow) {
      for (const topology::LinkUse& use : program_.routes[flow.route].links) {
        if (topology_.link(use.link).tier < lowest_) continue;
        bytes[use.link] += use.usage * static_cast<double>(flow.size.count());
      }
    };
    for (std::uint32_t f = 0; f < activity.flow_count; ++f)
      add(program_.flows[activity.first_flow + f]);
    if (activity.stepped != 0) {
      for (const auto& step : program_.stepped[activity.stepped - 1].steps) add(step.flow);
    }
    const Duration end = std::max(times_[t].start, times_[t].end - activity.tail);
    for (const auto& [link, amount] : bytes)
      uses_[link].push_back({times_[t].start, end, amount, 1});
  }

  /// What overlaps on a link is one bar: the link was in use.
  void draw_links() {
    for (auto& [link, uses] : uses_) {
      std::stable_sort(uses.begin(), uses.end(),
                       [](const Use& a, const Use& b) { return a.start < b.start; });
      std::vector<Use> merged;
      for (const Use& use : uses) {
        if (!merged.empty() && use.start <= merged.back().end) {
          merged.back().end = std::max(merged.back().end, use.end);
          merged.back().bytes += use.bytes;
          merged.back().tasks += use.tasks;
        } else {
          merged.push_back(use);
        }
      }
      const auto on = row(fmt::format("links: {}", topology::name(topology_.link(link).tier)),
                          topology_.link_name(link));
      for (const Use& use : merged) {
        metrics::TimelineBar bar;
        bar.row = on;
        bar.start = use.start;
        bar.end = use.end;
        bar.name = "busy";
        const double capacity = static_cast<double>(topology_.link(link).capacity.bytes_per_s());
        const double seconds = in_seconds(use.end - use.start);
        bar.facts = {
            {"bytes", fmt::format("{:.0f}", use.bytes)},
            {"tasks", fmt::format("{}", use.tasks)},
            {"share", fmt::format("{:.3f}", seconds > 0 ? use.bytes / seconds / capacity : 0.0)}};
        out_.bars.push_back(std::move(bar));
      }
    }
  }

  const training::Program& program_;
  const IterationDag& dag_;
  const topology::Topology& topology_;
  const std::vector<workload::TaskTimes>& times_;
  Timeline out_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> rows_;
  std::map<LinkId, std::vector<Use>> uses_;
  /// Links between switches are drawn, or the highest there are: those of every GPU would hide
  /// them.
  topology::Tier lowest_ = topology::Tier::nvlink;
};

}  // namespace

Timeline timeline(const workload::Recording& recording) {
  const BoundRecording bound = bind_recording(recording);
  return Drawing(*bound.program, bound.world.topology, recording.times).draw("");
}

Timeline pipeline_timeline(const Spec& spec, std::size_t policy) {
  const World& world = spec.world();
  const workload::Recording recording = record(spec, policy);
  const BoundRecording bound = bind_recording(recording);
  const scheduler::GangShape& shape = world.jobs.front().shape;
  // Rank = tensor + TP · (data + DP · stage).
  const auto of_first_replica = [&](Rank rank) {
    return index(rank) % shape.tensor == 0 && index(rank) / shape.tensor % shape.data == 0;
  };
  std::vector<bool> wanted;
  for (const auto& ranks : recording.dag.actors)
    wanted.push_back(std::any_of(ranks.begin(), ranks.end(), of_first_replica));
  Timeline out = Drawing(*bound.program, bound.world.topology, recording.times).draw_actors(wanted);
  out.title = world.policies[policy].name;
  return out;
}

Timeline timeline(const Spec& spec, std::size_t policy) {
  const World& world = spec.world();
  Timeline out = timeline(record(spec, policy));
  out.title = fmt::format("{}, {}: ", world.policies[policy].name, world.jobs.front().name);
  return out;
}

}  // namespace railyard::scenario
