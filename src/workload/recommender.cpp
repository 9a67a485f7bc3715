#include "railyard/workload/recommender.hpp"

#include <algorithm>
#include <numeric>

#include "compute.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

constexpr std::int64_t kWord = 4;  ///< bytes of an embedding's element, or a gradient's
constexpr std::uint32_t kCompute = 0;
constexpr std::uint32_t kExchange = 1;
constexpr std::uint32_t kReduce = 2;

/// A perceptron's layers as products of `samples` rows: (inputs, outputs) in order.
std::vector<std::pair<std::uint32_t, std::uint32_t>> layers_of(
    std::uint32_t inputs, const std::vector<std::uint32_t>& widths) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const std::uint32_t width : widths) {
    out.emplace_back(inputs, width);
    inputs = width;
  }
  return out;
}

/// Features that meet pairwise: the tables' and the bottom perceptron's; pairs and the bottom's
/// output go up.
std::uint32_t top_inputs(const RecommenderSpec& spec) {
  const std::uint32_t features = spec.tables + 1;
  return features * (features - 1) / 2 + spec.embedding_dim;
}

std::int64_t parameters_of(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& layers) {
  std::int64_t sum = 0;
  for (const auto& [inputs, outputs] : layers)
    sum += (static_cast<std::int64_t>(inputs) + 1) * outputs;
  return sum;
}

/// Bytes of a rank's columns of the tables.
double table_bytes(const RecommenderSpec& spec, std::uint32_t ranks) {
  return static_cast<double>(spec.rows) * spec.embedding_dim * kWord / ranks;
}

class Builder {
 public:
  Builder(const RecommenderSpec& spec, std::uint32_t ranks, std::uint32_t batch, const GpuSpec& gpu)
      : spec_(spec),
        ranks_(ranks),
        batch_(batch),
        roofline_(gpu, spec.precision),
        bottom_(layers_of(spec.dense_features, spec.bottom)),
        top_(layers_of(top_inputs(spec), spec.top)) {
    IterationDag& dag = builder_.dag();
    dag.ranks = ranks;
    dag.streams = 3;
    dag.actors.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r) dag.actors.front().push_back(Rank{r});
    dag.groups.push_back(dag.actors.front());
  }

  IterationDag build() {
    // Columns of a rank for all samples: what a lookup reads, and an all-to-all sends.
    const double columns =
        static_cast<double>(spec_.tables) * spec_.embedding_dim / ranks_ * batch_ * kWord;
    const Bytes exchanged(static_cast<std::int64_t>(columns));
    const auto lookup = compute(roofline_.memory(columns * (spec_.pooling + 1), 1), {});
    const auto forward =
        exchange(collective::Operation::all_to_all, kExchange, exchanged, {lookup});
    const auto below = compute(products(bottom_, 1), {});
    const auto above = compute(
        interaction() + products(top_, 1) + products(top_, 2) + interaction(), {forward, below});
    const auto reduced_top = reduce(top_, above);
    const auto back = exchange(collective::Operation::all_to_all, kExchange, exchanged, {above});
    const auto under = compute(products(bottom_, 2), {above});
    const auto reduced_bottom = reduce(bottom_, under);
    // An update reads and writes every row that was looked up.
    compute(roofline_.memory(columns * 2 * spec_.pooling, 1), {back});
    const double dense = static_cast<double>(parameters_of(bottom_) + parameters_of(top_)) * kWord;
    compute(roofline_.memory(3 * dense, 1), {reduced_top, reduced_bottom});
    IterationDag& dag = builder_.dag();
    dag.tokens = batch_;
    double products = 0;
    for (const auto* layers : {&bottom_, &top_}) {
      for (const auto& [inputs, outputs] : *layers)
        products += 2.0 * static_cast<double>(inputs) * outputs;
    }
    dag.model_flops = 3 * products * batch_;
    return std::move(dag);
  }

 private:
  using Layers = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  using Tasks = std::vector<std::uint32_t>;

  [[nodiscard]] std::int64_t samples() const { return batch_ / ranks_; }

  /// Seconds of a forward pass, or with factor 2 of a backward one: gradients of inputs, weights.
  [[nodiscard]] double products(const Layers& layers, int factor) const {
    double seconds = 0;
    for (const auto& [inputs, outputs] : layers)
      seconds += factor * roofline_.gemm({samples(), outputs, inputs});
    return seconds;
  }

  /// Pairwise products of a sample's features: bound by the memory they come from.
  [[nodiscard]] double interaction() const {
    return roofline_.memory(
        static_cast<double>(samples()) * (spec_.tables + 1) * spec_.embedding_dim * kWord * 2, 1);
  }

  std::uint32_t compute(double seconds, const Tasks& dependencies) {
    Task task;
    task.stream = kCompute;
    task.duration = to_ticks(seconds * kTicksPerSecond);
    return builder_.add(task, dependencies);
  }

  std::uint32_t exchange(collective::Operation operation, std::uint32_t stream, Bytes size,
                         const Tasks& dependencies) {
    Task task;
    task.kind = TaskKind::collective;
    task.cause = operation == collective::Operation::all_to_all ? Cause::expert : Cause::data;
    task.operation = operation;
    task.stream = stream;
    task.size = size;
    return builder_.add(task, dependencies);
  }

  std::uint32_t reduce(const Layers& layers, std::uint32_t behind) {
    return exchange(collective::Operation::all_reduce, kReduce,
                    Bytes(parameters_of(layers) * kWord), {behind});
  }

  const RecommenderSpec& spec_;
  std::uint32_t ranks_;
  std::uint32_t batch_;
  Roofline roofline_;
  Layers bottom_;
  Layers top_;
  DagBuilder builder_;
};

