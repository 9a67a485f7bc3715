#include "railyard/workload/recording.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <optional>

#include "railyard/config/reader.hpp"
#include "railyard/core/check.hpp"

namespace railyard::workload {

namespace {

constexpr std::array<std::string_view, 5> kKinds{"compute", "collective", "send", "barrier",
                                                 "host"};
constexpr std::array<std::string_view, 6> kCauses{"compute", "tensor",  "pipeline",
                                                  "data",    "context", "expert"};
constexpr std::size_t kColumns = 11;
constexpr std::int64_t kVersion = 1;

/// A JSON string. Control characters become \u escapes; everything else stands as it is (UTF-8).
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void write_ranks(std::ostream& out, std::string_view key,
                 const std::vector<std::vector<Rank>>& sets) {
  fmt::print(out, "\"{}\": [", key);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    fmt::print(out, "{}\n[", i == 0 ? "" : ",");
    for (std::size_t j = 0; j < sets[i].size(); ++j)
      fmt::print(out, "{}{}", j == 0 ? "" : ",", index(sets[i][j]));
    fmt::print(out, "]");
  }
  fmt::print(out, "],\n");
}

void write_task(std::ostream& out, const IterationDag& dag, const Task& task) {
  fmt::print(out, "[\"{}\",\"{}\",\"{}\",{},{},{},{},{},{},{},[",
             kKinds.at(static_cast<std::size_t>(task.kind)),
             kCauses.at(static_cast<std::size_t>(task.cause)), collective::name(task.operation),
             task.stream, task.actor, task.peer, task.group, task.repeat, task.size.count(),
             task.duration.count());
  for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
    fmt::print(out, "{}{}", d == 0 ? "" : ",", dag.dependencies[task.first_dependency + d]);
  }
  fmt::print(out, "]]");
}

/// The choices that are not the defaults ("all_reduce" stands by itself), and unequal shares as
/// rows [task, weights…].
void write_collectives(std::ostream& out, const IterationDag& dag) {
  std::string members;
  for (std::size_t o = 1; o < collective::kOperations; ++o) {
    const auto operation = collective::operation_at(o);
    const std::string& text = dag.collectives.of(operation);
    if (text == collective::Choices{}.of(operation)) continue;
    members += fmt::format("{}\"{}\": {}", members.empty() ? "" : ", ", collective::name(operation),
                           text.front() == '{' ? text : json_string(text));
  }
  if (dag.collectives.ring_order != collective::RingOrder::rank) {
    members += fmt::format(
        "{}\"ring_order\": \"{}\"", members.empty() ? "" : ", ",
        collective::ring_order_words()[static_cast<std::size_t>(dag.collectives.ring_order)]);
  }
  if (!members.empty()) fmt::print(out, "\"collectives\": {{{}}},\n", members);
  for (const bool by_source : {false, true}) {
    std::string rows;
    for (std::size_t i = 0; i < dag.tasks.size(); ++i) {
      if (dag.tasks[i].shares == 0 || dag.tasks[i].by_source != by_source) continue;
      rows += fmt::format("{}[{},{}]", rows.empty() ? "" : ",", i,
                          fmt::join(dag.shares[dag.tasks[i].shares - 1], ","));
    }
    if (!rows.empty())
      fmt::print(out, "\"{}\": [{}],\n", by_source ? "shares_by_source" : "shares", rows);
  }
}

/// Reads the cells of a row; a wrong cell is an error and reads as 0.
class Row {
 public:
  Row(const config::Node& row, config::Errors& errors, std::size_t columns)
      : row_(row), errors_(errors) {
    good_ = row.is_array() && row.size() == columns;
    if (!good_) errors.add(row, fmt::format("expected an array of {} values", columns));
  }
  [[nodiscard]] bool good() const { return good_; }
  std::int64_t integer(std::int64_t max) {
    const config::Node cell = row_.at(next_++);
    if (cell.kind() == config::Kind::integer && cell.integer() >= 0 && cell.integer() <= max)
      return cell.integer();
    errors_.add(cell, fmt::format("expected an integer from 0 to {}", max));
    return 0;
  }
  std::uint32_t count() { return static_cast<std::uint32_t>(integer(UINT32_MAX)); }
  template <std::size_t N>
  std::size_t word(const std::array<std::string_view, N>& words) {
    const config::Node cell = row_.at(next_++);
    for (std::size_t i = 0; cell.is_string() && i < N; ++i) {
      if (cell.string() == words[i]) return i;
    }
    errors_.add(cell, fmt::format("expected one of {}", fmt::join(words, ", ")));
    return 0;
  }
  config::Node node() { return row_.at(next_++); }

