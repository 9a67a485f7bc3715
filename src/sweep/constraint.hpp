// Conditions between numbers of a sweep's points: "alpha + beta = 1", "2 * a <= b - 0.5".
//
// Both sides are sums of terms, a term a number, a name, or both with a *. Equalities hold within
// 1e-9 of the larger side.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace railyard::sweep {

using Values = std::map<std::string, double, std::less<>>;

class Constraint {
 public:
  /// Empty when the text is none; `why` says what is wrong.
  [[nodiscard]] static std::optional<Constraint> parse(std::string_view text, std::string& why);

  [[nodiscard]] bool holds(const Values& values) const;
  /// The one value of `name` with which an equality holds; empty where that is none or any.
  [[nodiscard]] std::optional<double> solve(std::string_view name, const Values& values) const;
  [[nodiscard]] bool is_equality() const { return relation_ == "="; }
  /// The names in it, with their coefficients (left minus right).
  [[nodiscard]] const Values& coefficients() const { return coefficients_; }

 private:
  /// Left side minus right side.
  [[nodiscard]] double difference(const Values& values, double& size) const;

  Values coefficients_;
  double constant_ = 0;
  std::string relation_;
};

}  // namespace railyard::sweep
