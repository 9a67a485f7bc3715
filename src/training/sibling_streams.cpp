#include "sibling_streams.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "activity_flows.hpp"
#include "railyard/core/rng.hpp"

namespace railyard::training {
namespace {

using workload::Task;

constexpr std::uint32_t kNobody = ~std::uint32_t{0};
constexpr std::uint32_t kSeveral = kNobody - 1;

/// By route: the one stream that uses it, kNobody or kSeveral.
std::vector<std::uint32_t> users_of_routes(const Program& program) {
  std::vector<std::uint32_t> user(program.routes.size(), kNobody);
  const auto add = [&](std::uint32_t route, std::uint32_t stream) {
    user[route] = user[route] == kNobody || user[route] == stream ? stream : kSeveral;
  };
  for (std::size_t t = 0; t < program.activity_of_task.size(); ++t) {
    const std::uint32_t id = program.activity_of_task[t];
    if (id == 0 || program.activities[id - 1].timed) continue;
    for_each_flow(program, program.activities[id - 1],
                  [&](const BoundFlow& flow) { add(flow.route, program.dag->tasks[t].stream); });
  }
  return user;
}

bool is_candidate(const Program& program, std::uint32_t stream,
                  const std::vector<std::uint32_t>& user) {
  for (std::uint32_t at = program.first_in_stream[stream]; at < program.first_in_stream[stream + 1];
       ++at) {
    const std::uint32_t id = program.activity_of_task[program.stream_tasks[at]];
    if (id == 0) return false;
    const Activity& activity = program.activities[id - 1];
    if (activity.timed || activity.stepped != 0 || activity.flow_count != 1) return false;
    if (user[program.flows[activity.first_flow].route] != stream) return false;
  }
  return program.first_in_stream[stream] < program.first_in_stream[stream + 1];
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program), dag_(*program.dag) {
    const std::vector<std::uint32_t> user = users_of_routes(program);
    candidate_.resize(dag_.streams);
    position_.resize(dag_.tasks.size());
    for (std::uint32_t s = 0; s < dag_.streams; ++s) {
      candidate_[s] = is_candidate(program, s, user);
      for (std::uint32_t at = program.first_in_stream[s]; at < program.first_in_stream[s + 1]; ++at)
        position_[program.stream_tasks[at]] = at - program.first_in_stream[s];
    }
  }

  [[nodiscard]] std::vector<SiblingStream> find() {
    std::map<std::uint64_t, std::vector<SiblingStream>> families;
    for (std::uint32_t s = 0; s < dag_.streams; ++s) {
      if (!candidate_[s]) continue;
      SiblingStream stream = described(s);
      families[stream.family].push_back(std::move(stream));
    }
    std::vector<SiblingStream> out;
    for (auto& [family, streams] : families) {
      if (streams.size() > 1) std::move(streams.begin(), streams.end(), std::back_inserter(out));
    }
    std::vector<std::uint32_t> place(dag_.streams, kNoSibling);
    for (std::uint32_t i = 0; i < out.size(); ++i) place[out[i].stream] = i;
    for (SiblingStream& one : out) add_waits(one, place);
    return out;
  }

 private:
  /// What a stream does, whatever links it uses; its waits for other candidates are added later.
  [[nodiscard]] SiblingStream described(std::uint32_t stream) const {
    SiblingStream out;
    out.stream = stream;
    std::uint64_t hash = 0;
    for (std::uint32_t at = program_.first_in_stream[stream];
         at < program_.first_in_stream[stream + 1]; ++at) {
      const std::uint32_t t = program_.stream_tasks[at];
      const Task& task = dag_.tasks[t];
      const Activity& activity = program_.activities[program_.activity_of_task[t] - 1];
      const BoundFlow& flow = program_.flows[activity.first_flow];
      out.routes.push_back(flow.route);
      out.sizes.push_back(flow.size.count());
      for (const std::uint64_t word :
           {static_cast<std::uint64_t>(task.kind), static_cast<std::uint64_t>(task.cause),
            static_cast<std::uint64_t>(flow.size.count()),
            static_cast<std::uint64_t>(activity.tail.count())})
        hash = mix64(hash ^ word);
      std::uint64_t waits = 0;
      for (const std::uint32_t d : dependencies(task)) {
        if (!candidate_[dag_.tasks[d].stream]) waits += mix64(std::uint64_t{d} + 1);
      }
      hash = mix64(hash ^ waits);
    }
    out.family = hash;
    return out;
  }

  void add_waits(SiblingStream& one, const std::vector<std::uint32_t>& place) const {
    for (std::uint32_t at = program_.first_in_stream[one.stream];
         at < program_.first_in_stream[one.stream + 1]; ++at) {
      const std::uint32_t t = program_.stream_tasks[at];
      for (const std::uint32_t d : dependencies(dag_.tasks[t])) {
        const std::uint32_t other = dag_.tasks[d].stream;
        if (!candidate_[other] || other == one.stream) continue;
        // Of a stream without siblings the task itself is meant.
        const std::uint64_t which =
            place[other] == kNoSibling ? dag_.tasks.size() + d : position_[d];
        one.waits.push_back({mix64(position_[t]) ^ which, place[other]});
      }
    }
  }

  [[nodiscard]] std::span<const std::uint32_t> dependencies(const Task& task) const {
    return {dag_.dependencies.data() + task.first_dependency, task.dependency_count};
  }

  const Program& program_;
  const workload::IterationDag& dag_;
  std::vector<bool> candidate_;
  std::vector<std::uint32_t> position_;
};

}  // namespace

std::vector<SiblingStream> sibling_streams(const Program& program) {
  return Finder(program).find();
}

}  // namespace railyard::training