 private:
  config::Node row_;
  config::Errors& errors_;
  std::size_t next_ = 0;
  bool good_ = false;
};

constexpr std::int64_t kInt64Max = INT64_MAX;

std::vector<std::vector<Rank>> read_ranks(config::Reader& reader, std::string_view key) {
  std::vector<std::vector<Rank>> out;
  const auto sets = reader.required_child(key);
  if (!sets) return out;
  if (!sets->is_array()) {
    reader.fail(key, "expected an array of arrays of ranks");
    return out;
  }
  for (std::size_t i = 0; i < sets->size(); ++i) {
    const config::Node set = sets->at(i);
    Row row(set, reader.errors(), set.is_array() ? set.size() : 0);
    std::vector<Rank> ranks;
    for (std::size_t j = 0; row.good() && j < set.size(); ++j) ranks.push_back(Rank{row.count()});
    out.push_back(std::move(ranks));
  }
  return out;
}

void read_task(const config::Node& node, config::Errors& errors, DagBuilder& builder) {
  static const auto kOperations = [] {
    std::array<std::string_view, collective::kOperations> names;
    for (std::size_t o = 0; o < names.size(); ++o)
      names[o] = collective::name(collective::operation_at(o));
    return names;
  }();
  Row row(node, errors, kColumns);
  if (!row.good()) return;
  Task task;
  task.kind = static_cast<TaskKind>(row.word(kKinds));
  task.cause = static_cast<Cause>(row.word(kCauses));
  task.operation = collective::operation_of(kOperations.at(row.word(kOperations))).value();
  task.stream = row.count();
  task.actor = row.count();
  task.peer = row.count();
  task.group = row.count();
  task.repeat = row.count();
  task.size = Bytes(row.integer(kInt64Max));
  task.duration = Duration(row.integer(kHorizonMax.count()));
  const config::Node list = row.node();
  Row cells(list, errors, list.is_array() ? list.size() : 0);
  std::vector<std::uint32_t> dependencies;
  for (std::size_t i = 0; cells.good() && i < list.size(); ++i)
    dependencies.push_back(cells.count());
  builder.add(task, dependencies);
}

void read_collectives(config::Reader& reader, IterationDag& dag) {
  using collective::Operation;
  if (const auto node = reader.required_child("all_reduce")) {
    // A choice with parameters stands here as text.
    const bool is_object = node->is_string() && node->string().starts_with('{');
    const auto text =
        is_object ? std::optional(config::Document::parse_text(node->string(), "all_reduce"))
                  : std::nullopt;
    dag.collectives.of(Operation::all_reduce) = collective::read_choice(
        text ? text->root() : *node, reader.errors(), Operation::all_reduce);
  }
  if (const auto node = reader.child("collectives"))
    dag.collectives =
        collective::changed(dag.collectives, collective::read_choices(*node, reader.errors()));
}

/// Equal lists of weights are kept once.
void read_shares(config::Reader& reader, std::string_view key, IterationDag& dag) {
  const auto rows = reader.child(key);
  if (!rows) return;
  if (!rows->is_array()) return reader.fail(key, "expected an array of [task, weights...]");
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const config::Node cells = rows->at(i);
    Row row(cells, reader.errors(), cells.is_array() ? std::max<std::size_t>(cells.size(), 2) : 2);
    if (!row.good()) return;
    const std::uint32_t task = row.count();
    std::vector<std::uint32_t> weights;
    for (std::size_t j = 1; j < cells.size(); ++j) weights.push_back(row.count());
    if (task >= dag.tasks.size()) return reader.fail(key, fmt::format("no task {}", task));
    const auto found = std::ranges::find(dag.shares, weights);
    dag.tasks[task].shares = static_cast<std::uint32_t>(found - dag.shares.begin()) + 1;
    dag.tasks[task].by_source = key == "shares_by_source";
    if (found == dag.shares.end()) dag.shares.push_back(std::move(weights));
  }
}

