#include "collective/files/msccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "railyard/config/text_lines.hpp"

namespace railyard::collective {

namespace msccl {

namespace {

class Programmer {
 public:
  Programmer(const Lines& lines, File& file)
      : lines_(lines), file_(file), program_(file.head), input_(file.input), output_(file.output) {}

  CheckedProgram make() {
    std::vector<FileTransfer> transfers;
    for (const bool mode : {true, false}) {
      if (mode ? !file_.in_place : !file_.out_of_place) continue;
      in_place_ = mode;
      make_program();
      errors_.throw_if_any();
      transfers = checked_transfers(program_, places());
      errors_.throw_if_any();
    }
    set_reductions(transfers);
    return {std::move(program_), std::move(transfers)};
  }

 private:
  void fail(const pugi::xml_node& element, const std::string& message) {
    errors_.add(lines_.fault(element, message));
  }
  [[nodiscard]] Places places() {
    return {.fail =
                [this](std::uint32_t place, const std::string& message) {
                  fail(place == kWholeFile ? file_.algo : elements_[place], message);
                },
            .title =
                [this](std::uint32_t place) {
                  const pugi::xml_node block = elements_[place].parent();
                  return fmt::format(
                      "step {} of tb {} of gpu {}", elements_[place].attribute("s").value(),
                      block.attribute("id").value(), block.parent().attribute("id").value());
                }};
  }

  /// Input and output as one buffer, where they are, else behind each other; then scratch, then a
  /// place for what a step receives and does not store.
  [[nodiscard]] std::optional<std::uint64_t> cell_of(const Gpu& gpu, std::uint32_t rank,
                                                     const std::string& buffer, std::int64_t offset,
                                                     std::int64_t count) {
    std::int64_t size = 0;
    std::int64_t base = 0;
    if (buffer == "i") {
      size = input_;
      base =
          in_place_ ? (program_.operation == Operation::all_gather ? rank * input_ : 0) : output_;
    } else if (buffer == "o") {
      size = output_;
      if (in_place_ && program_.operation == Operation::reduce_scatter) base = rank * output_;
    } else if (buffer == "s") {
      size = gpu.scratch;
      base = input_ + output_;
    } else {
      return std::nullopt;
    }
    if (offset + count > size) return std::nullopt;
    return static_cast<std::uint64_t>(base + offset);
  }

  std::optional<Cells> cells_of(const Step& step, std::uint32_t rank, bool source) {
    const std::string& buffer = source ? step.source_buffer : step.destination_buffer;
    const std::int64_t offset = source ? step.source_offset : step.destination_offset;
    const Gpu& gpu = file_.gpus[rank];
    const auto first = cell_of(gpu, rank, buffer, offset, step.count);
    if (first) return Cells{*first, static_cast<std::uint32_t>(step.count)};
    fail(step.element, fmt::format("{} {} to {} lies outside the buffers: i has {} chunks, o {}, "
                                   "s {}",
                                   config::quoted(buffer), offset, offset + step.count - 1, input_,
                                   output_, gpu.scratch));
    return std::nullopt;
  }

  void make_program() {
    program_.actions.clear();
    program_.chains = 0;
    elements_.clear();
    sent_.clear();
    received_.clear();
    registers_.assign(program_.ranks, 0);
    for (std::uint32_t r = 0; r < program_.ranks; ++r) {
      registers_[r] = static_cast<std::uint64_t>(input_ + output_ + file_.gpus[r].scratch);
      for (std::size_t b = 0; b < file_.gpus[r].blocks.size(); ++b) {
        make_block(file_.gpus[r].blocks[b], static_cast<std::uint32_t>(b));
        if (errors_.count() >= config::Errors::kLimit) return;
      }
    }
    if (!errors_.empty()) return;
    for (Gpu& gpu : file_.gpus) join_dependencies(gpu);
    match();
    lay_out();
  }

  void make_block(Block& block, std::uint32_t index) {
    block.first_action.clear();
    for (const Step& step : block.steps) {
      block.first_action.push_back(static_cast<std::uint32_t>(program_.actions.size()));
      elements_.push_back(step.element);
      make_step(block, index, step);
    }
    block.first_action.push_back(static_cast<std::uint32_t>(program_.actions.size()));
    ++program_.chains;
  }

  Action& add(const Block& block, ActionKind kind) {
    Action action;
    action.kind = kind;
    action.rank = block.gpu;
    action.chain = program_.chains;
    action.place = static_cast<std::uint32_t>(elements_.size() - 1);
    program_.actions.push_back(std::move(action));
    return program_.actions.back();
  }

  void make_step(const Block& block, std::uint32_t index, const Step& step) {
    const StepType& type = *step.type;
    const std::uint32_t gpu = block.gpu;
    std::optional<Cells> source;
    std::optional<Cells> destination;
    if (type.uses_source && !(source = cells_of(step, gpu, true))) return;
    if (type.stores && !(destination = cells_of(step, gpu, false))) return;
    const auto self = [&] { return static_cast<std::uint32_t>(program_.actions.size() - 1); };
    std::optional<Cells> held = type.receives ? destination : source;
    if (type.receives) {
      const bool in_register = type.adds && !(destination && source->first == destination->first);
      if (in_register) {
        held = Cells{registers_[gpu], static_cast<std::uint32_t>(step.count)};
        registers_[gpu] += static_cast<std::uint64_t>(step.count);
      }
      Action& receive = add(block, ActionKind::receive);
      receive.to = *held;
      receive.reduce = type.adds && !in_register;
      received_[{block.receive, gpu, block.channel}].push_back(self());
      if (in_register) {
        Action& sum = add(block, ActionKind::local);
        sum.from = *source;
        sum.to = *held;
        sum.reduce = true;
        if (destination) {
          Action& copy = add(block, ActionKind::local);
          copy.from = *held;
          copy.to = *destination;
        }
      }
    } else if (type.stores) {
      Action& local = add(block, ActionKind::local);
      local.from = *source;
      local.to = *destination;
      local.reduce = type.adds;
    } else if (!type.sends) {
      add(block, ActionKind::wait);
    }
    if (!type.sends) return;
    Action& send = add(block, ActionKind::send);
    send.from = *held;
    send.fused = type.receives;
    send.channel = index;
    send.connection = static_cast<std::uint32_t>(block.channel);
    sent_[{gpu, block.send, block.channel}].push_back(self());
  }

