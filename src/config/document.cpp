#include "railyard/config/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/text.hpp"
#include "railyard/config/file.hpp"
#include "railyard/core/check.hpp"

namespace railyard::config {

namespace detail {

struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;  ///< in characters, not bytes, as editors count
};

/// Where values come from: a file, or one --set option.
struct Source {
  std::string name;  ///< file name as given, or the option's pointer
  bool is_option = false;
  std::filesystem::path directory;
};

struct Value {
  Kind kind = Kind::null;
  bool boolean = false;
  std::uint32_t parent = 0;  ///< the root is its own parent
  std::uint32_t source = 0;
  Place place;
  Place key_place;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::string key;
  std::vector<std::uint32_t> children;  ///< in file order
  std::vector<std::uint32_t> by_key;    ///< children of an object, sorted by (key, file order)
};

struct Tree {
  std::vector<Source> sources;
  std::vector<Value> values;
  std::uint32_t root = 0;

  [[nodiscard]] std::string pointer(std::uint32_t id) const {
    const Value& value = values[id];
    // The root; or the top of a --set value that is being parsed and has no parent yet.
    if (value.parent == id) {
      return sources[value.source].is_option ? sources[value.source].name : std::string();
    }
    const Value& parent = values[value.parent];
    std::string part;
    if (parent.kind == Kind::array) {
      const auto at = std::find(parent.children.begin(), parent.children.end(), id);
      part = fmt::format("{}", at - parent.children.begin());
    } else {
      for (const char letter : value.key) {
        if (letter == '~')
          part += "~0";
        else if (letter == '/')
          part += "~1";
        else
          part += letter;
      }
    }
    return pointer(value.parent) + "/" + part;
  }

  [[nodiscard]] std::string place(const Value& value, Place at) const {
    const Source& source = sources[value.source];
    if (source.is_option) return "--set " + source.name;
    return fmt::format("{}:{}:{}", source.name, at.line, at.column);
  }

  /// "place pointer: message"; an option's place already names its pointer.
  [[nodiscard]] std::string line(std::uint32_t id, bool at_key, const std::string& message) const {
    const Value& value = values[id];
    const std::string where = place(value, at_key ? value.key_place : value.place);
    const std::string path = pointer(id);
    const Source& source = sources[value.source];
    if (path.empty() || (source.is_option && source.name == path)) {
      return fmt::format("{}: {}", where, message);
    }
    return fmt::format("{} {}: {}", where, path, message);
  }

  void index_keys(Value& object) {
    object.by_key = object.children;
    std::sort(object.by_key.begin(), object.by_key.end(), [this](std::uint32_t a, std::uint32_t b) {
      const int order = values[a].key.compare(values[b].key);
      return order != 0 ? order < 0 : a < b;
    });
  }

  [[nodiscard]] std::optional<std::uint32_t> find(const Value& object, std::string_view key) const {
    const auto at = std::lower_bound(object.by_key.begin(), object.by_key.end(), key,
                                     [this](std::uint32_t id, std::string_view wanted) {
                                       return std::string_view(values[id].key) < wanted;
                                     });
    if (at == object.by_key.end() || values[*at].key != key) return std::nullopt;
    return *at;
  }
};

}  // namespace detail

namespace {

using detail::Place;
using detail::Tree;
using detail::Value;

/// Deeper documents are refused: no honest input is nested so far, and walks over the tree may
/// recurse.
constexpr std::size_t kDepthMax = 128;

/// Walks over the text beside the parser, which tells kinds and values but not where tokens begin.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (text_.substr(0, 3) == kByteOrderMark) offset_ = 3;
  }

  [[nodiscard]] Place place() const { return place_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] bool done() const { return offset_ >= text_.size(); }
  [[nodiscard]] char front() const { return done() ? '\0' : text_[offset_]; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(offset_); }

  void step() {
    const auto byte = static_cast<unsigned char>(text_[offset_++]);
    if (byte == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if (offset_ >= text_.size() ||
               (static_cast<unsigned char>(text_[offset_]) & 0xc0U) != 0x80U) {
      ++place_.column;
    }
  }

  void skip_blanks() {
    while (!done()) {
      const char letter = front();
      if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') {
        step();
      } else if (rest().substr(0, 2) == "//") {
        while (!done() && front() != '\n') step();
      } else if (rest().substr(0, 2) == "/*" && rest().find("*/", 2) != std::string_view::npos) {
        const std::size_t end = offset_ + rest().find("*/", 2) + 2;
        while (offset_ < end) step();
      } else {
        return;
      }
    }
  }

  /// To the first letter of the next token that is no separator.
  void skip_to_token() {
    skip_blanks();
    while (front() == ',' || front() == ':') {
      step();
      skip_blanks();
    }
  }

  /// Over one well-formed token; its text.
  std::string_view skip_token() {
    const std::size_t begin = offset_;
    if (front() == '"') {
      step();
      while (!done() && front() != '"') {
        if (front() == '\\') step();
        if (!done()) step();
      }
      if (!done()) step();
    } else if (is_word_letter(front())) {
      while (is_word_letter(front())) step();
    } else if (!done()) {
      step();
    }
    return text_.substr(begin, offset_ - begin);
  }

 private:
  static bool is_word_letter(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '+' || letter == '-' || letter == '.' ||
           letter == '_';
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  Place place_;
};

