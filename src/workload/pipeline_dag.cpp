#include "workload/pipeline_dag.hpp"

#include <algorithm>
#include <array>

#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// One pass of one micro-batch.
struct Pass {
  bool forward = true;
  std::uint32_t micro_batch = 0;
};

std::vector<Pass> one_forward_one_backward(std::uint32_t stage, std::uint32_t stages,
                                           std::uint32_t micro_batches) {
  const std::uint32_t warm_up = std::min(stages - stage - 1, micro_batches);
  std::vector<Pass> passes;
  passes.reserve(std::size_t{2} * micro_batches);
  for (std::uint32_t i = 0; i < warm_up; ++i) passes.push_back({true, i});
  for (std::uint32_t i = warm_up; i < micro_batches; ++i) {
    passes.push_back({true, i});
    passes.push_back({false, i - warm_up});
  }
  for (std::uint32_t i = micro_batches - warm_up; i < micro_batches; ++i)
    passes.push_back({false, i});
  return passes;
}

class PipelineBuilder {
 public:
  explicit PipelineBuilder(const PipelinePlan& plan)
      : plan_(plan),
        t_(plan.parallelism.tensor),
        p_(plan.parallelism.pipeline),
        d_(plan.parallelism.data) {
    RAILYARD_CHECK(plan.stages.size() == p_, "{} stages planned, {} asked for", plan.stages.size(),
                   p_);
    RAILYARD_CHECK(plan.micro_batches > 0, "an iteration of no micro-batches");
    for (const StagePlan& stage : plan.stages)
      RAILYARD_CHECK(!stage.backward.empty(), "a stage without a backward pass");
    lay_out();
  }

  IterationDag build() {
    segment_computes_.assign(std::size_t{p_} * d_, {});
    for (std::uint32_t data = 0; data < d_; ++data) add_replica(data);
    if (d_ > 1) {
      for (std::uint32_t stage = 0; stage < p_; ++stage) add_gradient_reductions(stage);
    }
    if (plan_.tied_gradients > Bytes(0) && p_ > 1) add_tied_reductions();
    for (std::uint32_t stage = 0; stage < p_; ++stage) add_optimizers(stage);
    return std::move(builder_.dag());
  }

 private:
  [[nodiscard]] std::uint32_t actor_of(std::uint32_t data, std::uint32_t stage) const {
    return data + d_ * stage;
  }
  [[nodiscard]] Rank rank_of(std::uint32_t tensor, std::uint32_t actor) const {
    return Rank{tensor + t_ * actor};
  }
  [[nodiscard]] std::uint32_t compute_stream(std::uint32_t actor) const { return 3 * actor; }
  [[nodiscard]] std::uint32_t send_stream(std::uint32_t actor, bool forward) const {
    return 3 * actor + (forward ? 1 : 2);
  }
  [[nodiscard]] std::uint32_t data_stream(std::uint32_t stage, std::uint32_t tensor) const {
    return 3 * d_ * p_ + stage * t_ + tensor;
  }
  [[nodiscard]] std::uint32_t tied_stream(std::uint32_t data, std::uint32_t tensor) const {
    return (3 * d_ + t_) * p_ + data * t_ + tensor;
  }

  void lay_out() {
    IterationDag& dag = builder_.dag();
    dag.ranks = plan_.parallelism.ranks();
    const std::uint32_t actors = d_ * p_;
    for (std::uint32_t actor = 0; actor < actors; ++actor) {
      std::vector<Rank> ranks;
      for (std::uint32_t tensor = 0; tensor < t_; ++tensor) ranks.push_back(rank_of(tensor, actor));
      dag.actors.push_back(std::move(ranks));
    }
    dag.streams = 3 * actors;
    if (t_ > 1) dag.groups = dag.actors;
    first_data_group_ = static_cast<std::uint32_t>(dag.groups.size());
    if (d_ > 1) {
      for (std::uint32_t stage = 0; stage < p_; ++stage) {
        for (std::uint32_t tensor = 0; tensor < t_; ++tensor) {
          std::vector<Rank> ranks;
          for (std::uint32_t data = 0; data < d_; ++data)
            ranks.push_back(rank_of(tensor, actor_of(data, stage)));
          dag.groups.push_back(std::move(ranks));
        }
      }
    }
    dag.streams += p_ * t_;
    first_tied_group_ = static_cast<std::uint32_t>(dag.groups.size());
    if (plan_.tied_gradients > Bytes(0) && p_ > 1) {
      for (std::uint32_t data = 0; data < d_; ++data) {
        for (std::uint32_t tensor = 0; tensor < t_; ++tensor) {
          dag.groups.push_back(
              {rank_of(tensor, actor_of(data, 0)), rank_of(tensor, actor_of(data, p_ - 1))});
        }
      }
      dag.streams += d_ * t_;
    }
  }