  void join_dependencies(const Gpu& gpu) {
    for (const Block& block : gpu.blocks) {
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const Step& step = block.steps[s];
        if (step.depends_on_block < 0) continue;
        const auto other = std::ranges::find(gpu.blocks, step.depends_on_block, &Block::id);
        if (other == gpu.blocks.end() ||
            step.depends_on_step >= static_cast<std::int64_t>(other->steps.size())) {
          fail(step.element, fmt::format("waits for step {} of tb {}, which is not there",
                                         step.depends_on_step, step.depends_on_block));
          continue;
        }
        const auto before = static_cast<std::size_t>(step.depends_on_step);
        if (!other->steps[before].is_waited_for) {
          fail(step.element, fmt::format("waits for step {} of tb {}, whose hasdep is 0: it would "
                                         "wait forever",
                                         step.depends_on_step, step.depends_on_block));
          continue;
        }
        program_.actions[block.first_action[s]].after.push_back(other->first_action[before + 1] -
                                                                1);
      }
    }
  }

  /// The k-th send of a connection goes to its k-th receive.
  void match() {
    for (const auto& [connection, sends] : sent_) {
      const auto found = received_.find(connection);
      const std::vector<std::uint32_t> none;
      const auto& receives = found == received_.end() ? none : found->second;
      match(connection, sends, receives);
    }
    for (const auto& [connection, receives] : received_) {
      if (!sent_.contains(connection)) match(connection, {}, receives);
    }
  }
  using Connection = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  void match(const Connection& connection, const std::vector<std::uint32_t>& sends,
             const std::vector<std::uint32_t>& receives) {
    const auto [from, to, channel] = connection;
    const std::uint32_t first = sends.empty() ? receives.front() : sends.front();
    if (sends.size() != receives.size()) {
      places().fail(program_.actions[first].place,
                    fmt::format("gpu {} sends {} times to gpu {} on channel {}, which receives {} "
                                "times",
                                from, sends.size(), to, channel, receives.size()));
      return;
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      Action& send = program_.actions[sends[i]];
      Action& receive = program_.actions[receives[i]];
      if (send.chain != program_.actions[first].chain ||
          receive.chain != program_.actions[receives.front()].chain) {
        places().fail(send.place, fmt::format("two tbs use channel {} from gpu {} to gpu {}",
                                              channel, from, to));
        return;
      }
      if (send.from.count != receive.to.count) {
        places().fail(send.place,
                      fmt::format("sends {} chunks, but {} receives {}", send.from.count,
                                  places().title(receive.place), receive.to.count));
        return;
      }
      send.partner = receives[i];
      receive.partner = sends[i];
    }
  }

  /// lay_out_by_chunk has the vector in cells 0 …: right for the output, and for both in place.
  void lay_out() {
    const auto own = static_cast<std::uint64_t>(program_.chunks / program_.ranks);
    lay_out_by_chunk(program_);
    for (std::uint32_t r = 0; r < program_.ranks; ++r) {
      if (program_.operation == Operation::all_to_all) {
        // Chunk j of origin o lies in cell o·own + j of the output.
        program_.start[r].front().cells.first = 0;
        for (Stretch& stretch : program_.wanted[r]) stretch.cells.first = stretch.origin * own;
      }
      if (in_place_) continue;
      if (program_.operation == Operation::reduce_scatter)
        program_.wanted[r].front().cells.first = 0;
      for (Stretch& stretch : program_.start[r])
        stretch.cells.first = static_cast<std::uint64_t>(output_);
    }
  }

  /// rrs, and rrc into another place, add behind the receiving.
  void set_reductions(std::vector<FileTransfer>& transfers) const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<bool>> adds;
    for (const Action& action : program_.actions) {
      if (action.kind != ActionKind::send) continue;
      const Action& receive = program_.actions[action.partner];
      const std::string_view type = elements_[receive.place].attribute("type").value();
      adds[{action.rank, action.channel}].push_back(type.starts_with("rr"));
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> next;
    for (FileTransfer& transfer : transfers) {
      const std::pair key{transfer.source, transfer.channel};
      transfer.reduce = adds[key][next[key]++];
    }
  }

  const Lines& lines_;
  File& file_;
  StepProgram program_;
  std::int64_t input_;
  std::int64_t output_;
  config::Errors errors_;
  bool in_place_ = false;
  std::vector<pugi::xml_node> elements_;  ///< [place]
  std::vector<std::uint64_t> registers_;  ///< [gpu] the next free cell
  std::map<Connection, std::vector<std::uint32_t>> sent_;
  std::map<Connection, std::vector<std::uint32_t>> received_;
};

}  // namespace

}  // namespace msccl

CheckedProgram read_msccl(std::string_view text, const std::string& name) {
  const msccl::Lines lines(text, name);
  msccl::File file;
  msccl::read_elements(text, lines, file);
  return msccl::Programmer(lines, file).make();
}

}  // namespace railyard::collective