struct Fault {
  std::size_t offset;
  std::string line;
};

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Its complaint without the machinery: from "… while parsing value - invalid literal; last read:
/// …" the middle.
std::string plain_complaint(std::string_view what) {
  const std::size_t dash = what.find(" - ");
  if (dash != std::string_view::npos) what.remove_prefix(dash + 3);
  if (const std::size_t end = what.find("; last read"); end != std::string_view::npos) {
    what = what.substr(0, end);
  }
  return std::string(what);
}

/// The sentence for a syntax error at `scanner`, whose token is the one the parser stopped at.
std::string syntax_message(std::string_view what, Scanner scanner, const Value* open) {
  const bool in_object = open != nullptr && open->kind == Kind::object;
  if (scanner.done()) {
    if (open == nullptr) return "the text is empty; expected a JSON value";
    return fmt::format("the text ends inside the {} that begins at {}:{}; is a '{}' missing?",
                       in_object ? "object" : "array", open->place.line, open->place.column,
                       in_object ? '}' : ']');
  }
  const char first = scanner.front();
  const std::string_view rest = scanner.rest();
  const std::string token(scanner.skip_token());
  if (rest.substr(0, 2) == "/*") return "this comment has no end; expected */";
  if (mentions(what, "missing closing quote") || mentions(what, "U+000A") ||
      mentions(what, "U+000D")) {
    return "this string has no closing quote on its line";
  }
  if (mentions(what, "UTF-8")) return "this string holds bytes that are not UTF-8";
  if (mentions(what, "control character")) {
    return "this string holds a control character; write it as an escape, \\n or \\u0007";
  }
  if (mentions(what, "invalid string")) return plain_complaint(what);
  if (first == '\'') return "strings are written in double quotes, not in single ones";
  if (mentions(what, "number overflow")) return fmt::format("the number {} is too large", token);
  if (mentions(what, "object key")) {
    if (first == '}') return "a comma before '}' must be followed by a key; remove the comma";
    return fmt::format("expected a key in double quotes, found {}", token);
  }
  if (mentions(what, "object separator")) {
    return fmt::format("expected ':' between a key and its value, found {}", token);
  }
  if (mentions(what, "end of input") && open == nullptr) {
    return fmt::format("expected the end of the text after its one value, found {}", token);
  }
  if (mentions(what, "parsing object") || mentions(what, "parsing array")) {
    const char close = in_object ? '}' : ']';
    if (first == '}' || first == ']') {
      return fmt::format("expected ',' or '{}', found '{}'", close, first);
    }
    return fmt::format("expected ',' or '{}' before {}; is a comma missing?", close, token);
  }
  if (first == ']') return "a comma before ']' must be followed by a value; remove the comma";
  if (mentions(what, "invalid number")) return fmt::format("{} is not a JSON number", token);
  if (mentions(what, "invalid literal")) {
    return fmt::format("{} is not a JSON value; strings need double quotes, and numbers are finite",
                       token);
  }
  return fmt::format("expected a value, found {}", token);
}

/// Receives the parser's events and builds the tree.
class Builder {
 public:
  using Json = nlohmann::json;

  Builder(Tree& tree, std::uint32_t source, std::string_view text)
      : tree_(tree), source_(source), scanner_(text) {}

  [[nodiscard]] std::uint32_t top() const { return top_; }
  [[nodiscard]] bool syntax_fault() const { return syntax_fault_; }
  [[nodiscard]] std::vector<Fault>& faults() { return faults_; }

