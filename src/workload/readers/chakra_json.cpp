// Chakra in JSON, one file a rank, in the layouts that are about:
//
//   {"workload_graph": [{"Id", "Name", "NodeType", "runtime", "data_deps", "comm_type", …}]}
//   protobuf-JSON: nodes of {"id", "name", "type", "durationMicros", "dataDeps", "attr": [{"name",
//   "int64Val"}]}
//   PyTorch's execution trace {"schema": "1.…-chakra.…", "nodes": […]}: calls on the host, of which
//   only the communication is kept (record_param_comms): it has no durations, and its ctrl_deps are
//   who called whom. Its collectives follow each other group by group.
//
// Keys are compared without case and underscores. Durations are microseconds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "railyard/config/json_stream.hpp"
#include "railyard/config/text_lines.hpp"
#include "workload/readers/chakra_nodes.hpp"

namespace railyard::workload {
namespace {

using config::JsonStream;
using Token = JsonStream::Kind;

std::string plain(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return out;
}

/// The number of a name in an enumeration, without prefixes and suffixes.
template <std::size_t N>
std::optional<std::int64_t> numbered(const std::string& word, const std::string_view (&names)[N]) {
  if (const auto number = config::parse_integer(word)) return number;
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == word) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}
constexpr std::string_view kNodeTypes[] = {"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                           "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                           "COMM_RECV_NODE", "COMM_COLL_NODE"};
constexpr std::string_view kCommTypes[] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

/// What stands in inputs.values of a call of PyTorch.
struct CallInputs {
  std::int64_t tensor_bytes = 0;
  std::vector<std::int64_t> numbers;  ///< at the top
  std::vector<std::string> words;     ///< at the top
  std::string group;                  ///< of a pair of words: name, description
};

class FileReader {
 public:
  FileReader(const TraceFile& file, ChakraTrace& trace) : json_(file.open()), trace_(trace) {}

  void read() {
    if (json_.peek() == Token::array) {
      nodes();
    } else {
      json_.object([&](std::string_view key) {
        if (key == "schema") {
          is_torch_ = json_.peek() == Token::string &&
                      json_.string().find_first_of("0123456789") != std::string_view::npos;
        } else if (json_.peek() == Token::array &&
                   (key == "workload_graph" || key == "nodes" || key == "node")) {
          nodes();
        } else {
          json_.skip();
        }
      });
    }
    json_.finish();
    if (!found_) json_.fail("no list of nodes: workload_graph, nodes or node");
  }

 private:
  void nodes() {
    found_ = true;
    json_.array([&] { node(); });
  }

  std::uint64_t unsigned_integer() {
    const auto value = json_.integer();
    if (!value || *value < 0) json_.fail("expected a whole number from 0 on");
    return static_cast<std::uint64_t>(*value);
  }

  void dependencies() {
    if (json_.peek() == Token::array) {
      json_.array([&] { node_.dependencies.push_back(unsigned_integer()); });
    } else {
      node_.dependencies.push_back(unsigned_integer());
    }
  }

  void node() {
    node_.clear();
    inputs_ = {};
    dtype_.clear();
    elements_ = 0;
    json_.object([&](std::string_view name) {
      const std::string key = plain(name);
      if (key == "id") {
        node_.id = unsigned_integer();
      } else if (key == "name") {
        node_.name = json_.scalar();
      } else if (key == "datadeps" || key == "ctrldeps") {
        if (is_torch_) {
          json_.skip();
        } else {
          dependencies();
        }
      } else if (key == "inputs") {
        inputs();
      } else if ((key == "attr" || key == "attrs") && json_.peek() == Token::array) {
        json_.array([&] { attribute(); });
      } else if (json_.peek() == Token::object || json_.peek() == Token::array) {
        json_.skip();
      } else {
        set(key, json_.scalar());
      }
    });
    if (is_torch_) {
      torch_node();
    } else {
      trace_.add(node_);
    }
  }

  /// {"name": …, "<type>Val": …} or {"name": …, "type": …, "value": …}
  void attribute() {
    std::string name;
    std::string value;
    json_.object([&](std::string_view key) {
      if (key == "name") {
        name = json_.scalar();
      } else if (key == "type" || key == "docString" || key == "doc_string") {
        json_.skip();
      } else {
        value = json_.scalar();
      }
    });
    set(plain(name), value);
  }

  std::int64_t whole(const std::string& key, const std::string& value) {
    const auto real = config::parse_real(value);
    if (value.empty()) return 0;
    if (!real || std::abs(*real) > 9e15 || std::trunc(*real) != *real)
      json_.fail(fmt::format("{}: expected a whole number, found {}", key, config::quoted(value)));
    return static_cast<std::int64_t>(*real);
  }