void read_times(config::Reader& reader, Recording& recording) {
  const auto times = reader.child("times");
  if (!times) return;
  if (!times->is_array() || times->size() != recording.dag.tasks.size()) {
    reader.fail("times", fmt::format("expected an array of {} pairs, one per task",
                                     recording.dag.tasks.size()));
    return;
  }
  for (std::size_t i = 0; i < times->size(); ++i) {
    Row row(times->at(i), reader.errors(), 2);
    if (!row.good()) return;
    TaskTimes time;
    time.start = Duration(row.integer(kHorizonMax.count()));
    time.end = Duration(row.integer(kHorizonMax.count()));
    if (time.end < time.start) reader.errors().add(times->at(i), "a task ends before it starts");
    recording.times.push_back(time);
  }
}

}  // namespace

Duration last_end(const std::vector<TaskTimes>& times) {
  Duration end{};
  for (const TaskTimes& one : times) end = std::max(end, one.end);
  return end;
}

void write_recording(std::ostream& out, const Recording& recording) {
  const IterationDag& dag = recording.dag;
  RAILYARD_CHECK(recording.times.empty() || recording.times.size() == dag.tasks.size(),
                 "{} times for {} tasks", recording.times.size(), dag.tasks.size());
  fmt::print(out, "{{\"kind\": \"recording\", \"version\": {},\n\"description\": {},\n", kVersion,
             json_string(recording.description));
  fmt::print(
      out,
      "\"ranks\": {}, \"streams\": {}, \"model_flops\": {}, \"tokens\": {}, \"all_reduce\": {},\n",
      dag.ranks, dag.streams, dag.model_flops, dag.tokens,
      json_string(dag.collectives.of(collective::Operation::all_reduce)));
  write_collectives(out, dag);
  if (!recording.context.empty()) fmt::print(out, "\"context\": {},\n", recording.context);
  write_ranks(out, "actors", dag.actors);
  write_ranks(out, "groups", dag.groups);
  fmt::print(out, "\"tasks\": [");
  for (std::size_t i = 0; i < dag.tasks.size(); ++i) {
    fmt::print(out, "{}\n", i == 0 ? "" : ",");
    write_task(out, dag, dag.tasks[i]);
  }
  fmt::print(out, "]");
  if (!recording.times.empty()) {
    fmt::print(out, ",\n\"times\": [");
    for (std::size_t i = 0; i < recording.times.size(); ++i) {
      const TaskTimes& time = recording.times[i];
      fmt::print(out, "{}\n[{},{}]", i == 0 ? "" : ",", time.start.count(), time.end.count());
    }
    fmt::print(out, "]");
  }
  fmt::print(out, "}}\n");
}

Recording read_recording(const std::filesystem::path& path) {
  const config::Document document = config::Document::parse_file(path);
  config::Errors errors;
  config::Reader reader(document.root(), errors);
  static_cast<void>(reader.required_choice("kind", {"recording"}));
  static_cast<void>(reader.required<std::int64_t>("version", {.min = kVersion, .max = kVersion}));
  Recording recording;
  recording.description = reader.optional<std::string>("description", "");
  if (const auto context = reader.child("context")) recording.context = context->dump();
  DagBuilder builder;
  const auto count = [&](std::string_view key) {
    const std::int64_t value = reader.required<std::int64_t>(key, {.min = 1, .max = UINT32_MAX});
    return static_cast<std::uint32_t>(value);
  };
  builder.dag().ranks = count("ranks");
  builder.dag().streams = count("streams");
  builder.dag().model_flops = reader.required<double>("model_flops");
  builder.dag().tokens = reader.required<double>("tokens");
  read_collectives(reader, builder.dag());
  builder.dag().actors = read_ranks(reader, "actors");
  builder.dag().groups = read_ranks(reader, "groups");
  const auto tasks = reader.required_child("tasks");
  if (tasks && !tasks->is_array()) reader.fail("tasks", "expected an array of tasks");
  for (std::size_t i = 0; tasks && tasks->is_array() && i < tasks->size(); ++i)
    read_task(tasks->at(i), errors, builder);
  recording.dag = std::move(builder.dag());
  read_shares(reader, "shares", recording.dag);
  read_shares(reader, "shares_by_source", recording.dag);
  if (errors.empty()) read_times(reader, recording);
  reader.finish();
  errors.throw_if_any();
  try {
    recording.dag.validate();
  } catch (const InternalError& fault) {  // the file is at fault here, not the program
    throw config::ConfigError(
        fmt::format("{}: not a valid iteration: {}", document.name(), fault.what()));
  }
  return recording;
}

}  // namespace railyard::workload