  bool null() { return add(Kind::null); }
  bool boolean(bool value) {
    add(Kind::boolean);
    tree_.values.back().boolean = value;
    return true;
  }
  bool number_integer(Json::number_integer_t value) {
    add(Kind::integer);
    tree_.values.back().integer = value;
    return true;
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    add(Kind::integer);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse(fmt::format("the integer {} does not fit 64 bits", token_));
    }
    tree_.values.back().integer = static_cast<std::int64_t>(value);
    return true;
  }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) {
    add(Kind::real);
    if (!std::isfinite(value)) return refuse(fmt::format("the number {} is too large", token_));
    if (token_.find_first_of(".eE") == std::string_view::npos) {
      return refuse(fmt::format("the integer {} does not fit 64 bits", token_));
    }
    tree_.values.back().real = value;
    return true;
  }
  bool string(std::string& value) {
    add(Kind::string);
    tree_.values.back().text = std::move(value);
    return true;
  }
  bool binary(Json::binary_t& /*value*/) { return false; }

  bool key(std::string& value) {
    scanner_.skip_to_token();
    key_place_ = scanner_.place();
    key_offset_ = scanner_.offset();
    scanner_.skip_token();
    key_ = std::move(value);
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open(Kind::object); }
  bool start_array(std::size_t /*size*/) { return open(Kind::array); }
  bool end_array() { return close(); }
  bool end_object() {
    Value& object = tree_.values[open_.back()];
    tree_.index_keys(object);
    const std::vector<std::uint32_t>& sorted = object.by_key;
    std::size_t first = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      const Value& value = tree_.values[sorted[i]];
      const Value& original = tree_.values[sorted[first]];
      if (value.key != original.key) {
        first = i;
        continue;
      }
      fault(key_offsets_[sorted[i] - first_value_], sorted[i], true,
            fmt::format("duplicate key; it was given first at {}:{}", original.key_place.line,
                        original.key_place.column));
    }
    return close();
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const Json::exception& fault) {
    syntax_fault_ = true;
    if (position <= scanner_.offset()) {
      // The scanner took 01 or 1x for one word where the parser saw two tokens.
      const auto last = static_cast<std::uint32_t>(tree_.values.size() - 1);
      faults_.push_back(
          {offset_, tree_.line(last, false, fmt::format("{} is not a JSON number", token_))});
      return false;
    }
    // The token in question is the last one that begins before the place where the parser stopped.
    scanner_.skip_blanks();
    while (scanner_.front() == ',' || scanner_.front() == ':') {
      Scanner next = scanner_;
      next.step();
      next.skip_blanks();
      if (next.offset() >= position) break;
      scanner_ = next;
    }
    const Value* inside = open_.empty() ? nullptr : &tree_.values[open_.back()];
    const std::string message = syntax_message(fault.what(), scanner_, inside);
    Value here;
    here.source = source_;
    faults_.push_back(
        {scanner_.offset(), fmt::format("{}: {}", tree_.place(here, scanner_.place()), message)});
    return false;
  }

 private:
  bool add(Kind kind) {
    scanner_.skip_to_token();
    Value value;
    value.kind = kind;
    value.source = source_;
    value.place = scanner_.place();
    const auto id = static_cast<std::uint32_t>(tree_.values.size());
    if (tree_.values.empty() || top_ == kNone) first_value_ = id;
    offset_ = scanner_.offset();
    key_offsets_.push_back(key_offset_);
    token_ = scanner_.skip_token();
    if (open_.empty()) {
      top_ = id;
      value.parent = id;
    } else {
      value.parent = open_.back();
      Value& parent = tree_.values[value.parent];
      parent.children.push_back(id);
      if (parent.kind == Kind::object) {
        value.key = std::move(key_);
        value.key_place = key_place_;
      }
    }
    tree_.values.push_back(std::move(value));
    return true;
  }

  bool open(Kind kind) {
    add(kind);
    const auto id = static_cast<std::uint32_t>(tree_.values.size() - 1);
    if (open_.size() >= kDepthMax) {
      Value here = tree_.values[id];
      faults_.push_back({offset_, fmt::format("{}: values are nested more than {} deep",
                                              tree_.place(here, here.place), kDepthMax)});
      return false;
    }
    open_.push_back(id);
    return true;
  }

  bool close() {
    scanner_.skip_to_token();
    scanner_.skip_token();
    open_.pop_back();
    return true;
  }

  bool refuse(const std::string& message) {
    fault(offset_, static_cast<std::uint32_t>(tree_.values.size() - 1), false, message);
    return true;
  }

  void fault(std::size_t offset, std::uint32_t id, bool at_key, const std::string& message) {
    faults_.push_back({offset, tree_.line(id, at_key, message)});
  }

  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  Tree& tree_;
  std::uint32_t source_;
  Scanner scanner_;
  std::vector<std::uint32_t> open_;
  std::uint32_t top_ = kNone;
  std::uint32_t first_value_ = 0;
  std::size_t offset_ = 0;  ///< of the last value
  std::string_view token_;  ///< of the last value
  std::string key_;
  Place key_place_;
  std::size_t key_offset_ = 0;
  std::vector<std::size_t> key_offsets_;  ///< by value, to report faults in file order
  std::vector<Fault> faults_;
  bool syntax_fault_ = false;
};

