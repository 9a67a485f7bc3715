#include "constraint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace railyard::sweep {

namespace {

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

/// Words, numbers and signs, one after the other.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) { next(); }
  [[nodiscard]] std::string_view now() const { return now_; }

  void next() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    std::size_t length = rest_.empty() ? 0 : 1;
    if (!rest_.empty() && (is_name_letter(rest_[0]) || rest_[0] == '.')) {
      const auto belongs = [this](std::size_t at) {
        if (is_name_letter(rest_[at]) || rest_[at] == '.') return true;
        // The sign of an exponent: 1e-3.
        return (rest_[at] == '-' || rest_[at] == '+') && rest_[at - 1] == 'e' && rest_[0] <= '9';
      };
      while (length < rest_.size() && belongs(length)) ++length;
    } else if (rest_.size() > 1 && rest_[1] == '=' && (rest_[0] == '<' || rest_[0] == '>')) {
      length = 2;
    }
    now_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

 private:
  std::string_view rest_;
  std::string_view now_;
};

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (word.empty() || error != std::errc{} || stop != end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

bool is_name(std::string_view word) {
  return !word.empty() && is_name_letter(word[0]) && (word[0] < '0' || word[0] > '9') &&
         std::all_of(word.begin(), word.end(), is_name_letter);
}

/// Adds `sign` times one term; false where there is none.
bool add_term(Words& words, double sign, Values& coefficients, double& constant) {
  double factor = sign;
  std::string name;
  while (true) {
    if (const auto number = number_of(words.now())) {
      factor *= *number;
    } else if (is_name(words.now()) && name.empty()) {
      name = words.now();
    } else {
      return false;
    }
    words.next();
    if (words.now() != "*") break;
    words.next();
  }
  if (name.empty()) {
    constant += factor;
  } else {
    coefficients[name] += factor;
  }
  return true;
}

bool add_side(Words& words, double sign, Values& coefficients, double& constant) {
  double term = sign;
  if (words.now() == "-") {
    term = -sign;
    words.next();
  }
  while (true) {
    if (!add_term(words, term, coefficients, constant)) return false;
    if (words.now() != "+" && words.now() != "-") return true;
    term = words.now() == "+" ? sign : -sign;
    words.next();
  }
}

}  // namespace

std::optional<Constraint> Constraint::parse(std::string_view text, std::string& why) {
  Words words(text);
  Constraint out;
  const auto fault = [&](std::string_view wanted) {
    why =
        fmt::format("expected {} at \"{}\"; write it as \"alpha + beta = 1\"", wanted, words.now());
    return std::nullopt;
  };
  if (!add_side(words, 1, out.coefficients_, out.constant_)) return fault("a number or a name");
  out.relation_ = words.now();
  if (out.relation_ != "=" && out.relation_ != "<=" && out.relation_ != ">=" &&
      out.relation_ != "<" && out.relation_ != ">") {
    return fault("=, <=, >=, < or >");
  }
  words.next();
  if (!add_side(words, -1, out.coefficients_, out.constant_)) return fault("a number or a name");
  if (!words.now().empty()) return fault("the end");
  if (out.coefficients_.empty()) return fault("a name");
  return out;
}

double Constraint::difference(const Values& values, double& size) const {
  double sum = constant_;
  size = std::abs(constant_);
  for (const auto& [name, coefficient] : coefficients_) {
    const double term = coefficient * values.at(name);
    sum += term;
    size = std::max(size, std::abs(term));
  }
  return sum;
}

bool Constraint::holds(const Values& values) const {
  double size = 0;
  const double left = difference(values, size);
  const double close = 1e-9 * size;
  if (relation_ == "=") return std::abs(left) <= close;
  if (relation_ == "<=") return left <= close;
  if (relation_ == ">=") return left >= -close;
  return relation_ == "<" ? left < 0 : left > 0;
}

std::optional<double> Constraint::solve(std::string_view name, const Values& values) const {
  const auto own = coefficients_.find(name);
  if (!is_equality() || own == coefficients_.end() || own->second == 0.0) return std::nullopt;
  double sum = constant_;
  for (const auto& [other, coefficient] : coefficients_) {
    if (other != name) sum += coefficient * values.at(other);
  }
  return -sum / own->second;
}

}  // namespace railyard::sweep
