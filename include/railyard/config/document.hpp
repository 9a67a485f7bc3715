// A JSON document whose every value knows where it stands: file, line, column and JSON pointer.
//
// Comments (// and /* */) are allowed. Duplicate keys, unknown keys, missing units and wrong types
// are errors; all errors of a document are collected (limit 20) and reported together as
//   file:line:column /json/pointer: what is wrong, and the nearest valid name.
// Not modelled: writing JSON (report does that).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace railyard::config {

/// The user's input is wrong. what() holds one line per error. Exit code 2.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<std::string> lines);
  explicit ConfigError(const std::string& line) : ConfigError(std::vector<std::string>{line}) {}
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };

class Node;

/// Collects errors with their places; throws them all at once.
class Errors {
 public:
  static constexpr std::size_t kLimit = 20;

  /// Records "place pointer: message". Beyond the limit errors are counted only.
  void add(const Node& where, const std::string& message);
  /// The same at the place of the value's key: for keys that should not be there.
  void add_at_key(const Node& where, const std::string& message);
  void add(const std::string& line);
  /// Takes over the lines of an error thrown by another document.
  void add(const ConfigError& error);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::size_t count() const { return lines_.size() + dropped_; }
  /// Throws ConfigError when anything was recorded.
  void throw_if_any() const;

 private:
  std::vector<std::string> lines_;
  std::size_t dropped_ = 0;
};

namespace detail {
struct Tree;  // the parsed values; private to document.cpp
}

/// A value inside a Document. Cheap to copy; keeps its document alive.
class Node {
 public:
  Node() = default;
  [[nodiscard]] explicit operator bool() const { return tree_ != nullptr; }
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_object() const { return kind() == Kind::object; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::array; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::string; }

  /// Values; the kind must fit (internal check). `real()` also serves integers.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double real() const;
  [[nodiscard]] const std::string& string() const;

  /// Array elements, or object values in file order.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Node at(std::size_t i) const;
  /// Object keys in file order.
  [[nodiscard]] std::string_view key_at(std::size_t i) const;
  [[nodiscard]] std::optional<Node> find(std::string_view key) const;

  /// JSON pointer of this value ("" for the root).
  [[nodiscard]] std::string pointer() const;
  /// "file:line:column"; for a value given by --set: "--set /pointer".
  [[nodiscard]] std::string place() const;
  /// Directory that relative paths in this value are relative to (of its file; empty, the working
  /// directory, for --set).
  [[nodiscard]] std::filesystem::path directory() const;
  /// The value as compact JSON text in file order, for hashes, echoes and derived documents.
  [[nodiscard]] std::string dump() const;

 private:
  friend class Document;
  friend class Errors;
  Node(std::shared_ptr<const detail::Tree> tree, std::uint32_t id)
      : tree_(std::move(tree)), id_(id) {}
  std::shared_ptr<const detail::Tree> tree_;
  std::uint32_t id_ = 0;
};

/// A parsed document. Immutable but for `set`, which makes a changed copy.
class Document {
 public:
  /// Throws ConfigError (missing file, syntax, duplicate keys) or IoError (unreadable).
  static Document parse_file(const std::filesystem::path& path);
  static Document parse_text(std::string_view text, std::string name,
                             std::filesystem::path directory = {});

  [[nodiscard]] Node root() const;
  [[nodiscard]] const std::string& name() const { return name_; }

  /// A copy in which `pointer` holds `value` ("/policies/arnold/placement/alpha", "0.3"). The value
  /// is JSON where it parses as JSON, else a string. The parent must exist; "-" or the array's size
  /// appends. Throws ConfigError naming the pointer's first unknown part and the nearest key.
  /// Relative paths in the value are relative to `directory`, the working directory where it is
  /// empty.
  [[nodiscard]] Document set(std::string_view pointer, std::string_view value,
                             const std::filesystem::path& directory = {}) const;
  /// The same for pointers and values, one after the other.
  [[nodiscard]] Document set(const std::vector<std::pair<std::string, std::string>>& changes) const;

 private:
  std::shared_ptr<const detail::Tree> tree_;
  std::string name_;
};

/// Where an object may be given inline or as the path of a JSON file: the object itself, or the
/// root of that file (relative to node.directory()). On errors they are recorded and the result is
/// an empty Node. Throws IoError for unreadable files.
[[nodiscard]] Node resolve(const Node& node, Errors& errors);

/// JSON string literal of `text`.
[[nodiscard]] std::string json_string(std::string_view text);

/// The candidate nearest to `word` by edit distance (swaps of neighbours count one, capitals
/// nothing), or empty if none is near (distance > max(2, size/3), or no letter in common). The
/// first of equals.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       const std::vector<std::string_view>& candidates);

}  // namespace railyard::config