[[noreturn]] void throw_faults(std::vector<Fault>& faults) {
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.offset < b.offset; });
  Errors errors;
  for (const Fault& fault : faults) errors.add(fault.line);
  errors.throw_if_any();
  RAILYARD_CHECK(false, "the parser stopped without a fault");
  throw InternalError("unreachable");
}

/// The parser takes a zero byte for the end of the text, so one is looked for first.
void refuse_zero_byte(const Tree& tree, std::uint32_t source, std::string_view text) {
  const std::size_t zero = text.find('\0');
  if (zero == std::string_view::npos) return;
  Scanner scanner(text);
  while (scanner.offset() < zero) scanner.step();
  Value here;
  here.source = source;
  throw ConfigError(fmt::format("{}: the text holds a zero byte; is this a JSON file?",
                                tree.place(here, scanner.place())));
}

/// Parses `text` into the tree; the id of its top value, or none when the syntax is wrong and
/// `lenient`.
std::optional<std::uint32_t> parse_into(Tree& tree, std::uint32_t source, std::string_view text,
                                        bool lenient) {
  refuse_zero_byte(tree, source, text);
  Builder builder(tree, source, text);
  const bool good = nlohmann::json::sax_parse(text.begin(), text.end(), &builder,
                                              nlohmann::json::input_format_t::json, true, true);
  // A number too large is a parse error to the parser, but no reason to take the text for a word.
  const bool overflow =
      builder.syntax_fault() && builder.faults().back().line.ends_with("is too large");
  if (lenient && builder.syntax_fault() && !overflow) return std::nullopt;
  if (!good || !builder.faults().empty()) throw_faults(builder.faults());
  return builder.top();
}

/// Splits a JSON pointer into its unescaped parts.
std::vector<std::string> pointer_parts(std::string_view pointer) {
  const auto refuse = [&](std::string_view why) {
    throw ConfigError(fmt::format("--set {}: {}", pointer, why));
  };
  if (pointer.empty() || pointer.front() != '/') {
    refuse("a JSON pointer begins with '/', as /policies/arnold/placement/alpha=0.3");
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      parts.emplace_back();
    } else if (pointer[i] == '~') {
      const char next = i + 1 < pointer.size() ? pointer[i + 1] : '\0';
      if (next != '0' && next != '1') refuse("'~' in a JSON pointer is written ~0, and '/' ~1");
      parts.back() += next == '0' ? '~' : '/';
      ++i;
    } else {
      parts.back() += pointer[i];
    }
  }
  return parts;
}

/// An array index without sign or leading zero.
std::optional<std::size_t> array_index(std::string_view part) {
  std::size_t index = 0;
  const auto [end, fault] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (fault != std::errc{} || end != part.data() + part.size()) return std::nullopt;
  if (part.size() > 1 && part.front() == '0') return std::nullopt;
  return index;
}

/// One step of a --set pointer: the child's place in its parent, or none when it would be new.
class PointerWalk {
 public:
  PointerWalk(const Tree& tree, std::string_view pointer) : tree_(tree), pointer_(pointer) {}

  [[nodiscard]] std::optional<std::uint32_t> child(std::uint32_t id,
                                                   const std::string& part) const {
    const Value& value = tree_.values[id];
    if (value.kind == Kind::object) return tree_.find(value, part);
    if (value.kind == Kind::array) {
      if (part == "-") return std::nullopt;
      const auto i = array_index(part);
      if (!i || *i > value.children.size()) {
        refuse(fmt::format("{} has {} elements; {} is no index of one, and \"-\" appends",
                           named(id), value.children.size(), in_quotes(part)));
      }
      if (*i == value.children.size()) return std::nullopt;
      return value.children[*i];
    }
    refuse(fmt::format("{} at {} is neither an object nor an array, so it has no {}", named(id),
                       tree_.place(value, value.place), in_quotes(part)));
  }