  std::uint32_t add(Task task, std::uint32_t dependency = kNone) {
    return builder_.add(
        task, dependency == kNone ? std::span<const std::uint32_t>() : std::span(&dependency, 1));
  }
  std::uint32_t add_compute(std::uint32_t actor, Duration duration, std::uint32_t dependency) {
    Task task;
    task.stream = compute_stream(actor);
    task.actor = actor;
    task.duration = duration;
    return add(task, dependency);
  }
  std::uint32_t add_tensor_collective(std::uint32_t actor, collective::Operation operation,
                                      Cause cause, std::uint32_t repeat, std::uint32_t dependency) {
    Task task;
    task.kind = TaskKind::collective;
    task.cause = cause;
    task.operation = operation;
    task.stream = compute_stream(actor);
    task.actor = actor;
    task.group = actor;
    task.repeat = repeat;
    task.size = plan_.activation;
    return add(task, dependency);
  }

  /// What arrives is whole on every tensor rank before compute starts. Returns what compute waits
  /// for beside its stream.
  std::uint32_t receive(std::uint32_t actor, std::uint32_t send) {
    if (send == kNone || t_ == 1 || !plan_.scatter_sends) return send;
    add_tensor_collective(actor, collective::Operation::all_gather, Cause::pipeline, 1, send);
    return kNone;
  }
  /// Compute and the tensor all-reduces behind it; returns {compute, last task}.
  std::array<std::uint32_t, 2> add_work(std::uint32_t actor, Duration duration,
                                        std::uint32_t all_reduces, std::uint32_t dependency) {
    const std::uint32_t compute = add_compute(actor, duration, dependency);
    if (t_ == 1 || all_reduces == 0) return {compute, compute};
    return {compute, add_tensor_collective(actor, collective::Operation::all_reduce, Cause::tensor,
                                           all_reduces, kNone)};
  }
  std::uint32_t add_send(std::uint32_t actor, std::uint32_t peer, bool forward,
                         std::uint32_t dependency) {
    Task task;
    task.kind = TaskKind::send;
    task.cause = Cause::pipeline;
    task.stream = send_stream(actor, forward);
    task.actor = actor;
    task.peer = peer;
    task.size = plan_.scatter_sends ? plan_.activation.divided_up(t_) : plan_.activation;
    return add(task, dependency);
  }

  /// Adds the pass; `sends[stage]` of the neighbour it receives from is known.
  void add_pass(std::uint32_t data, std::uint32_t stage, Pass pass) {
    const std::uint32_t actor = actor_of(data, stage);
    const StagePlan& plan = plan_.stages[stage];
    if (pass.forward) {
      const std::uint32_t from = stage == 0 ? kNone : forward_sends_[stage - 1][pass.micro_batch];
      const auto work =
          add_work(actor, plan.forward, plan.forward_all_reduces, receive(actor, from));
      forward_sends_[stage].push_back(
          stage + 1 == p_ ? work[1] : add_send(actor, actor_of(data, stage + 1), true, work[1]));
      return;
    }
    const std::uint32_t from =
        stage + 1 == p_ ? kNone : backward_sends_[stage + 1][pass.micro_batch];
    std::uint32_t dependency = receive(actor, from);
    std::uint32_t last = kNone;
    if (pass.micro_batch + 1 == plan_.micro_batches && d_ > 1) {
      for (const BackwardSegment& segment : plan.backward) {
        const auto work = add_work(actor, segment.duration, segment.tensor_all_reduces, dependency);
        segment_computes_[actor].push_back(work[0]);
        last = work[1];
        dependency = kNone;
      }
    } else {
      BackwardSegment whole;
      for (const BackwardSegment& segment : plan.backward) {
        whole.duration += segment.duration;
        whole.tensor_all_reduces += segment.tensor_all_reduces;
      }
      const auto work = add_work(actor, whole.duration, whole.tensor_all_reduces, dependency);
      last = work[1];
      if (pass.micro_batch + 1 == plan_.micro_batches) segment_computes_[actor].push_back(work[0]);
    }
    backward_sends_[stage].push_back(
        stage == 0 ? last : add_send(actor, actor_of(data, stage - 1), false, last));
  }

  /// All passes of one replica, in an order in which what is received was sent before.
  void add_replica(std::uint32_t data) {
    forward_sends_.assign(p_, {});
    backward_sends_.assign(p_, {});
    std::vector<std::vector<Pass>> passes;
    for (std::uint32_t stage = 0; stage < p_; ++stage) {
      passes.push_back(one_forward_one_backward(stage, p_, plan_.micro_batches));
    }
    std::vector<std::size_t> next(p_, 0);
    std::size_t left = std::size_t{2} * plan_.micro_batches * p_;
    while (left > 0) {
      const std::size_t before = left;
      for (std::uint32_t stage = 0; stage < p_; ++stage) {
        while (next[stage] < passes[stage].size()) {
          const Pass pass = passes[stage][next[stage]];
          const bool ready =
              pass.forward
                  ? stage == 0 || forward_sends_[stage - 1].size() > pass.micro_batch
                  : stage + 1 == p_ || backward_sends_[stage + 1].size() > pass.micro_batch;
          if (!ready) break;
          add_pass(data, stage, pass);
          ++next[stage];
          --left;
        }
      }
      RAILYARD_CHECK(left < before, "the schedule of {} stages and {} micro-batches cannot go on",
                     p_, plan_.micro_batches);
    }
  }