std::vector<std::uint32_t> read_widths(config::Reader& reader, std::string_view key) {
  std::vector<std::uint32_t> out;
  const auto widths = reader.required<std::vector<std::int64_t>>(key);
  for (const std::int64_t width : widths) {
    if (width < 1 || width > 1'000'000) {
      reader.fail(key, "a layer's width is 1 to 1000000");
      return {1};
    }
    out.push_back(static_cast<std::uint32_t>(width));
  }
  if (out.empty() && reader.has(key)) reader.fail(key, "expected the widths of the layers");
  return out;
}

}  // namespace

RecommenderSpec read_recommender(const config::Node& node, config::Errors& errors) {
  config::Reader reader(node, errors);
  RecommenderSpec spec;
  static_cast<void>(reader.required_choice("kind", {"recommender"}));
  for (const char* fact : {"description", "source"})
    static_cast<void>(reader.optional<std::string>(fact, ""));
  spec.name = reader.required<std::string>("name");
  const auto count = [&](std::string_view key, std::int64_t most) {
    return static_cast<std::uint32_t>(reader.required<std::int64_t>(key, {.min = 1, .max = most}));
  };
  spec.tables = count("tables", 100'000);
  spec.embedding_dim = count("embedding_dim", 100'000);
  spec.pooling = static_cast<std::uint32_t>(
      reader.optional<std::int64_t>("pooling", 1, {.min = 1, .max = 100'000}));
  spec.rows = reader.required<std::int64_t>("rows", {.min = 1, .max = std::int64_t{1} << 50U});
  spec.dense_features = count("dense_features", 1'000'000);
  spec.bottom = read_widths(reader, "bottom");
  spec.top = read_widths(reader, "top");
  spec.precision = precision_of(reader.optional_choice("precision", precision_words(), 3));  // tf32
  if (!spec.bottom.empty() && spec.bottom.back() != spec.embedding_dim) {
    reader.fail("bottom", fmt::format("its last layer meets the embeddings: {}, not {} wide",
                                      spec.embedding_dim, spec.bottom.back()));
  }
  reader.finish();
  return spec;
}

std::vector<std::string> check_recommender(const RecommenderSpec& spec, std::uint32_t ranks,
                                           std::uint32_t batch, const GpuSpec& gpu) {
  std::vector<std::string> problems;
  const std::uint64_t columns = static_cast<std::uint64_t>(spec.tables) * spec.embedding_dim;
  if (ranks < 2) problems.emplace_back("a recommender is spread over two GPUs or more");
  if (ranks > 0 && columns % ranks != 0) {
    problems.push_back(fmt::format("the {} columns of {} tables × {} do not divide over {} GPUs",
                                   columns, spec.tables, spec.embedding_dim, ranks));
  }
  if (ranks > 0 && batch % ranks != 0) {
    problems.push_back(
        fmt::format("a global batch of {} samples does not divide over {} GPUs", batch, ranks));
  }
  if (!(peak_of(gpu, spec.precision) > FlopRate())) {
    problems.push_back(fmt::format(
        "{} has no products of the model's \"precision\"; give it \"fp32\" or \"bf16\"", gpu.name));
  }
  if (ranks > 0 && table_bytes(spec, ranks) > static_cast<double>(gpu.memory.count())) {
    problems.push_back(fmt::format("{:.0f} bytes of embeddings a GPU do not fit in its {} bytes",
                                   table_bytes(spec, ranks), gpu.memory.count()));
  }
  return problems;
}

IterationDag build_recommender(const RecommenderSpec& spec, std::uint32_t ranks,
                               std::uint32_t batch, const GpuSpec& gpu) {
  RAILYARD_CHECK(check_recommender(spec, ranks, batch, gpu).empty(), "{}",
                 check_recommender(spec, ranks, batch, gpu).front());
  return Builder(spec, ranks, batch, gpu).build();
}

}  // namespace railyard::workload