  /// The child of an inner step, which must exist.
  [[nodiscard]] std::uint32_t inner(std::uint32_t id, const std::string& part) const {
    const auto found = child(id, part);
    if (found) return *found;
    std::vector<std::string_view> keys;
    for (const std::uint32_t key : tree_.values[id].children) keys.push_back(tree_.values[key].key);
    if (tree_.values[id].kind == Kind::array) keys.clear();
    refuse(fmt::format("{} has no {}{}", named(id), in_quotes(part), hint(part, keys, "it has")));
  }

 private:
  [[nodiscard]] std::string named(std::uint32_t id) const {
    return id == tree_.root ? "the document" : tree_.pointer(id);
  }
  [[noreturn]] void refuse(const std::string& message) const {
    throw ConfigError(fmt::format("--set {}: {}", pointer_, message));
  }

  const Tree& tree_;
  std::string_view pointer_;
};

void dump_value(const Tree& tree, const Value& value, std::string& out) {
  switch (value.kind) {
    case Kind::null:
      out += "null";
      return;
    case Kind::boolean:
      out += value.boolean ? "true" : "false";
      return;
    case Kind::integer:
      out += fmt::format("{}", value.integer);
      return;
    case Kind::real:
      out += fmt::format("{}", value.real);
      return;
    case Kind::string:
      out += json_string(value.text);
      return;
    case Kind::array:
    case Kind::object:
      break;
  }
  const bool is_object = value.kind == Kind::object;
  out += is_object ? '{' : '[';
  for (std::size_t i = 0; i < value.children.size(); ++i) {
    const Value& child = tree.values[value.children[i]];
    if (i > 0) out += ',';
    if (is_object) out += json_string(child.key) + ":";
    dump_value(tree, child, out);
  }
  out += is_object ? '}' : ']';
}

const Value& value_of(const std::shared_ptr<const Tree>& tree, std::uint32_t id) {
  RAILYARD_CHECK(tree != nullptr, "an empty node has no value");
  return tree->values[id];
}

}  // namespace

ConfigError::ConfigError(std::vector<std::string> lines)
    : std::runtime_error(fmt::format("{}", fmt::join(lines, "\n"))), lines_(std::move(lines)) {}

void Errors::add(const Node& where, const std::string& message) {
  add(where ? where.tree_->line(where.id_, false, message) : message);
}

void Errors::add_at_key(const Node& where, const std::string& message) {
  add(where ? where.tree_->line(where.id_, true, message) : message);
}

void Errors::add(const std::string& line) {
  if (lines_.size() < kLimit) {
    lines_.push_back(line);
  } else {
    ++dropped_;
  }
}

void Errors::add(const ConfigError& error) {
  for (const std::string& line : error.lines()) add(line);
}

void Errors::throw_if_any() const {
  if (lines_.empty()) return;
  std::vector<std::string> lines = lines_;
  if (dropped_ > 0) lines.push_back(fmt::format("… and {} more errors", dropped_));
  throw ConfigError(std::move(lines));
}

Kind Node::kind() const {
  return value_of(tree_, id_).kind;
}

bool Node::boolean() const {
  RAILYARD_CHECK(kind() == Kind::boolean, "{} is no boolean", pointer());
  return value_of(tree_, id_).boolean;
}

std::int64_t Node::integer() const {
  RAILYARD_CHECK(kind() == Kind::integer, "{} is no integer", pointer());
  return value_of(tree_, id_).integer;
}

double Node::real() const {
  if (kind() == Kind::integer) return static_cast<double>(value_of(tree_, id_).integer);
  RAILYARD_CHECK(kind() == Kind::real, "{} is no number", pointer());
  return value_of(tree_, id_).real;
}

const std::string& Node::string() const {
  RAILYARD_CHECK(kind() == Kind::string, "{} is no string", pointer());
  return value_of(tree_, id_).text;
}

std::size_t Node::size() const {
  return value_of(tree_, id_).children.size();
}

