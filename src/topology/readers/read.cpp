// read: a file that a reader of the catalog knows. Keys:
//
//   file    path
//   format  name of the reader; default: what the file looks like
//
// and those of the reader (railyard list readers).
#include <fmt/format.h>

#include "railyard/config/file.hpp"
#include "railyard/topology/fabric_reader.hpp"
#include "topology/builders.hpp"

namespace railyard::topology {
namespace {

std::vector<std::string_view> reader_names() {
  std::vector<std::string_view> names;
  for (const ReaderEntry& entry : reader_catalog()) names.push_back(entry.name);
  return names;
}

std::string known_formats() {
  return fmt::format("readers exist for {}", fmt::join(reader_names(), ", "));
}

std::string as_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

const ReaderEntry* chosen_reader(config::Reader& options, const FabricFile& file) {
  const auto names = reader_names();
  if (options.has("format")) {
    const std::size_t before = options.errors().count();
    const std::size_t at = options.required_choice("format", names);
    return options.errors().count() == before ? &reader_catalog()[at] : nullptr;
  }
  const ReaderEntry* entry = recognise(file.name, file.text);
  if (entry == nullptr) {
    options.fail("file", fmt::format("no reader knows {}: {}; name one with \"format\"", file.name,
                                     known_formats()));
  }
  return entry;
}

}  // namespace

std::string FabricFile::place(std::uint32_t line) const {
  return fmt::format("{}:{}", name, line);
}

const ReaderEntry* recognise(std::string_view name, std::string_view text) {
  for (const ReaderEntry& entry : reader_catalog()) {
    if (entry.recognises(text)) return &entry;
  }
  for (const ReaderEntry& entry : reader_catalog()) {
    for (const std::string_view ending : entry.endings) {
      if (name.ends_with(ending)) return &entry;
    }
  }
  return nullptr;
}

Topology build_read(config::Reader& reader) {
  std::filesystem::path path;
  const auto given = reader.required_child("file");
  if (!given || !config::decode(*given, reader.errors(), path)) return {};
  if (!std::filesystem::exists(path)) {
    reader.errors().add(*given, fmt::format("there is no file {}", path.string()));
    return {};
  }
  const FabricFile file{path.string(), config::read_file(path), path.parent_path()};
  const ReaderEntry* entry = chosen_reader(reader, file);
  if (entry != nullptr) return entry->read(file, reader);
  // Which keys there are depends on the reader: without one, none is unknown.
  for (std::size_t i = 0; i < reader.node().size(); ++i)
    static_cast<void>(reader.child(reader.node().key_at(i)));
  return {};
}

config::Document describe_file(const std::filesystem::path& path) {
  const std::string text = config::read_file(path);
  const std::string name = path.filename().string();
  if (recognise(name, text) == nullptr) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = name.ends_with(".json") || first == std::string::npos || text[first] == '{' ||
                      text[first] == '/';
    if (!json) {
      throw config::ConfigError(
          fmt::format("{}: neither a JSON description nor a format that is known; {}",
                      path.string(), known_formats()));
    }
    return config::Document::parse_file(path);
  }
  return config::Document::parse_text(
      fmt::format(R"({{"builder": "read", "file": {}}})", as_json(name)),
      fmt::format("description of {}", path.string()), path.parent_path());
}

config::Node resolve_description(const config::Node& node, config::Errors& errors) {
  if (node.is_object()) return node;
  if (!node.is_string() || node.string().empty()) return config::resolve(node, errors);
  const std::filesystem::path path = (node.directory() / node.string()).lexically_normal();
  if (!std::filesystem::exists(path)) return config::resolve(node, errors);
  try {
    return describe_file(path).root();
  } catch (const config::ConfigError& error) {
    errors.add(error);
    return {};
  }
}

}  // namespace railyard::topology
