// simai: SimAI's topology file (also close to HPCC's), as its gen_Topo_Template.py writes it. Key:
//
//   gpu  name of the GPU kind; default: that of the file ("A100" is that of 80 GB)
//
// Line 1: `nodes gpus_per_server nvswitches switches links GPU_TYPE`. Line 2: the numbers of the
// NVSwitches, then of the other switches; all other nodes are GPUs, gpus_per_server in a row a
// server. Then a cable a line: `src dst rate delay error_rate`. A GPU is its own NIC. Switches next
// to GPUs are leaves, the farthest of three or more levels cores. Losses are not modelled: an error
// rate that is not 0 is refused.
#include <fmt/format.h>

#include <algorithm>

#include "railyard/config/text_lines.hpp"
#include "topology/readers/foreign_file.hpp"
#include "topology/readers/graph_readers.hpp"

namespace railyard::topology {
namespace {

constexpr std::int64_t kFileNodesMax = 4'000'000;
constexpr std::size_t kHeaderWords = 6;

struct Cabling {
  std::size_t from = 0;
  std::size_t to = 0;
  Bandwidth bandwidth;
  Duration latency{};
  std::size_t line = 0;
};

enum class Role : std::uint8_t { gpu, nvswitch, other_switch };

class SimaiReader {
 public:
  SimaiReader(const config::TextLines& lines, config::Errors& errors)
      : lines_(lines), errors_(errors) {}

  /// False where an error was recorded.
  bool read() {
    const std::size_t before = errors_.count();
    if (!read_header()) return false;
    if (!read_switches()) return false;
    for (std::size_t i = 2; i < lines_.size(); ++i) {
      const auto words = config::words_of(lines_[i]);
      if (!words.empty()) read_cable(i, words);
    }
    if (errors_.count() == before && cables_.size() != links_) {
      fail(0, fmt::format("{} links are announced, and {} follow", links_, cables_.size()));
    }
    if (errors_.count() == before && cables_.size() + 1 < roles_.size()) {
      fail(0, fmt::format("{} links cannot join {} nodes", cables_.size(), roles_.size()));
    }
    return errors_.count() == before && find_servers();
  }

  [[nodiscard]] GraphPlan plan() const {
    GraphPlan plan;
    std::size_t gpu = 0;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      switch (roles_[i]) {
        case Role::gpu:
          plan.add_node({fmt::format("gpu-{}", i), NodeKind::gpu, server_name(gpu++ / of_server_)});
          break;
        case Role::nvswitch:
          plan.add_node(
              {fmt::format("nvswitch-{}", i), NodeKind::nvswitch, server_name(*server_of_[i])});
          break;
        case Role::other_switch:
          plan.add_node({fmt::format("switch-{}", i), NodeKind::leaf, {}});
          break;
      }
    }
    for (const Cabling& cable : cables_) {
      plan.add_cable(static_cast<NodeId>(cable.from), static_cast<NodeId>(cable.to),
                     cable.bandwidth, cable.latency);
    }
    plan.infer_switches();
    return plan;
  }

  [[nodiscard]] std::string gpu_kind() const { return gpu_type_ == "A100" ? "A100-80" : gpu_type_; }

 private:
  static std::string server_name(std::size_t number) { return fmt::format("server-{}", number); }
  bool fail(std::size_t line, const std::string& message) {
    errors_.add(fmt::format("{}: {}", lines_.place(line), message));
    return false;
  }

  bool read_header() {
    const auto words =
        lines_.size() > 0 ? config::words_of(lines_[0]) : std::vector<std::string_view>{};
    if (words.size() != kHeaderWords) {
      return fail(0, fmt::format("expected nodes, GPUs a server, NVSwitches, switches, links and "
                                 "the kind of GPU; found {} words",
                                 words.size()));
    }
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i + 1 < kHeaderWords; ++i) {
      const auto value = config::parse_integer(words[i]);
      if (!value || *value < 0 || *value > kFileNodesMax) {
        return fail(0, fmt::format("{} is no number from 0 to {}", config::quoted(words[i]),
                                   kFileNodesMax));
      }
      numbers.push_back(static_cast<std::size_t>(*value));
    }
    roles_.assign(numbers[0], Role::gpu);
    server_of_.resize(numbers[0]);
    of_server_ = numbers[1];
    nvswitches_ = numbers[2];
    switches_ = numbers[2] + numbers[3];
    links_ = numbers[4];
    gpu_type_ = words[5];
    if (switches_ >= roles_.size()) {
      return fail(
          0, fmt::format("{} of {} nodes are switches: no GPU is left", switches_, roles_.size()));
    }
    const std::size_t gpus = roles_.size() - switches_;
    if (of_server_ == 0 || gpus % of_server_ != 0) {
      return fail(0, fmt::format("{} GPUs are no whole servers of {}", gpus, of_server_));
    }
    return true;
  }