  void set(const std::string& key, const std::string& value) {
    if (key == "nodetype" || (key == "type" && !is_torch_)) {
      const auto type = numbered(value, kNodeTypes);
      if (!type || *type < 0)
        json_.fail(fmt::format("{} is no type of node", config::quoted(value)));
      node_.type = static_cast<std::uint64_t>(*type);
    } else if (key == "runtime" || key == "durationmicros") {
      const auto micros = config::parse_real(value);
      if (!micros || *micros < 0 || *micros > 9e15)
        json_.fail(fmt::format("{} is no duration", config::quoted(value)));
      node_.duration_micros = static_cast<std::uint64_t>(std::llround(*micros));
    } else if (key == "iscpuop") {
      node_.is_cpu_op = value == "true" || value == "True" || value == "1";
    } else if (key == "commtype") {
      node_.comm_type = numbered(value, kCommTypes);
      if (!node_.comm_type)
        json_.fail(fmt::format("comm_type {} is unknown", config::quoted(value)));
    } else if (key == "commsize") {
      node_.comm_size = whole(key, value);
    } else if (key == "commsrc") {
      node_.comm_source = whole(key, value);
    } else if (key == "commdst") {
      node_.comm_destination = whole(key, value);
    } else if (key == "commtag") {
      node_.comm_tag = whole(key, value);
    } else if (key == "numops") {
      node_.num_ops = whole(key, value);
    } else if (key == "tensorsize") {
      node_.tensor_size = whole(key, value);
    } else if (key == "pgname") {
      node_.group = value;
    } else if (key == "dtype") {
      dtype_ = value;
    } else if (key == "inmsgnelems") {
      elements_ = whole(key, value);
    }
  }

  void inputs() {
    json_.object([&](std::string_view key) {
      if (key != "values") return json_.skip();
      if (json_.peek() != Token::array) {
        node_.metadata = json_.scalar();
        return;
      }
      json_.array([&] { input(); });
      // PyTorch gives the process groups as a string in the list.
      for (const std::string& word : inputs_.words) {
        if (word.starts_with('[')) node_.metadata = word;
      }
    });
  }

  void input() {
    switch (json_.peek()) {
      case Token::array:
        list();
        return;
      case Token::number:
        inputs_.numbers.push_back(json_.integer().value_or(0));
        return;
      case Token::string:
        inputs_.words.emplace_back(json_.string());
        return;
      default:
        json_.skip();
    }
  }

  /// A tensor is [id, storage, offset, elements, bytes of one, device]; a group ["0",
  /// "default_pg"].
  void list() {
    std::vector<std::int64_t> numbers;
    std::vector<std::string> words;
    json_.array([&] {
      if (json_.peek() == Token::array) {
        list();
      } else if (json_.peek() == Token::number) {
        numbers.push_back(json_.integer().value_or(0));
      } else if (json_.peek() == Token::string) {
        words.emplace_back(json_.string());
      } else {
        json_.skip();
      }
    });
    if (numbers.size() == 5 && words.size() == 1 && numbers[3] >= 0 &&
        numbers[3] < kTraceBytesMax && numbers[4] > 0 && numbers[4] <= 16)
      inputs_.tensor_bytes =
          std::min(inputs_.tensor_bytes + numbers[3] * numbers[4], kTraceBytesMax);
    if (numbers.empty() && words.size() == 2) inputs_.group = words[0];
  }

  void torch_node() {
    if (node_.name.find("process_group:init") != std::string::npos) {
      if (!node_.metadata.empty()) trace_.read_process_groups(node_);
      return;
    }
    if (node_.name != "record_param_comms") return;
    TorchCall call;
    for (const std::string& word : inputs_.words) {
      const TorchCall known = torch_call(word);
      if (known.kind || known.is_wait) call = known;
    }
    if (call.is_wait) return;
    if (!call.kind || *call.kind == TraceKind::send || *call.kind == TraceKind::receive) {
      trace_.leave_out(
          "calls left out: messages to one rank, whose peer is not stated, and others "
          "that are no collective");
      return;
    }
    node_.type = 7;
    node_.dependencies.clear();
    if (node_.group.empty()) node_.group = inputs_.group;
    for (const std::int64_t number : inputs_.numbers) {
      const std::string* name = trace_.group_by_number(number);
      if (name != nullptr && node_.group.empty()) node_.group = *name;
    }
    static constexpr std::int64_t kTypes[] = {0, 2, 7, 5, 6};  // by collective::Operation
    node_.comm_type =
        *call.kind == TraceKind::barrier ? 9 : kTypes[static_cast<std::size_t>(call.operation)];
    const std::int64_t bytes = torch_dtype_bytes(dtype_);
    node_.comm_size = elements_ > 0 && bytes > 0 && elements_ < kTraceBytesMax / bytes
                          ? elements_ * bytes
                          : inputs_.tensor_bytes;
    trace_.add(node_);
  }

  JsonStream json_;
  ChakraTrace& trace_;
  ChakraNode node_;
  CallInputs inputs_;
  std::string dtype_;
  std::int64_t elements_ = 0;
  bool is_torch_ = false;
  bool found_ = false;
};

}  // namespace

bool is_chakra_json(std::string_view head) {
  const std::string_view text = config::trimmed(head);
  if (!text.starts_with('{') && !text.starts_with('[')) return false;
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  return has("\"workload_graph\"") || has("-chakra.") || has("\"durationMicros\"") ||
         has("COMM_COLL_NODE") || (has("\"schema\"") && has("\"nodes\""));
}

Trace read_chakra_json(std::span<const TraceFile> files, const config::Parameters& terms) {
  ChakraTrace trace(files, terms);
  for (const TraceFile& file : files) {
    trace.begin_rank(file.rank.value_or(0), file.path.string());
    FileReader(file, trace).read();
    trace.end_rank();
  }
  return trace.finish();
}

}  // namespace railyard::workload
