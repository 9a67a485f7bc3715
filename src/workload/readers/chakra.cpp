// Chakra execution traces in protobuf (.et): a stream of (varint length, message); the first
// message is GlobalMetadata, the others are Nodes. One file a rank, "<prefix>.<rank>.et".
//
// Generators write integers in whatever width they like (int32 … sfixed64), so any is read; id 0 is
// absent on the wire. Durations are microseconds. comm_type of sends and receives is ignored:
// custom collectives fill it with 5 and 6.
#include <protozero/pbf_reader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "railyard/config/text_lines.hpp"
#include "workload/readers/chakra_nodes.hpp"

namespace railyard::workload {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr std::size_t kMessageMax = std::size_t{64} << 20U;

std::string_view view(pbf_reader& message) {
  const auto data = message.get_view();
  return {data.data(), data.size()};
}

/// The one value of an AttributeProto; the field numbers are those of et_def.proto.
struct Attribute {
  std::string_view name;
  std::optional<std::int64_t> integer;
  std::string_view text;
  bool has_text = false;
};

void read_value(pbf_reader& message, Attribute& out) {
  switch (message.tag_and_type()) {
    case tag_and_type(1, pbf_wire_type::length_delimited):
      out.name = view(message);
      return;
    case tag_and_type(3, pbf_wire_type::fixed64):
      out.integer = std::llround(std::clamp(message.get_double(), -9e18, 9e18));
      return;
    case tag_and_type(5, pbf_wire_type::fixed32):
      out.integer = std::llround(std::clamp(static_cast<double>(message.get_float()), -9e18, 9e18));
      return;
    case tag_and_type(7, pbf_wire_type::varint):
      out.integer = message.get_int32();
      return;
    case tag_and_type(9, pbf_wire_type::varint):
      out.integer = message.get_int64();
      return;
    case tag_and_type(11, pbf_wire_type::varint):
      out.integer = message.get_uint32();
      return;
    case tag_and_type(13, pbf_wire_type::varint):
      out.integer = static_cast<std::int64_t>(message.get_uint64());
      return;
    case tag_and_type(15, pbf_wire_type::varint):
      out.integer = message.get_sint32();
      return;
    case tag_and_type(17, pbf_wire_type::varint):
      out.integer = message.get_sint64();
      return;
    case tag_and_type(19, pbf_wire_type::fixed32):
      out.integer = message.get_fixed32();
      return;
    case tag_and_type(21, pbf_wire_type::fixed64):
      out.integer = static_cast<std::int64_t>(message.get_fixed64());
      return;
    case tag_and_type(23, pbf_wire_type::fixed32):
      out.integer = message.get_sfixed32();
      return;
    case tag_and_type(25, pbf_wire_type::fixed64):
      out.integer = message.get_sfixed64();
      return;
    case tag_and_type(27, pbf_wire_type::varint):
      out.integer = message.get_bool() ? 1 : 0;
      return;
    case tag_and_type(29, pbf_wire_type::length_delimited):
      out.text = view(message);
      out.has_text = true;
      return;
    default:
      message.skip();
  }
}

void read_attribute(pbf_reader message, ChakraNode& node) {
  Attribute attribute;
  while (message.next()) read_value(message, attribute);
  const std::string_view name = attribute.name;
  if (attribute.has_text && name == "pg_name") {
    node.group = std::string(attribute.text);
    return;
  }
  if (attribute.has_text && !attribute.integer)
    attribute.integer = config::parse_integer(attribute.text);
  const std::int64_t value = attribute.integer.value_or(0);
  if (name == "is_cpu_op") node.is_cpu_op = value != 0;
  if (name == "comm_type") node.comm_type = value;
  if (name == "comm_size") node.comm_size = value;
  if (name == "comm_src") node.comm_source = value;
  if (name == "comm_dst") node.comm_destination = value;
  if (name == "comm_tag") node.comm_tag = value;
  if (name == "railyard_ticks") node.ticks = value;
  if (name == "num_ops") node.num_ops = value;
  if (name == "tensor_size") node.tensor_size = value;
  if (name == "pg_name") node.group = fmt::format("{}", value);
}

void read_dependencies(pbf_reader& message, ChakraNode& node) {
  if (message.wire_type() == pbf_wire_type::varint) {  // not packed
    node.dependencies.push_back(message.get_uint64());
    return;
  }
  for (const std::uint64_t id : message.get_packed_uint64()) node.dependencies.push_back(id);
}

void read_node(pbf_reader message, ChakraNode& node) {
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::varint):
        node.id = message.get_uint64();
        break;
      case tag_and_type(2, pbf_wire_type::length_delimited):
        node.name = std::string(view(message));
        break;
      case tag_and_type(3, pbf_wire_type::varint):
        node.type = message.get_uint64();
        break;
      case tag_and_type(4, pbf_wire_type::varint):
      case tag_and_type(4, pbf_wire_type::length_delimited):
      case tag_and_type(5, pbf_wire_type::varint):
      case tag_and_type(5, pbf_wire_type::length_delimited):
        read_dependencies(message, node);
        break;
      case tag_and_type(7, pbf_wire_type::varint):
        node.duration_micros = message.get_uint64();
        break;
      case tag_and_type(8, pbf_wire_type::length_delimited): {
        pbf_reader inputs = message.get_message();
        while (inputs.next()) {
          if (inputs.tag() == 1 && inputs.wire_type() == pbf_wire_type::length_delimited) {
            node.metadata = std::string(view(inputs));
          } else {
            inputs.skip();
          }
        }
        break;
      }
      case tag_and_type(10, pbf_wire_type::length_delimited):
        read_attribute(message.get_message(), node);
        break;
      default:
        message.skip();
    }
  }
}

