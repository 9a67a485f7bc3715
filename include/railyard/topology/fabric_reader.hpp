// Readers turn what real clusters and other tools print into a Topology.
//
// {"builder": "read", "file": "cluster.ibnetdiscover", "gpu": "H100-80", …} reads a file; where a
// scenario or a command names such a file instead of a description, `describe_file` writes that
// object for it. Which reader serves is told by "format", else by what the file holds, else by how
// its name ends. A file that contradicts itself is refused with the lines that do, never repaired.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/config/reader.hpp"
#include "railyard/topology/graph.hpp"

namespace railyard::topology {

/// A file's text, with what is needed to name a place in it.
struct FabricFile {
  std::string name;
  std::string text;
  /// Of the file, for files that it names.
  std::filesystem::path directory{};

  [[nodiscard]] std::string place(std::uint32_t line) const;  ///< "file:line"
};

/// `list readers`: one row per format.
struct ReaderEntry {
  std::string_view name;
  std::string_view summary;
  /// How names of such files end, with the dot (".topo"), or whole names ("topology.conf").
  std::vector<std::string_view> endings;
  /// Does the text look like this format? Sure signs only; all readers are asked, in order of
  /// their names.
  bool (*recognises)(std::string_view text);
  /// Keys of the description, beside "file" and "format".
  std::vector<std::string_view> keys;
  /// Reads its keys from `options`, records errors there and then returns an empty topology. The
  /// caller checks that no key is left and that every GPU reaches every other.
  Topology (*read)(const FabricFile& file, config::Reader& options);
};
[[nodiscard]] std::span<const ReaderEntry> reader_catalog();

/// The reader for a file of this name and text; null where none knows it.
[[nodiscard]] const ReaderEntry* recognise(std::string_view name, std::string_view text);

/// The description in a file: its JSON, or for a file that a reader knows the object {"builder":
/// "read", "file": …}. Throws ConfigError where the file is missing or is neither.
[[nodiscard]] config::Document describe_file(const std::filesystem::path& path);
/// As config::resolve, for a description of a fabric: the object itself, or that of the file.
[[nodiscard]] config::Node resolve_description(const config::Node& node, config::Errors& errors);

}  // namespace railyard::topology
