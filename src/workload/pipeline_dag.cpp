#include "workload/pipeline_dag.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "railyard/core/check.hpp"
#include "workload/pipeline_layout.hpp"
#include "workload/pipeline_schedule.hpp"

namespace railyard::workload {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
using Tasks = std::vector<std::uint32_t>;

void append(Work& into, const Work& more) {
  into.compute += more.compute;
  into.stall += more.stall;
  into.after_launch = into.after_launch || more.after_launch;
  const auto merge = [](std::vector<Exchange>& to, const std::vector<Exchange>& from) {
    for (const Exchange& exchange : from) {
      const auto same = std::ranges::find_if(to, [&](const Exchange& other) {
        return other.cause == exchange.cause && other.operation == exchange.operation &&
               other.size == exchange.size && other.shares == exchange.shares &&
               other.by_source == exchange.by_source;
      });
      if (same == to.end()) {
        to.push_back(exchange);
      } else {
        same->repeat += exchange.repeat;
      }
    }
  };
  merge(into.beside, more.beside);
  merge(into.behind, more.behind);
}

/// All segments as one: works of the same place run one after the other, which takes as long.
Segment merged(const std::vector<Segment>& segments) {
  Segment whole;
  for (const Segment& segment : segments) {
    join_works(whole.works, segment.works);
    whole.weight += segment.weight;
    whole.launch += segment.launch;
  }
  return whole;
}

/// A pair of passes as one: what both exchange hides behind what both compute.
Segment paired(const Segment& a, const Segment& b) {
  Work work;
  for (const Segment* segment : {&a, &b}) {
    for (const Work& part : segment->works) {
      Work hidden{part.compute, part.beside, {}, false, part.stall};
      append(hidden, {Duration(0), part.behind, {}, false, Duration(0)});
      append(work, hidden);
    }
    work.compute += segment->weight;
  }
  return {.works = {work}, .weight = Duration(0), .launch = a.launch + b.launch};
}

class PipelineBuilder {
 public:
  explicit PipelineBuilder(const PipelinePlan& plan)
      : plan_(plan),
        t_(plan.parallelism.tensor),
        p_(plan.parallelism.pipeline),
        layout_(plan, builder_.dag()) {
    RAILYARD_CHECK(plan.chunks.size() == std::size_t{p_} * plan.parallelism.virtual_stages,
                   "{} chunks planned, {} stages of {} asked for", plan.chunks.size(), p_,
                   plan.parallelism.virtual_stages);
    RAILYARD_CHECK(plan.micro_batches > 0, "an iteration of no micro-batches");
    for (const ChunkPlan& chunk : plan.chunks) {
      RAILYARD_CHECK(!chunk.forward.empty() && !chunk.backward.empty(), "a chunk without a pass");
      forward_.push_back(merged(chunk.forward));
      backward_.push_back(merged(chunk.backward));
    }
  }

  IterationDag build() {
    const std::size_t actors = builder_.dag().actors.size();
    computed_.assign(plan_.chunks.size(), std::vector<std::vector<Tasks>>(p_));
    recent_.assign(actors, {});
    read_.assign(actors, kNone);
    previous_.assign(actors, kNone);
    gathered_.resize(plan_.chunks.size());
    if (shards_states() && plan_.overlap_parameters) gather_all(true);
    for (std::uint32_t block = 0; block < layout_.blocks(); ++block) add_block(block);
    reduced_.resize(layout_.homes());
    if (plan_.zero < 3) {
      for (std::uint32_t home = 0; home < layout_.homes(); ++home) reduce_gradients(home);
    }
    if (layout_.tied(0).count > 0) reduce_tied();
    for (std::uint32_t stage = 0; stage < p_; ++stage) add_optimizers(stage);
    if (shards_states() && !plan_.overlap_parameters) gather_all(false);
    return std::move(builder_.dag());
  }

