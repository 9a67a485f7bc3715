// MSCCL's algorithm files (microsoft/msccl, NCCL's and RCCL's interpreter of them): per GPU buffers
// of chunks, input (i), output (o) and scratch (s), and thread blocks that run their steps one
// after the other, each with at most one peer to send to and one to receive from.
//
//   s     sends src                       r     receives into dst
//   rcs   receives into dst and sends it  rrc   receives, adds src, stores in dst
//   rrs   receives, adds src, sends       rrcs  receives, adds src, stores in dst and sends
//   cpy   dst = src                       re    dst += src
//   nop   waits only
//
// A step waits for step `deps` of thread block `depid` of its GPU, which must have `hasdep`.
// Messages of one sender, receiver and channel match in order. With `inplace` input and output are
// one buffer (of all_gather and reduce_scatter: the rank's part of the larger); with `outofplace`,
// or without either, they are two. A file that says both must be right in both. The loops that the
// interpreter makes of a long vector are one here: the vector is cut into nchunksperloop chunks.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "collective/files/step_program.hpp"
#include "railyard/config/document.hpp"

namespace railyard::collective::msccl {

inline constexpr std::int64_t kCellsMax = std::int64_t{1} << 20U;

/// What a step's type does.
struct StepType {
  std::string_view name;
  bool receives = false;
  bool adds = false;    ///< adds src to what is received, or to dst
  bool stores = false;  ///< in dst
  bool sends = false;
  bool uses_source = false;
};
struct Step {
  const StepType* type = nullptr;
  pugi::xml_node element;
  std::string source_buffer;
  std::string destination_buffer;
  std::int64_t source_offset = 0;
  std::int64_t destination_offset = 0;
  std::int64_t count = 0;
  std::int64_t depends_on_block = -1;
  std::int64_t depends_on_step = -1;
  bool is_waited_for = false;
};

struct Block {
  pugi::xml_node element;
  std::uint32_t gpu = 0;
  std::int64_t id = 0;
  std::int64_t send = -1;
  std::int64_t receive = -1;
  std::int64_t channel = 0;
  std::vector<Step> steps;
  std::vector<std::uint32_t> first_action;  ///< [step]; one more for the end
};

struct Gpu {
  pugi::xml_node element;
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t scratch = 0;
  std::vector<Block> blocks;
};

/// A file whose elements are read and make sense one by one. Keeps its text's elements.
struct File {
  pugi::xml_document document;
  pugi::xml_node algo;
  StepProgram head;  ///< all but the actions
  std::vector<Gpu> gpus;
  std::int64_t input = 0;  ///< chunks of each buffer
  std::int64_t output = 0;
  bool in_place = false;
  bool out_of_place = false;
};

/// Finds the lines of elements, for messages.
class Lines {
 public:
  Lines(std::string_view text, std::string name);
  [[nodiscard]] std::string place(std::ptrdiff_t offset) const;
  /// "file:line: element: message"
  [[nodiscard]] std::string fault(const pugi::xml_node& element, const std::string& message) const;

 private:
  std::string name_;
  std::vector<std::ptrdiff_t> ends_;
};

/// Throws config::ConfigError with all faults.
void read_elements(std::string_view text, const Lines& lines, File& file);

}  // namespace railyard::collective::msccl
