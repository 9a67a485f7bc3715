// Our own format of a collective, a list of messages:
//
//   {"name": "pairs", "operation": "all_reduce", "ranks": 2, "chunks": 2,
//    "steps": [{"source": 0, "destination": 1, "chunk": 1, "reduce": true},
//              {"source": 1, "destination": 0, "chunk": 0, "reduce": true},
//              {"source": 0, "destination": 1, "chunk": 0, "after": [1]}, …]}
//
// A step sends `count` chunks (1) from `chunk` on; the receiver adds them (`reduce`) or stores
// them. It starts when the steps named in `after`, by their index, have arrived and the step before
// it of the same source and `channel` (0) has left. Chunks keep their place in the vector.
// all_gather, reduce_scatter and all_to_all cut it so that chunks r·chunks/ranks … are rank r's; in
// all_to_all a step may pass on what came from another rank, its `origin`.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "collective/files/step_program.hpp"
#include "railyard/config/reader.hpp"

namespace railyard::collective {

namespace {

constexpr std::int64_t kStepsMax = 1'000'000;
constexpr std::int64_t kRanksMax = 65'536;
constexpr std::int64_t kCellsMax = 1 << 20;
constexpr std::int64_t kStepChannelsMax = 65'535;

class StepListReader {
 public:
  StepListReader(std::string_view text, const std::string& name)
      : document_(config::Document::parse_text(text, name)) {}

  CheckedProgram read() {
    config::Reader reader(document_.root(), errors_);
    read_head(reader);
    steps_ = reader.required_child("steps");
    reader.finish();
    if (steps_ && !steps_->is_array()) errors_.add(*steps_, "expected an array of steps");
    errors_.throw_if_any();
    read_steps();
    errors_.throw_if_any();
    check_all_take_part();
    errors_.throw_if_any();
    lay_out_by_chunk(program_);
    const Places places{
        .fail = [this](std::uint32_t place, const std::string& message) { fail(place, message); },
        .title = [](std::uint32_t place) { return fmt::format("step {}", place); }};
    auto transfers = checked_transfers(program_, places);
    errors_.throw_if_any();
    return {std::move(program_), std::move(transfers)};
  }

 private:
  void read_head(config::Reader& reader) {
    using config::Range;
    program_.name = reader.required<std::string>("name");
    static_cast<void>(reader.maybe<std::string>("description"));
    constexpr Operation kOperationsOfFiles[] = {Operation::all_reduce,     Operation::all_gather,
                                                Operation::reduce_scatter, Operation::broadcast,
                                                Operation::reduce,         Operation::all_to_all};
    std::vector<std::string_view> names;
    for (const Operation operation : kOperationsOfFiles) names.push_back(name(operation));
    program_.operation = kOperationsOfFiles[reader.required_choice("operation", names)];
    program_.ranks = static_cast<std::uint32_t>(
        reader.required<std::int64_t>("ranks", Range<std::int64_t>{2, kRanksMax}));
    program_.chunks = static_cast<std::uint32_t>(
        reader.required<std::int64_t>("chunks", Range<std::int64_t>{1, kCellsMax}));
    program_.protocol = static_cast<nccl::WireProtocol>(
        reader.optional_choice("protocol", {"ll", "ll128", "simple"}, 2));
    if (std::int64_t{program_.ranks} * program_.chunks > kCellsMax) {
      reader.fail("chunks", fmt::format("{} ranks of {} chunks are more than {} to check",
                                        program_.ranks, program_.chunks, kCellsMax));
    }
    if (chunks_of_ranks(program_.operation) && program_.chunks % program_.ranks != 0) {
      reader.fail("chunks", fmt::format("{} cuts the vector into equal parts for {} ranks, which "
                                        "{} chunks do not make",
                                        name(program_.operation), program_.ranks, program_.chunks));
    }
  }