 private:
  /// ZeRO 1 or 2: parameters are whole, and gathered once an iteration.
  [[nodiscard]] bool shards_states() const { return plan_.zero == 1 || plan_.zero == 2; }

  // ---- single tasks ----

  std::uint32_t add_compute(std::uint32_t actor, Duration duration, const Tasks& dependencies) {
    Task task;
    task.stream = layout_.compute_stream(actor);
    task.actor = actor;
    task.duration = duration;
    return on_compute_stream(task, dependencies);
  }

  std::uint32_t on_compute_stream(const Task& task, const Tasks& dependencies) {
    return previous_[task.actor] = builder_.add(task, dependencies);
  }

  std::uint32_t add_stall(std::uint32_t actor, Duration duration) {
    Task task;
    task.kind = TaskKind::host;
    task.stream = layout_.compute_stream(actor);
    task.actor = actor;
    task.duration = duration;
    return on_compute_stream(task, {});
  }

  std::uint32_t add_barrier(std::uint32_t actor, const Tasks& dependencies) {
    Task task;
    task.kind = TaskKind::barrier;
    task.stream = layout_.compute_stream(actor);
    task.actor = actor;
    return on_compute_stream(task, dependencies);
  }

  std::uint32_t add_collective(const Exchange& exchange, std::uint32_t actor, std::uint32_t group,
                               std::uint32_t stream, const Tasks& dependencies) {
    Task task;
    task.kind = TaskKind::collective;
    task.cause = exchange.cause;
    task.operation = exchange.operation;
    task.stream = stream;
    task.actor = actor;
    task.group = group;
    task.repeat = exchange.repeat;
    task.size = exchange.size;
    task.shares = shares_of(exchange);
    task.by_source = exchange.by_source;
    return builder_.add(task, dependencies);
  }

  /// 1 + index of the weights among those of the DAG, where equal ones are kept once; 0: none.
  std::uint32_t shares_of(const Exchange& exchange) {
    if (exchange.shares.empty()) return 0;
    auto& known = builder_.dag().shares;
    const auto found = std::ranges::find(known, exchange.shares);
    const auto number = static_cast<std::uint32_t>(found - known.begin()) + 1;
    if (found == known.end()) known.push_back(exchange.shares);
    return number;
  }

  std::uint32_t add_send(std::uint32_t actor, std::uint32_t peer, bool forward,
                         std::uint32_t dependency) {
    Task task;
    task.kind = TaskKind::send;
    task.cause = Cause::pipeline;
    task.stream =
        plan_.overlap_sends ? layout_.send_stream(actor, forward) : layout_.compute_stream(actor);
    task.actor = actor;
    task.peer = peer;
    task.size = plan_.scatter_sends ? plan_.activation.divided_up(t_) : plan_.activation;
    return builder_.add(task, std::span(&dependency, 1));
  }

  // ---- work of an actor ----

  /// Exchanges of all groups of the actor, on their own streams.
  void exchange_beside(std::uint32_t actor, const Exchange& exchange, const Tasks& dependencies,
                       Tasks& out) {
    const GroupRange groups = layout_.groups(actor, exchange.cause);
    for (std::uint32_t g = 0; g < groups.count; ++g) {
      out.push_back(add_collective(exchange, actor, groups.first + g,
                                   layout_.exchange_stream(actor, g), dependencies));
    }
  }

