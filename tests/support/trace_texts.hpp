// Traces in memory for tests: Chakra messages byte by byte, and reading of texts by a reader's
// name.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/workload/trace_reader.hpp"

namespace railyard::test {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  return out + static_cast<char>(value);
}
inline std::string varint_field(std::uint32_t field, std::uint64_t value) {
  return varint(std::uint64_t{field} << 3U) + varint(value);
}
inline std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return varint((std::uint64_t{field} << 3U) | 2U) + varint(bytes.size()) + std::string(bytes);
}
inline std::string fixed_field(std::uint32_t field, std::uint64_t value, std::size_t bytes) {
  std::string out = varint((std::uint64_t{field} << 3U) | (bytes == 8 ? 1U : 5U));
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
  return out;
}
inline std::string framed(const std::string& message) {
  return varint(message.size()) + message;
}

/// A Chakra file: metadata, then nodes. Attributes are int64 (field 9) unless written by hand.
inline std::string chakra_metadata(std::string_view version = "0.0.4") {
  return framed(bytes_field(1, version));
}
inline std::string attribute(std::string_view name, const std::string& value) {
  return bytes_field(10, bytes_field(1, name) + value);
}
inline std::string attribute(std::string_view name, std::int64_t value) {
  return attribute(name, varint_field(9, static_cast<std::uint64_t>(value)));
}
struct NodeText {
  std::uint64_t id = 0;
  std::string name = "x";
  std::uint64_t type = 4;
  std::uint64_t micros = 0;
  std::vector<std::uint64_t> data_deps{};
  std::string attributes{};
};
inline std::string chakra_node(const NodeText& node) {
  std::string out;
  if (node.id != 0) out += varint_field(1, node.id);
  out += bytes_field(2, node.name) + varint_field(3, node.type);
  std::string packed;
  for (const std::uint64_t id : node.data_deps) packed += varint(id);
  if (!packed.empty()) out += bytes_field(5, packed);
  if (node.micros != 0) out += varint_field(7, node.micros);
  return framed(out + node.attributes);
}
inline std::string chakra_collective(std::uint64_t id, std::int64_t comm_type, std::int64_t size,
                                     std::string_view group = "",
                                     std::vector<std::uint64_t> deps = {}) {
  std::string attributes = attribute("comm_type", comm_type) + attribute("comm_size", size);
  if (!group.empty()) attributes += attribute("pg_name", bytes_field(29, group));
  return chakra_node({.id = id,
                      .name = "c" + std::to_string(id),
                      .type = 7,
                      .data_deps = std::move(deps),
                      .attributes = attributes});
}

/// One text a rank, or one text in all, through a reader; `terms` is the reader's JSON.
inline workload::Trace read_texts(std::string_view reader, const std::vector<std::string>& texts,
                                  std::string_view terms = "{}") {
  std::vector<workload::TraceFile> files;
  std::vector<const config::EntryDescription*> descriptions;
  for (const auto& entry : workload::trace_reader_catalog())
    descriptions.push_back(&entry.description);
  const auto document =
      config::Document::parse_text(terms, "terms").set("/name", "\"" + std::string(reader) + "\"");
  config::Errors errors;
  const auto choice = config::decode_choice(document.root(), errors, "trace reader", descriptions);
  errors.throw_if_any();
  for (const auto& entry : workload::trace_reader_catalog()) {
    if (entry.description.name != choice.name) continue;
    for (std::uint32_t rank = 0; rank < texts.size(); ++rank) {
      files.push_back({entry.one_file_per_rank ? "t." + std::to_string(rank) + ".et" : "t",
                       entry.one_file_per_rank ? std::optional(rank) : std::nullopt, texts[rank]});
    }
    return entry.read(files, choice.parameters);
  }
  throw config::ConfigError("no such reader");
}

/// The first line of why the texts are refused; empty: they are read.
inline std::string refusal(std::string_view reader, const std::vector<std::string>& texts,
                           std::string_view terms = "{}") {
  try {
    static_cast<void>(read_texts(reader, texts, terms));
  } catch (const config::ConfigError& error) {
    return error.lines().front();
  }
  return {};
}

inline bool contains(const std::string& text, std::string_view part) {
  const bool has = text.find(part) != std::string::npos;
  if (!has) MESSAGE("missing \"", std::string(part), "\" in: ", text);
  return has;
}

}  // namespace railyard::test