  void read_steps() {
    const std::size_t count = steps_->size();
    if (count > static_cast<std::size_t>(kStepsMax)) {
      errors_.add(*steps_, fmt::format("{} steps are more than {}", count, kStepsMax));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      read_step(steps_->at(i), static_cast<std::uint32_t>(i), static_cast<std::int64_t>(count));
      if (errors_.count() >= config::Errors::kLimit) return;
    }
  }

  void read_step(const config::Node& node, std::uint32_t index, std::int64_t steps) {
    using config::Range;
    config::Reader reader(node, errors_);
    if (!node.is_object()) return;
    const Range<std::int64_t> ranks{0, std::int64_t{program_.ranks} - 1};
    const auto source = static_cast<std::uint32_t>(reader.required<std::int64_t>("source", ranks));
    const auto destination =
        static_cast<std::uint32_t>(reader.required<std::int64_t>("destination", ranks));
    const std::int64_t chunk = reader.required<std::int64_t>(
        "chunk", Range<std::int64_t>{0, std::int64_t{program_.chunks} - 1});
    const std::int64_t count = reader.optional<std::int64_t>(
        "count", 1, Range<std::int64_t>{1, std::int64_t{program_.chunks} - chunk});
    const bool reduce = reader.optional<bool>("reduce", false);
    const auto channel = static_cast<std::uint32_t>(
        reader.optional<std::int64_t>("channel", 0, Range<std::int64_t>{0, kStepChannelsMax}));
    std::uint64_t place = static_cast<std::uint64_t>(chunk);
    if (program_.operation == Operation::all_to_all) {
      const std::int64_t origin = reader.optional<std::int64_t>("origin", source, ranks);
      place += static_cast<std::uint64_t>(origin) * program_.chunks;
    }
    const Cells cells{place, static_cast<std::uint32_t>(count)};
    if (source == destination && !errors_.count())
      reader.fail("destination", "a rank does not send to itself");
    Action send{.kind = ActionKind::send, .rank = source, .from = cells, .channel = channel};
    send.connection = channel;
    send.partner = 2 * index + 1;
    send.chain = chain(source, kEveryRank, channel);
    send.place = index;
    send.after = read_after(reader, steps);
    Action receive{.kind = ActionKind::receive, .reduce = reduce, .rank = destination, .to = cells};
    receive.partner = 2 * index;
    receive.chain = chain(source, destination, channel);
    receive.place = index;
    reader.finish();
    program_.actions.push_back(std::move(send));
    program_.actions.push_back(std::move(receive));
  }

  /// The receives of the steps.
  std::vector<std::uint32_t> read_after(config::Reader& reader, std::int64_t steps) {
    std::vector<std::uint32_t> out;
    for (const std::int64_t step : reader.optional<std::vector<std::int64_t>>("after", {})) {
      if (step < 0 || step >= steps) {
        reader.fail("after",
                    fmt::format("there is no step {}; they count from 0 to {}", step, steps - 1));
        return {};
      }
      out.push_back(2 * static_cast<std::uint32_t>(step) + 1);
    }
    return out;
  }

  std::uint32_t chain(std::uint32_t source, std::uint32_t destination, std::uint32_t channel) {
    const auto [found, inserted] =
        chains_.try_emplace({source, destination, channel}, program_.chains);
    if (inserted) ++program_.chains;
    return found->second;
  }

  void check_all_take_part() {
    std::vector<bool> takes_part(program_.ranks, false);
    for (const Action& action : program_.actions) takes_part[action.rank] = true;
    for (std::uint32_t r = 0; r < program_.ranks; ++r) {
      if (takes_part[r]) continue;
      errors_.add(*steps_, fmt::format("rank {} takes no part", r));
      return;
    }
  }

  void fail(std::uint32_t place, const std::string& message) {
    errors_.add(place == kWholeFile ? *steps_ : steps_->at(place), message);
  }

  config::Document document_;
  config::Errors errors_;
  StepProgram program_;
  std::optional<config::Node> steps_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> chains_;
};

}  // namespace

CheckedProgram read_step_list(std::string_view text, const std::string& name) {
  return StepListReader(text, name).read();
}

}  // namespace railyard::collective