  /// Adds work; `dependencies` are waited for, and are then what the next work has to wait for
  /// beside the order of the compute stream. Returns {computation, last task on the stream}.
  std::pair<std::uint32_t, std::uint32_t> add_work(std::uint32_t actor, const Work& work,
                                                   Tasks& dependencies) {
    // What is exchanged beside the computation comes from the work before it.
    Tasks start = dependencies;
    if (previous_[actor] != kNone) start.push_back(previous_[actor]);
    const std::uint32_t compute = add_compute(actor, work.compute, dependencies);
    std::uint32_t last = compute;
    Tasks beside;
    for (const Exchange& exchange : work.beside) exchange_beside(actor, exchange, start, beside);
    dependencies.clear();
    if (!beside.empty()) last = add_barrier(actor, beside);
    for (const Exchange& exchange : work.behind) {
      const GroupRange groups = layout_.groups(actor, exchange.cause);
      if (groups.count == 0) continue;
      if (groups.count == 1) {
        last = add_collective(exchange, actor, groups.first, layout_.compute_stream(actor), {});
        previous_[actor] = last;
        continue;
      }
      Tasks behind;
      exchange_beside(actor, exchange, {last}, behind);
      last = add_barrier(actor, behind);
    }
    if (work.stall > Duration(0)) last = add_stall(actor, work.stall);
    return {compute, last};
  }

  /// Adds a segment; returns {its last computation, its last task}.
  std::pair<std::uint32_t, std::uint32_t> add_segment(std::uint32_t actor, const Segment& segment,
                                                      bool with_weight, const Tasks& received,
                                                      Tasks& dependencies) {
    std::uint32_t host = kNone;
    if (segment.launch > Duration(0)) {
      Task task;
      task.kind = TaskKind::host;
      task.stream = layout_.host_stream(actor);
      task.actor = actor;
      task.duration = segment.launch;
      // The host waits for what is received; inside a stage it runs ahead of the GPU.
      Tasks before = received;
      if (const std::uint32_t read = std::exchange(read_[actor], kNone); read != kNone)
        before.push_back(read);
      host = builder_.add(task, before);
    }
    std::pair<std::uint32_t, std::uint32_t> ends{kNone, kNone};
    for (std::size_t w = 0; w < segment.works.size(); ++w) {
      Work work = segment.works[w];
      if (work.after_launch && host != kNone) dependencies.push_back(host);
      if (with_weight && w + 1 == segment.works.size()) work.compute += segment.weight;
      ends = add_work(actor, work, dependencies);
    }
    if (host != kNone) {
      ends.second = add_barrier(actor, {host});
      if (!segment.works.empty() && segment.works.back().after_launch) read_[actor] = ends.second;
    }
    return ends;
  }

  /// What was received may have to be gathered over the tensor ranks: then the order of the compute
  /// stream says it all.
  void receive(std::uint32_t actor, std::uint32_t send, Tasks& received, Tasks& dependencies) {
    if (send == kNone) return;
    received.push_back(send);
    if (t_ == 1 || !plan_.scatter_sends || !plan_.gather_received) {
      dependencies.push_back(send);
      return;
    }
    const Exchange gather{Cause::pipeline, collective::Operation::all_gather, plan_.activation, 1};
    const GroupRange groups = layout_.groups(actor, Cause::pipeline);
    if (groups.count == 1) {
      add_collective(gather, actor, groups.first, layout_.compute_stream(actor), {send});
      return;
    }
    exchange_beside(actor, gather, {send}, dependencies);
  }

  // ---- passes ----

  struct Sends {  // by chunk and micro-batch: the task that brings it on; kNone: not there yet
    std::vector<Tasks> forward;
    std::vector<Tasks> backward;
  };

  [[nodiscard]] bool last_gradients(std::uint32_t stage, const Pass& pass) const {
    const Pass& last = last_gradient_pass_[stage][pass.chunk];
    return last == pass;
  }

  [[nodiscard]] bool ready(const Pass& pass) const {
    if (pass.kind == Pass::backward_weight) return true;
    if (pass.kind == Pass::forward) {
      return pass.chunk == 0 || sends_.forward[pass.chunk - 1][pass.micro_batch] != kNone;
    }
    return pass.chunk + 1 == plan_.chunks.size() ||
           sends_.backward[pass.chunk + 1][pass.micro_batch] != kNone;
  }