Node Node::at(std::size_t i) const {
  const Value& value = value_of(tree_, id_);
  RAILYARD_CHECK(i < value.children.size(), "{} has {} children, not {}", pointer(),
                 value.children.size(), i + 1);
  return Node(tree_, value.children[i]);
}

std::string_view Node::key_at(std::size_t i) const {
  RAILYARD_CHECK(is_object(), "{} is no object", pointer());
  const Value& value = value_of(tree_, id_);
  RAILYARD_CHECK(i < value.children.size(), "{} has {} keys, not {}", pointer(),
                 value.children.size(), i + 1);
  return tree_->values[value.children[i]].key;
}

std::optional<Node> Node::find(std::string_view key) const {
  RAILYARD_CHECK(is_object(), "{} is no object", pointer());
  const auto found = tree_->find(value_of(tree_, id_), key);
  if (!found) return std::nullopt;
  return Node(tree_, *found);
}

std::string Node::pointer() const {
  RAILYARD_CHECK(tree_ != nullptr, "an empty node has no pointer");
  return tree_->pointer(id_);
}

std::string Node::place() const {
  const Value& value = value_of(tree_, id_);
  return tree_->place(value, value.place);
}

std::filesystem::path Node::directory() const {
  return tree_->sources[value_of(tree_, id_).source].directory;
}

std::string Node::dump() const {
  std::string out;
  dump_value(*tree_, value_of(tree_, id_), out);
  return out;
}

Document Document::parse_file(const std::filesystem::path& path) {
  return parse_text(read_file(path), path.string(), path.parent_path());
}

Document Document::parse_text(std::string_view text, std::string name,
                              std::filesystem::path directory) {
  auto tree = std::make_shared<Tree>();
  tree->sources.push_back({name, false, std::move(directory)});
  tree->root = *parse_into(*tree, 0, text, false);
  Document document;
  document.tree_ = std::move(tree);
  document.name_ = std::move(name);
  return document;
}

Node Document::root() const {
  RAILYARD_CHECK(tree_ != nullptr, "an empty document has no root");
  return Node(tree_, tree_->root);
}

Document Document::set(const std::vector<std::pair<std::string, std::string>>& changes) const {
  Document out = *this;
  for (const auto& [pointer, value] : changes) out = out.set(pointer, value);
  return out;
}

Document Document::set(std::string_view pointer, std::string_view text,
                       const std::filesystem::path& directory) const {
  RAILYARD_CHECK(tree_ != nullptr, "an empty document cannot be changed");
  const std::vector<std::string> parts = pointer_parts(pointer);
  const PointerWalk walk(*tree_, pointer);
  std::uint32_t parent = tree_->root;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) parent = walk.inner(parent, parts[i]);
  const auto old = walk.child(parent, parts.back());

  auto tree = std::make_shared<Tree>(*tree_);
  const auto source = static_cast<std::uint32_t>(tree->sources.size());
  tree->sources.push_back({std::string(pointer), true, directory});
  std::optional<std::uint32_t> fresh = parse_into(*tree, source, text, true);
  if (!fresh) {
    tree->values = tree_->values;  // parts parsed before the fault
    Value word;
    word.kind = Kind::string;
    word.source = source;
    word.text = std::string(text);
    fresh = static_cast<std::uint32_t>(tree->values.size());
    tree->values.push_back(std::move(word));
  }
  Value& value = tree->values[*fresh];
  Value& holder = tree->values[parent];
  value.parent = parent;
  if (holder.kind == Kind::object) value.key = parts.back();
  if (old) {
    std::replace(holder.children.begin(), holder.children.end(), *old, *fresh);
  } else {
    holder.children.push_back(*fresh);
  }
  if (holder.kind == Kind::object) tree->index_keys(holder);

  Document document;
  document.tree_ = std::move(tree);
  document.name_ = name_;
  return document;
}

Node resolve(const Node& node, Errors& errors) {
  if (node.is_object()) return node;
  if (!node.is_string() || node.string().empty()) {
    errors.add(node,
               fmt::format("expected an object or the path of a file, found {}", described(node)));
    return {};
  }
  const std::filesystem::path path = (node.directory() / node.string()).lexically_normal();
  if (!std::filesystem::exists(path)) {
    errors.add(node, fmt::format("{}: no such file", path.string()));
    return {};
  }
  try {
    return Document::parse_file(path).root();
  } catch (const ConfigError& error) {
    errors.add(error);
    return {};
  }
}

}  // namespace railyard::config
