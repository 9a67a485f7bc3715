#include "step_classes.hpp"

#include <bit>
#include <memory>
#include <utility>

#include "engine.hpp"
#include "railyard/core/check.hpp"

namespace railyard::training {

StepClasses::Key StepClasses::key_of(const SteppedCollective& form, std::uint32_t repeat) const {
  Key key{repeat, form.steps.size()};
  std::map<LinkId, std::uint64_t> names;
  for (const SteppedCollective::Step& step : form.steps) {
    key.push_back(static_cast<std::uint64_t>(step.flow.size.count()));
    key.push_back(static_cast<std::uint64_t>(step.latency.count()));
    key.push_back((static_cast<std::uint64_t>(step.dependent_count) << 32U) |
                  step.dependency_count);
    key.push_back((static_cast<std::uint64_t>(step.next_on_channel) << 1U) |
                  (step.first_on_channel ? 1U : 0U));
    const BoundRoute& route = program_.routes[step.flow.route];
    key.push_back(route.links.size());
    for (const topology::LinkUse& use : route.links) {
      const auto [known, first] = names.try_emplace(use.link, names.size());
      key.push_back(known->second);
      key.push_back(std::bit_cast<std::uint64_t>(use.usage));
      if (!first) continue;
      key.push_back(std::bit_cast<std::uint64_t>(topology_.link(use.link).capacity));
    }
  }
  key.insert(key.end(), form.dependents.begin(), form.dependents.end());
  return key;
}

Duration StepClasses::by_itself(SteppedCollective form) const {
  auto dag = std::make_shared<workload::IterationDag>();
  dag->streams = 1;
  workload::Task task;
  task.kind = workload::TaskKind::collective;
  dag->tasks.push_back(task);

  auto program = std::make_shared<Program>();
  std::map<std::uint32_t, std::uint32_t> routes;
  for (SteppedCollective::Step& step : form.steps) {
    const auto next = static_cast<std::uint32_t>(program->routes.size());
    const auto [known, first] = routes.try_emplace(step.flow.route, next);
    if (first) program->routes.push_back(program_.routes[step.flow.route]);
    step.flow.route = known->second;
  }
  Activity activity;
  activity.stepped = 1;
  program->dag = std::move(dag);
  program->model = program_.model;
  program->stepped.push_back(std::move(form));
  program->activities.push_back(activity);
  program->activity_of_task = {1};
  program->chain = {1};
  program->first_dependent = {0, 0};
  program->first_in_stream = {0, 1};
  program->stream_tasks = {0};
  const std::shared_ptr<const Program> alone = std::move(program);
  const RouteTable table(std::span(&alone, 1), topology_, true);
  Engine engine(std::span(&alone, 1), topology_, table);
  const Duration offset{};
  engine.run(std::span(&offset, 1), [](std::uint32_t) { return false; });
  RAILYARD_CHECK(!engine.job(0).iterations.empty(), "a stepped collective never ends");
  return engine.job(0).iterations.front();
}

}  // namespace railyard::training