  [[nodiscard]] std::uint32_t received_by(const Pass& pass) const {
    if (pass.kind == Pass::forward)
      return pass.chunk == 0 ? kNone : sends_.forward[pass.chunk - 1][pass.micro_batch];
    return pass.chunk + 1 == plan_.chunks.size()
               ? kNone
               : sends_.backward[pass.chunk + 1][pass.micro_batch];
  }

  void send_on(std::uint32_t block, std::uint32_t stage, const Pass& pass, std::uint32_t last) {
    const bool forward = pass.kind == Pass::forward;
    const bool end = forward ? pass.chunk + 1 == plan_.chunks.size() : pass.chunk == 0;
    auto& slot = (forward ? sends_.forward : sends_.backward)[pass.chunk][pass.micro_batch];
    slot = last;
    if (end) return;
    const std::uint32_t next = forward ? pass.chunk + 1 : pass.chunk - 1;
    const std::uint32_t peer = layout_.stage_of(next, pass.micro_batch);
    if (peer == stage) return;
    slot = add_send(layout_.actor(block, stage), layout_.actor(block, peer), forward, last);
  }

  /// The segments of a pass one by one, where parameters are gathered or gradients leave between
  /// them.
  std::uint32_t add_segments(std::uint32_t block, std::uint32_t stage, const Pass& pass,
                             Tasks received, Tasks& dependencies) {
    const std::uint32_t actor = layout_.actor(block, stage);
    const ChunkPlan& chunk = plan_.chunks[pass.chunk];
    const bool forward = pass.kind == Pass::forward;
    const auto& segments = forward ? chunk.forward : chunk.backward;
    const bool gradients = !forward && last_gradients(stage, pass);
    auto& computed = computed_[pass.chunk][stage];
    if (gradients && computed.empty()) computed.resize(segments.size());
    std::uint32_t last = kNone;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      if (plan_.zero == 3) gather_segment(actor, stage, segments[s], dependencies);
      if (forward && s < gathered_[pass.chunk].size()) {
        const Tasks& gathers = gathered_[pass.chunk][s];
        dependencies.insert(dependencies.end(), gathers.begin(), gathers.end());
      }
      std::uint32_t compute = kNone;
      if (pass.kind == Pass::backward_weight) {
        compute = last = add_compute(actor, segments[s].weight, dependencies);
        dependencies.clear();
      } else {
        const bool whole = pass.kind == Pass::backward;
        std::tie(compute, last) = add_segment(actor, segments[s], whole, received, dependencies);
        received.clear();
      }
      if (gradients) computed[s].push_back(compute);
      if (plan_.zero == 3) {
        recent_[actor].push_back(last);
        if (!forward) reduce_segment(actor, stage, segments[s], compute);
      }
    }
    return last;
  }

  void add_pass(std::uint32_t block, std::uint32_t stage, const Pass& pass) {
    const std::uint32_t actor = layout_.actor(block, stage);
    Tasks dependencies;
    Tasks received;
    if (pass.kind != Pass::backward_weight)
      receive(actor, received_by(pass), received, dependencies);
    const bool forward = pass.kind == Pass::forward;
    // The first pass through a chunk waits for its parameters, piece by piece.
    const bool awaits = forward && !gathered_[pass.chunk].empty() &&
                        pass.micro_batch == first_micro_batch(stage, pass.chunk);
    const bool gradients = !forward && last_gradients(stage, pass);
    std::uint32_t last = kNone;
    if (plan_.zero == 3 || awaits || (gradients && cut_gradients())) {
      last = add_segments(block, stage, pass, received, dependencies);
    } else {
      std::uint32_t compute = kNone;
      if (pass.kind == Pass::backward_weight) {
        compute = last = add_compute(actor, backward_[pass.chunk].weight, dependencies);
      } else {
        std::tie(compute, last) = add_segment(actor, (forward ? forward_ : backward_)[pass.chunk],
                                              pass.kind == Pass::backward, received, dependencies);
      }
      if (gradients) computed_[pass.chunk][stage].resize(1);
      if (gradients) computed_[pass.chunk][stage].front().push_back(compute);
    }
    if (pass.kind != Pass::backward_weight) send_on(block, stage, pass, last);
  }

