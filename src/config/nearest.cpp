#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "railyard/config/document.hpp"
#include "railyard/config/text_lines.hpp"

namespace railyard::config {
namespace {

/// Edit distance with swaps of neighbours (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string wanted = lowered(word);
  const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  std::string_view best;
  std::size_t best_distance = limit + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), word.size());
    const std::size_t shorter = std::min(candidate.size(), word.size());
    if (longer - shorter >= best_distance) continue;
    const std::size_t found = distance(wanted, lowered(candidate));
    // `found < longer`: words without a letter in common are not near, however short they are.
    if (found < best_distance && found < longer) {
      best = candidate;
      best_distance = found;
    }
  }
  return best;
}

}  // namespace railyard::config