  bool read_switches() {
    const auto words =
        lines_.size() > 1 ? config::words_of(lines_[1]) : std::vector<std::string_view>{};
    if (words.size() != switches_) {
      return fail(1, fmt::format("line 1 says {} NVSwitches and switches, here are {}", switches_,
                                 words.size()));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto number = node_at(1, words[i]);
      if (!number) return false;
      if (roles_[*number] != Role::gpu)
        return fail(1, fmt::format("switch {} stands here twice", *number));
      roles_[*number] = i < nvswitches_ ? Role::nvswitch : Role::other_switch;
    }
    return true;
  }

  std::optional<std::size_t> node_at(std::size_t line, std::string_view word) {
    const auto value = config::parse_integer(word);
    if (value && *value >= 0 && static_cast<std::size_t>(*value) < roles_.size())
      return static_cast<std::size_t>(*value);
    fail(line,
         fmt::format("{} is no node: they are 0 to {}", config::quoted(word), roles_.size() - 1));
    return std::nullopt;
  }

  void read_cable(std::size_t line, const std::vector<std::string_view>& words) {
    if (words.size() != 5) {
      fail(line, fmt::format("expected src, dst, rate, delay and error rate; found {} words",
                             words.size()));
      return;
    }
    const auto from = node_at(line, words[0]);
    const auto to = node_at(line, words[1]);
    const auto rate = bandwidth_at(words[2], lines_.place(line), errors_);
    const auto delay = latency_at(words[3], lines_.place(line), errors_);
    const auto loss = config::parse_real(words[4]);
    if (!loss || *loss != 0) {
      fail(line, fmt::format("an error rate of {}: losses are not modelled, it must be 0",
                             config::quoted(words[4])));
      return;
    }
    if (!from || !to || !rate || !delay) return;
    if (*from == *to) {
      fail(line, fmt::format("a cable from node {} to itself", *from));
      return;
    }
    cables_.push_back({*from, *to, *rate, *delay, line});
  }

  /// The server of every NVSwitch, by the GPUs it is cabled to.
  bool find_servers() {
    const std::size_t before = errors_.count();
    std::vector<std::size_t> gpu_number(roles_.size(), 0);
    std::size_t gpus = 0;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i] == Role::gpu) gpu_number[i] = gpus++;
    }
    for (const Cabling& cable : cables_) {
      std::size_t low = cable.from;
      std::size_t high = cable.to;
      if (roles_[low] > roles_[high]) std::swap(low, high);
      if (roles_[low] != Role::gpu) {
        if (roles_[low] == Role::nvswitch)
          fail(cable.line, fmt::format("NVSwitch {} is cabled to switch {}, where only GPUs of its "
                                       "server may be",
                                       low, high));
        continue;
      }
      const std::size_t server = gpu_number[low] / of_server_;
      if (roles_[high] == Role::gpu && server != gpu_number[high] / of_server_)
        fail(cable.line, fmt::format("GPUs {} and {} stand in two servers", low, high));
      if (roles_[high] != Role::nvswitch) continue;
      auto& known = server_of_[high];
      if (known && *known != server) {
        fail(cable.line, fmt::format("NVSwitch {} is in server {} and here in server {}", high,
                                     *known, server));
      }
      known = server;
    }
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i] == Role::nvswitch && !server_of_[i])
        fail(1, fmt::format("NVSwitch {} is cabled to no GPU", i));
    }
    return errors_.count() == before;
  }

  const config::TextLines& lines_;
  config::Errors& errors_;
  std::vector<Role> roles_;
  std::vector<std::optional<std::size_t>> server_of_;  ///< of NVSwitches
  std::size_t of_server_ = 1;
  std::size_t nvswitches_ = 0;
  std::size_t switches_ = 0;
  std::size_t links_ = 0;
  std::string gpu_type_;
  std::vector<Cabling> cables_;
};

}  // namespace

bool is_simai(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const auto words = config::words_of(config::trimmed(text.substr(0, end)));
  if (words.size() != kHeaderWords || config::parse_integer(words.back())) return false;
  return std::all_of(words.begin(), words.end() - 1,
                     [](std::string_view word) { return config::parse_integer(word).has_value(); });
}

Topology read_simai(const FabricFile& file, config::Reader& options) {
  const auto gpu = options.maybe<std::string>("gpu");
  const auto lines = config::TextLines::parse_text(file.text, file.name);
  SimaiReader reader(lines, options.errors());
  if (!reader.read()) return {};
  return build_plan(reader.plan(), "simai", file.name, gpu.value_or(reader.gpu_kind()),
                    options.errors());
}

}  // namespace railyard::topology