  void add_pair(std::uint32_t block, std::uint32_t stage, const Pass& forward,
                const Pass& backward) {
    const std::uint32_t actor = layout_.actor(block, stage);
    Tasks dependencies;
    Tasks received;
    receive(actor, received_by(forward), received, dependencies);
    receive(actor, received_by(backward), received, dependencies);
    const auto [compute, last] =
        add_segment(actor, paired(forward_[forward.chunk], backward_[backward.chunk]), false,
                    received, dependencies);
    if (last_gradients(stage, backward)) {
      computed_[backward.chunk][stage].resize(1);
      computed_[backward.chunk][stage].front().push_back(compute);
    }
    send_on(block, stage, forward, last);
    send_on(block, stage, backward, last);
  }

  [[nodiscard]] std::uint32_t first_micro_batch(std::uint32_t stage, std::uint32_t chunk) const {
    return layout_.stage_of(chunk, 0) == stage ? 0 : plan_.micro_batches / 2;
  }

  /// Whether the last backward pass is cut so that its gradients leave early.
  [[nodiscard]] bool cut_gradients() const {
    return plan_.overlap_gradients && layout_.dense(0).count > 0;
  }

  /// All passes of one block of replicas, in an order in which what is received was sent before.
  void add_block(std::uint32_t block) {
    const auto chunks = static_cast<std::uint32_t>(plan_.chunks.size());
    sends_.forward.assign(chunks, Tasks(plan_.micro_batches, kNone));
    sends_.backward = sends_.forward;
    std::vector<std::vector<Pass>> passes;
    last_gradient_pass_.assign(p_, std::vector<Pass>(chunks));
    std::size_t left = 0;
    for (std::uint32_t stage = 0; stage < p_; ++stage) {
      passes.push_back(passes_of_stage(plan_.schedule, stage, p_, plan_.parallelism.virtual_stages,
                                       plan_.micro_batches));
      for (const Pass& pass : passes.back()) {
        if (pass.kind == Pass::backward || pass.kind == Pass::backward_weight)
          last_gradient_pass_[stage][pass.chunk] = pass;
      }
      left += passes.back().size();
    }
    std::vector<std::size_t> next(p_, 0);
    while (left > 0) {
      const std::size_t before = left;
      for (std::uint32_t stage = 0; stage < p_; ++stage) {
        while (next[stage] < passes[stage].size()) {
          const Pass& pass = passes[stage][next[stage]];
          if (!ready(pass)) break;
          if (pass.paired) {
            const Pass& other = passes[stage][next[stage] + 1];
            if (!ready(other)) break;
            add_pair(block, stage, pass, other);
            next[stage] += 2;
            left -= 2;
            continue;
          }
          add_pass(block, stage, pass);
          ++next[stage];
          --left;
        }
      }
      RAILYARD_CHECK(left < before, "the schedule of {} stages and {} micro-batches cannot go on",
                     p_, plan_.micro_batches);
    }
  }

  // ---- gradients and parameters ----

  /// One collective of each group of a home, for dense and for expert parameters.
  Tasks over_replicas(std::uint32_t home, collective::Operation operation, Bytes dense,
                      Bytes expert, bool parameters, const Tasks& dependencies) {
    Tasks out;
    const std::uint32_t actor = layout_.actor(0, layout_.stages_of_home(home).front());
    const auto add = [&](GroupRange groups, Bytes size, std::uint32_t first_stream) {
      if (size == Bytes(0)) return;
      for (std::uint32_t g = 0; g < groups.count; ++g) {
        const std::uint32_t stream = parameters ? layout_.parameter_stream(home, first_stream + g)
                                                : layout_.gradient_stream(home, first_stream + g);
        out.push_back(add_collective({Cause::data, operation, size, 1}, actor, groups.first + g,
                                     stream, dependencies));
      }
    };
    add(layout_.dense(home), dense, 0);
    add(layout_.expert(home), expert, layout_.dense(home).count);
    return out;
  }

