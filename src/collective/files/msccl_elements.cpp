#include <fmt/format.h>

#include <algorithm>

#include "collective/files/msccl.hpp"
#include "railyard/config/text_lines.hpp"

namespace railyard::collective::msccl {

namespace {

constexpr std::int64_t kRanksMax = 65'536;
constexpr std::int64_t kChannelsMax = 65'535;

constexpr StepType kTypes[] = {
    {"s", false, false, false, true, true},    {"r", true, false, true, false, false},
    {"rcs", true, false, true, true, false},   {"rrc", true, true, true, false, true},
    {"rrs", true, true, false, true, true},    {"rrcs", true, true, true, true, true},
    {"cpy", false, false, true, false, true},  {"re", false, true, true, false, true},
    {"nop", false, false, false, false, false}};

class Reader {
 public:
  Reader(std::string_view text, const Lines& lines, File& file)
      : text_(text), lines_(lines), file_(file), program_(file.head) {}

  void read() {
    const auto result = file_.document.load_buffer(text_.data(), text_.size());
    if (!result) {
      errors_.add(
          fmt::format("{}: is no XML: {}", lines_.place(result.offset), result.description()));
    }
    errors_.throw_if_any();
    algo_ = file_.document.child("algo");
    if (!algo_) errors_.add(fmt::format("{}: has no element \"algo\"", lines_.place(0)));
    errors_.throw_if_any();
    file_.algo = algo_;
    read_head();
    errors_.throw_if_any();
    read_gpus();
    errors_.throw_if_any();
    count_chunks();
    errors_.throw_if_any();
  }

 private:
  void fail(const pugi::xml_node& element, const std::string& message) {
    errors_.add(lines_.fault(element, message));
  }
  std::string text_of(const pugi::xml_node& element, const char* name) {
    const pugi::xml_attribute value = element.attribute(name);
    if (!value) fail(element, fmt::format("has no {}", name));
    return value.value();
  }
  std::int64_t number(const pugi::xml_node& element, const char* name, std::int64_t least,
                      std::int64_t most) {
    const std::string text = text_of(element, name);
    const auto value = config::parse_integer(text);
    if (value && *value >= least && *value <= most) return *value;
    if (element.attribute(name)) {
      fail(element, fmt::format("{} must be a whole number from {} to {}, not {}", name, least,
                                most, config::quoted(text)));
    }
    return least;
  }
  bool flag(const pugi::xml_node& element, const char* name) {
    return element.attribute(name) && number(element, name, 0, 1) == 1;
  }

  void read_head() {
    program_.name = text_of(algo_, "name");
    program_.ranks = static_cast<std::uint32_t>(number(algo_, "ngpus", 2, kRanksMax));
    static constexpr std::pair<std::string_view, Operation> kColls[] = {
        {"allreduce", Operation::all_reduce},         {"allgather", Operation::all_gather},
        {"reducescatter", Operation::reduce_scatter}, {"reduce_scatter", Operation::reduce_scatter},
        {"broadcast", Operation::broadcast},          {"reduce", Operation::reduce},
        {"alltoall", Operation::all_to_all}};
    const std::string coll = text_of(algo_, "coll");
    const auto* const known =
        std::ranges::find(kColls, coll, &std::pair<std::string_view, Operation>::first);
    if (known == std::end(kColls)) {
      fail(algo_, fmt::format("coll {} is not one of allreduce, allgather, reducescatter, "
                              "broadcast, reduce, alltoall",
                              config::quoted(coll)));
    } else {
      program_.operation = known->second;
    }
    static constexpr std::string_view kProtocols[] = {"LL", "LL128", "Simple"};
    const std::string proto = text_of(algo_, "proto");
    const auto* const protocol = std::ranges::find(kProtocols, proto);
    if (protocol == std::end(kProtocols))
      fail(algo_, fmt::format("proto {} is not one of Simple, LL, LL128", config::quoted(proto)));
    else
      program_.protocol = static_cast<nccl::WireProtocol>(protocol - std::begin(kProtocols));
    if (algo_.attribute("minBytes"))
      program_.size_min = Bytes(number(algo_, "minBytes", 0, INT64_MAX));
    if (algo_.attribute("maxBytes")) {  // 0 and -1: no bound
      const std::int64_t most = number(algo_, "maxBytes", -1, INT64_MAX);
      if (most > 0) program_.size_max = Bytes(most);
    }
    file_.in_place = flag(algo_, "inplace");
    file_.out_of_place = flag(algo_, "outofplace") || !file_.in_place;
  }

  void read_gpus() {
    const auto elements = algo_.children("gpu");
    const auto count = static_cast<std::size_t>(std::distance(elements.begin(), elements.end()));
    if (count != program_.ranks) {
      fail(algo_, fmt::format("ngpus is {}, but there are {} gpus", program_.ranks, count));
      return;
    }
    file_.gpus.resize(count);
    for (const pugi::xml_node element : elements) {
      const auto id = static_cast<std::uint32_t>(
          number(element, "id", 0, static_cast<std::int64_t>(count) - 1));
      if (file_.gpus[id].element) return fail(element, fmt::format("gpu {} stands here twice", id));
      Gpu& gpu = file_.gpus[id];
      gpu.element = element;
      gpu.input = number(element, "i_chunks", 0, kCellsMax);
      gpu.output = number(element, "o_chunks", 0, kCellsMax);
      gpu.scratch = number(element, "s_chunks", 0, kCellsMax);
      for (const pugi::xml_node block : element.children("tb")) read_block(block, id, gpu);
      if (errors_.count() >= config::Errors::kLimit) return;
    }
  }

