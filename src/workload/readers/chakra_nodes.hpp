// A node of a Chakra execution trace, whatever its spelling (protobuf, JSON), and how the nodes of
// a rank become operations.
//
// Schema: mlcommons/chakra et_def.proto. Node types: 0 invalid, 1 metadata, 2 memory load, 3 memory
// store, 4 computation, 5 send, 6 receive, 7 collective.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/readers/readers.hpp"

namespace railyard::workload {

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::uint64_t type = 0;
  std::uint64_t duration_micros = 0;
  std::vector<std::uint64_t> dependencies;  ///< data and control alike
  std::string metadata;                     ///< inputs.values of process_group:init
  std::optional<bool> is_cpu_op;
  std::optional<std::int64_t> comm_type;
  std::optional<std::int64_t> comm_size;
  std::optional<std::int64_t> comm_source;
  std::optional<std::int64_t> comm_destination;
  std::int64_t comm_tag = 0;
  std::optional<std::int64_t> ticks;  ///< railyard_ticks, of our writer
  std::int64_t num_ops = 0;
  std::int64_t tensor_size = 0;
  std::string group;  ///< pg_name

  void clear();
};

/// Terms of both Chakra readers.
struct ChakraTerms {
  bool is_cpu_op = false;  ///< of nodes that do not say
  bool ignore_dangling = false;
  std::optional<double> flops_per_tick;
  std::optional<double> memory_bytes_per_tick;
  explicit ChakraTerms(const config::Parameters& parameters);
};
[[nodiscard]] std::vector<config::ParameterSpec> chakra_parameters();

/// A trace being put together, rank after rank.
class ChakraTrace {
 public:
  ChakraTrace(std::span<const TraceFile> files, const config::Parameters& parameters);

  void begin_rank(std::uint32_t rank, const std::string& file);
  void add(const ChakraNode& node);
  void end_rank();
  /// A process group of this rank: its name and ranks (none: all).
  void define_group(std::string_view name, std::vector<Rank> ranks);
  /// The group that a number of PyTorch's (backend_id) stands for; nothing where it stands for
  /// none.
  [[nodiscard]] const std::string* group_by_number(std::int64_t number) const {
    const auto at = group_numbers_.find(number);
    return at == group_numbers_.end() ? nullptr : &at->second;
  }
  void read_process_groups(const ChakraNode& node);
  /// Something that the reader left out, counted under this sentence.
  void leave_out(const std::string& what) { ++left_out_[what]; }
  void expect_ranks(std::uint32_t ranks) { ranks_ = std::max(ranks_, ranks); }
  [[nodiscard]] Trace finish();

 private:
  void add_collective(const ChakraNode& node, TraceOperation& operation);
  void add_message(const ChakraNode& node, TraceOperation& operation);
  [[nodiscard]] std::uint32_t group_of(const ChakraNode& node);
  [[nodiscard]] Duration compute_time(const ChakraNode& node);
  void read_groups(const std::filesystem::path& path);
  [[nodiscard]] std::string place(const ChakraNode& node) const;
  [[noreturn]] void fail(const ChakraNode& node, const std::string& what) const;

  std::span<const TraceFile> files_;
  const config::Parameters& parameters_;
  ChakraTerms terms_;
  Trace trace_;
  TraceGroups groups_;
  RankTrace* rank_ = nullptr;
  std::uint32_t ranks_ = 0;
  std::map<std::string, std::vector<Rank>, std::less<>> shared_groups_;  ///< comm_group.json
  std::map<std::string, std::vector<Rank>, std::less<>> rank_groups_;    ///< of this rank
  std::map<std::int64_t, std::string> group_numbers_;                    ///< of this rank
  std::map<std::string, std::uint64_t> left_out_;
  std::vector<std::uint64_t> pending_;  ///< dependencies of this rank, as ids
  std::uint64_t without_duration_ = 0;
  std::uint64_t dangling_ = 0;
};

}  // namespace railyard::workload