  /// ZeRO 3: parameters come one segment ahead of the computation that needs them.
  void gather_segment(std::uint32_t actor, std::uint32_t stage, const Segment& segment,
                      Tasks& dependencies) {
    const Tasks& recent = recent_[actor];
    Tasks before;
    if (recent.size() >= 2) before.push_back(recent[recent.size() - 2]);
    const Tasks gathers =
        over_replicas(stage, collective::Operation::all_gather, segment.parameters,
                      segment.expert_parameters, true, before);
    dependencies.insert(dependencies.end(), gathers.begin(), gathers.end());
  }

  void reduce_segment(std::uint32_t actor, std::uint32_t stage, const Segment& segment,
                      std::uint32_t compute) {
    const Tasks reductions =
        over_replicas(stage, collective::Operation::reduce_scatter, segment.gradients,
                      segment.expert_gradients, false, {compute});
    last_reductions_.resize(builder_.dag().actors.size());
    if (!reductions.empty()) last_reductions_[actor] = reductions;
  }

  void reduce_gradients(std::uint32_t home) {
    const auto operation =
        plan_.zero == 0 ? collective::Operation::all_reduce : collective::Operation::reduce_scatter;
    for (const std::uint32_t chunk : layout_.chunks_of_home(home)) {
      const auto& segments = plan_.chunks[chunk].backward;
      for (std::size_t s = 0; s < segments.size(); ++s) {
        Tasks ready;
        for (const std::uint32_t stage : layout_.stages_of_home(home)) {
          // What was computed in one piece leaves in buckets nevertheless.
          const auto& computed = computed_[chunk][stage];
          const Tasks& piece = computed[std::min(s, computed.size() - 1)];
          ready.insert(ready.end(), piece.begin(), piece.end());
        }
        const Tasks tasks = over_replicas(home, operation, segments[s].gradients,
                                          segments[s].expert_gradients, false, ready);
        if (tasks.empty()) continue;
        reduced_[home].push_back({chunk, tasks});
      }
    }
  }

  /// The two copies of tied embeddings are summed after their data replicas are.
  void reduce_tied() {
    const auto last_chunk = static_cast<std::uint32_t>(plan_.chunks.size()) - 1;
    tied_.assign(layout_.blocks(), {});
    for (std::uint32_t block = 0; block < layout_.blocks(); ++block) {
      const GroupRange groups = layout_.tied(block);
      for (std::uint32_t g = 0; g < groups.count; ++g) {
        Tasks dependencies;
        // The embedding's bucket: the last of the first chunk, the first of the last.
        for (const std::uint32_t chunk : {0U, last_chunk}) {
          const std::uint32_t stage = chunk % p_;
          if (const std::uint32_t bucket = bucket_of(stage, chunk, g % t_); bucket != kNone) {
            dependencies.push_back(bucket);
          } else {
            dependencies.push_back(computed_[chunk][stage].back()[block]);
          }
        }
        const Exchange exchange{Cause::data, collective::Operation::all_reduce,
                                plan_.tied_gradients, 1};
        tied_[block].push_back(add_collective(exchange, layout_.actor(block, 0), groups.first + g,
                                              layout_.tied_stream(block, g), dependencies));
      }
    }
  }

  [[nodiscard]] std::uint32_t bucket_of(std::uint32_t home, std::uint32_t chunk,
                                        std::uint32_t tensor) const {
    std::uint32_t found = kNone;
    for (const Bucket& bucket : reduced_[home]) {
      if (bucket.chunk != chunk || tensor >= bucket.tasks.size()) continue;
      found = bucket.tasks[tensor];
      if (chunk != 0) break;
    }
    return found;
  }