  void add_gradient_reductions(std::uint32_t stage) {
    const StagePlan& plan = plan_.stages[stage];
    gradients_.resize(p_);
    gradients_[stage].assign(t_, {});
    for (std::size_t s = 0; s < plan.backward.size(); ++s) {
      if (plan.backward[s].gradients == Bytes(0)) continue;
      std::vector<std::uint32_t> computes;
      for (std::uint32_t data = 0; data < d_; ++data)
        computes.push_back(segment_computes_[actor_of(data, stage)][s]);
      for (std::uint32_t tensor = 0; tensor < t_; ++tensor) {
        Task task;
        task.kind = TaskKind::collective;
        task.cause = Cause::data;
        task.stream = data_stream(stage, tensor);
        task.actor = actor_of(0, stage);
        task.group = first_data_group_ + stage * t_ + tensor;
        task.size = plan.backward[s].gradients;
        gradients_[stage][tensor].push_back(builder_.add(task, computes));
      }
    }
  }

  /// The two copies of tied embeddings are summed after their data replicas are.
  void add_tied_reductions() {
    tied_.assign(std::size_t{d_} * t_, kNone);
    for (std::uint32_t data = 0; data < d_; ++data) {
      for (std::uint32_t tensor = 0; tensor < t_; ++tensor) {
        std::vector<std::uint32_t> dependencies;
        for (const std::uint32_t stage : {0U, p_ - 1}) {
          if (d_ >
              1) {  // the embedding's bucket: the last of the first stage, the first of the last
            const auto& buckets = gradients_[stage][tensor];
            RAILYARD_CHECK(!buckets.empty(), "stage {} has no gradients", stage);
            dependencies.push_back(stage == 0 ? buckets.back() : buckets.front());
          } else {
            dependencies.push_back(segment_computes_[actor_of(data, stage)].back());
          }
        }
        Task task;
        task.kind = TaskKind::collective;
        task.cause = Cause::data;
        task.stream = tied_stream(data, tensor);
        task.actor = actor_of(data, 0);
        task.group = first_tied_group_ + data * t_ + tensor;
        task.size = plan_.tied_gradients;
        tied_[std::size_t{data} * t_ + tensor] = builder_.add(task, dependencies);
      }
    }
  }

  void add_optimizers(std::uint32_t stage) {
    if (plan_.stages[stage].optimizer == Duration(0)) return;
    std::vector<std::uint32_t> shared;
    if (d_ > 1) {
      for (const auto& buckets : gradients_[stage]) {
        if (!buckets.empty())
          shared.push_back(buckets.back());  // one stream: the last is the last to end
      }
    }
    for (std::uint32_t data = 0; data < d_; ++data) {
      std::vector<std::uint32_t> dependencies = shared;
      if (!tied_.empty() && (stage == 0 || stage + 1 == p_)) {
        for (std::uint32_t tensor = 0; tensor < t_; ++tensor) {
          dependencies.push_back(tied_[std::size_t{data} * t_ + tensor]);
        }
      }
      const std::uint32_t actor = actor_of(data, stage);
      Task task;
      task.stream = compute_stream(actor);
      task.actor = actor;
      task.duration = plan_.stages[stage].optimizer;
      builder_.add(task, dependencies);
    }
  }

  const PipelinePlan& plan_;
  std::uint32_t t_;
  std::uint32_t p_;
  std::uint32_t d_;
  DagBuilder builder_;
  std::uint32_t first_data_group_ = 0;
  std::uint32_t first_tied_group_ = 0;
  std::vector<std::vector<std::uint32_t>>
      forward_sends_;  ///< of the replica being added: [stage][micro-batch] → task
  std::vector<std::vector<std::uint32_t>> backward_sends_;
  std::vector<std::vector<std::uint32_t>> segment_computes_;  ///< [actor][segment] → task
  std::vector<std::vector<std::vector<std::uint32_t>>>
      gradients_;                    ///< [stage][tensor][bucket] → task
  std::vector<std::uint32_t> tied_;  ///< [data · T + tensor] → task
};

}  // namespace

IterationDag build_pipeline(const PipelinePlan& plan) {
  return PipelineBuilder(plan).build();
}

}  // namespace railyard::workload