/// Takes the length of the next message off the stream; empty at the end.
std::optional<std::size_t> take_length(config::ByteStream& in) {
  if (!in.fill()) return std::nullopt;
  std::uint64_t length = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (!in.fill())
      throw config::ConfigError(fmt::format("{}: cut off at byte {}", in.name(), in.offset()));
    const auto byte = static_cast<unsigned char>(in.rest().front());
    in.skip(1);
    length |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) break;
  }
  if (length > kMessageMax) {
    throw config::ConfigError(fmt::format(
        "{}: a message of {} bytes at byte {}: this is no Chakra trace, or it is damaged",
        in.name(), length, in.offset()));
  }
  return static_cast<std::size_t>(length);
}

void read_file(const TraceFile& file, ChakraTrace& trace) {
  config::ByteStream in = file.open();
  trace.begin_rank(file.rank.value_or(0), in.name());
  ChakraNode node;
  bool is_metadata = true;
  while (const auto length = take_length(in)) {
    if (!in.need(*length))
      throw config::ConfigError(
          fmt::format("{}: cut off: a message of {} bytes at byte {}, {} left", in.name(), *length,
                      in.offset(), in.rest().size()));
    if (!std::exchange(is_metadata, false)) {
      try {
        node.clear();
        read_node(pbf_reader(in.rest().data(), *length), node);
      } catch (const protozero::exception& fault) {
        throw config::ConfigError(fmt::format("{}: the message at byte {} is damaged: {}",
                                              in.name(), in.offset(), fault.what()));
      }
      trace.add(node);
    }
    in.skip(*length);
  }
  if (is_metadata) throw config::ConfigError(fmt::format("{}: is empty", in.name()));
  trace.end_rank();
}

}  // namespace

/// A first message whose first field is a version of digits and dots.
bool is_chakra(std::string_view head) {
  std::size_t at = 0;
  while (at < head.size() && at < 5 && (static_cast<unsigned char>(head[at]) & 0x80U) != 0) ++at;
  ++at;
  if (at + 2 >= head.size() || head[at] != '\x0a') return false;
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(head[at + 1]));
  const std::string_view version = head.substr(at + 2, length);
  return length > 0 && length < 32 && version.size() == length &&
         version.find_first_not_of("0123456789.abcdefghijklmnopqrstuvwxyz-") ==
             std::string_view::npos;
}

Trace read_chakra(std::span<const TraceFile> files, const config::Parameters& terms) {
  ChakraTrace trace(files, terms);
  for (const TraceFile& file : files) read_file(file, trace);
  return trace.finish();
}

}  // namespace railyard::workload