  void add_optimizers(std::uint32_t stage) {
    if (plan_.optimizer.empty() || plan_.optimizer[stage] == Duration(0)) return;
    Tasks shared;
    const std::uint32_t home = layout_.home_of(stage);
    // One stream a group: the last bucket is the last to end.
    std::size_t groups = 0;
    const auto& buckets = reduced_[home];
    for (auto bucket = buckets.rbegin(); bucket != buckets.rend(); ++bucket) {
      for (std::size_t g = groups; g < bucket->tasks.size(); ++g)
        shared.push_back(bucket->tasks[g]);
      groups = std::max(groups, bucket->tasks.size());
    }
    for (std::uint32_t block = 0; block < layout_.blocks(); ++block) {
      const std::uint32_t actor = layout_.actor(block, stage);
      Tasks dependencies = shared;
      if (!tied_.empty() && (stage == 0 || stage + 1 == p_))
        dependencies.insert(dependencies.end(), tied_[block].begin(), tied_[block].end());
      if (plan_.zero == 3 && !last_reductions_.empty()) {
        const Tasks& last = last_reductions_[actor];
        dependencies.insert(dependencies.end(), last.begin(), last.end());
      }
      optimizers_.resize(p_);
      optimizers_[stage].push_back(add_compute(actor, plan_.optimizer[stage], dependencies));
    }
  }

  /// ZeRO 1 and 2: every replica gets the shares that the others have updated, beside the first
  /// forward passes or behind the optimizer.
  void gather_all(bool at_start) {
    optimizers_.resize(p_);
    for (std::uint32_t home = 0; home < layout_.homes(); ++home) {
      Tasks updated;
      for (const std::uint32_t stage : layout_.stages_of_home(home))
        updated.insert(updated.end(), optimizers_[stage].begin(), optimizers_[stage].end());
      std::vector<std::uint32_t> chunks = layout_.chunks_of_home(home);
      std::ranges::reverse(chunks);
      for (const std::uint32_t chunk : chunks) {
        for (const Segment& segment : plan_.chunks[chunk].forward) {
          Tasks tasks = over_replicas(home, collective::Operation::all_gather, segment.parameters,
                                      segment.expert_parameters, at_start, updated);
          gathered_[chunk].push_back(std::move(tasks));
        }
      }
    }
  }

  struct Bucket {
    std::uint32_t chunk;
    Tasks tasks;  ///< by group: dense ones first
  };

  const PipelinePlan& plan_;
  std::uint32_t t_;
  std::uint32_t p_;
  DagBuilder builder_;
  PipelineLayout layout_;
  std::vector<Segment> forward_;  ///< by chunk, all segments as one
  std::vector<Segment> backward_;
  Sends sends_;                                            ///< of the block being added
  std::vector<std::vector<Pass>> last_gradient_pass_;      ///< [stage][chunk]
  std::vector<std::vector<std::vector<Tasks>>> computed_;  ///< [chunk][stage][segment] → by block
  std::vector<std::vector<Bucket>> reduced_;               ///< by home, in order
  std::vector<Tasks> tied_;                                ///< by block
  std::vector<Tasks> optimizers_;                          ///< by stage
  std::vector<std::vector<Tasks>> gathered_;  ///< by chunk and segment: parameters that arrive
  std::vector<Tasks> recent_;                 ///< by actor: last tasks of its segments (ZeRO 3)
  Tasks previous_;                            ///< by actor: the last task on its compute stream
  Tasks read_;                                ///< by actor: what the host waits for next
  std::vector<Tasks> last_reductions_;        ///< by actor (ZeRO 3)
};

}  // namespace

void join_works(std::vector<Work>& works, const std::vector<Work>& more) {
  if (works.size() < more.size()) works.resize(more.size());
  for (std::size_t w = 0; w < more.size(); ++w) append(works[w], more[w]);
}

IterationDag build_pipeline(const PipelinePlan& plan) {
  return PipelineBuilder(plan).build();
}

}  // namespace railyard::workload