  void read_block(const pugi::xml_node& element, std::uint32_t gpu, Gpu& into) {
    Block block;
    const auto last = std::int64_t{program_.ranks} - 1;
    block.element = element;
    block.gpu = gpu;
    block.id = number(element, "id", 0, INT32_MAX);
    block.send = number(element, "send", -1, last);
    block.receive = number(element, "recv", -1, last);
    block.channel = number(element, "chan", 0, channels_max());
    if (block.send == gpu || block.receive == gpu)
      fail(element, "a thread block's peer must be another gpu");
    for (const Block& other : into.blocks) {
      if (other.id == block.id) fail(element, fmt::format("tb {} stands here twice", block.id));
    }
    for (const pugi::xml_node step : element.children("step")) {
      read_step(step, block);
      if (errors_.count() >= config::Errors::kLimit) return;
    }
    into.blocks.push_back(std::move(block));
  }
  std::int64_t channels_max() {
    return algo_.attribute("nchannels") ? number(algo_, "nchannels", 1, kChannelsMax) - 1
                                        : kChannelsMax;
  }

  void read_step(const pugi::xml_node& element, Block& block) {
    Step step;
    step.element = element;
    const auto next = static_cast<std::int64_t>(block.steps.size());
    if (number(element, "s", 0, INT32_MAX) != next && element.attribute("s"))
      return fail(element, fmt::format("s must count on: {}", next));
    const std::string type = text_of(element, "type");
    const auto* const known = std::ranges::find(kTypes, type, &StepType::name);
    if (known == std::end(kTypes)) {
      return fail(element, fmt::format("type {} is not one of s, r, rcs, rrc, rrs, rrcs, cpy, re, "
                                       "nop",
                                       config::quoted(type)));
    }
    step.type = known;
    const bool touches_source = known->uses_source;
    const bool touches_destination = known->stores;
    if (touches_source) {
      step.source_buffer = text_of(element, "srcbuf");
      step.source_offset = number(element, "srcoff", 0, kCellsMax);
    }
    if (touches_destination) {
      step.destination_buffer = text_of(element, "dstbuf");
      step.destination_offset = number(element, "dstoff", 0, kCellsMax);
    }
    if (touches_source || touches_destination || known->receives)
      step.count = number(element, "cnt", 1, kCellsMax);
    if (element.attribute("depid")) step.depends_on_block = number(element, "depid", -1, INT32_MAX);
    if (step.depends_on_block >= 0) step.depends_on_step = number(element, "deps", 0, INT32_MAX);
    step.is_waited_for = flag(element, "hasdep");
    if (known->sends && block.send < 0) fail(element, "sends, but its tb has no peer to send to");
    if (known->receives && block.receive < 0)
      fail(element, "receives, but its tb has no peer to receive from");
    block.steps.push_back(std::move(step));
  }

  /// What the buffers say of how the vector is cut.
  void count_chunks() {
    const auto n = std::int64_t{program_.ranks};
    const Gpu& first = file_.gpus.front();
    const bool gathers = program_.operation == Operation::all_gather;
    const bool scatters = program_.operation == Operation::reduce_scatter;
    const std::int64_t chunks = gathers    ? first.output
                                : scatters ? first.input
                                           : std::max(first.input, first.output);
    if (chunks < 1 || (chunks_of_ranks(program_.operation) && chunks % n != 0)) {
      return fail(first.element, fmt::format("{} chunks are no vector that {} can share among {} "
                                             "gpus",
                                             chunks, name(program_.operation), n));
    }
    if (chunks * n > kCellsMax) {
      return fail(algo_, fmt::format("{} gpus of {} chunks are more than {} to check", n, chunks,
                                     kCellsMax));
    }
    program_.chunks = static_cast<std::uint32_t>(chunks);
    if (algo_.attribute("nchunksperloop") &&
        number(algo_, "nchunksperloop", 1, kCellsMax) != chunks) {
      fail(algo_, fmt::format("nchunksperloop must be the {} chunks of the buffers", chunks));
    }
    file_.input = gathers ? chunks / n : chunks;
    file_.output = scatters ? chunks / n : chunks;
  }

  std::string_view text_;
  const Lines& lines_;
  File& file_;
  StepProgram& program_;
  pugi::xml_node algo_;
  config::Errors errors_;
};

}  // namespace

Lines::Lines(std::string_view text, std::string name) : name_(std::move(name)) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ends_.push_back(static_cast<std::ptrdiff_t>(i));
  }
}

std::string Lines::place(std::ptrdiff_t offset) const {
  return fmt::format("{}:{}", name_, std::ranges::lower_bound(ends_, offset) - ends_.begin() + 1);
}

std::string Lines::fault(const pugi::xml_node& element, const std::string& message) const {
  return fmt::format("{}: {}: {}", place(element.offset_debug()), element.name(), message);
}

void read_elements(std::string_view text, const Lines& lines, File& file) {
  Reader(text, lines, file).read();
}

}  // namespace railyard::collective::msccl
