#include "railyard/topology/hostlist.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace railyard::topology {
namespace {

constexpr std::size_t kDigitsMax = 9;

std::optional<std::uint64_t> whole(std::string_view text) {
  if (text.empty() || text.size() > kDigitsMax) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Numbers between brackets: "001-016,020".
std::string expand_numbers(std::string_view text, std::size_t most, std::vector<std::string>& out) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::string_view low = part.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : part.substr(dash + 1);
    const auto first = whole(low);
    const auto last = whole(high);
    if (!first || !last) return fmt::format("\"{}\" is no number and no range of numbers", part);
    if (*last < *first) return fmt::format("the range {} runs backwards", part);
    if (*last - *first >= most || out.size() + (*last - *first) >= most)
      return fmt::format("more than {} names", most);
    for (std::uint64_t i = *first; i <= *last; ++i)
      out.push_back(fmt::format("{:0{}}", i, low.size()));
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

/// One name, with any number of brackets.
std::string expand_name(std::string_view text, std::size_t most, std::vector<std::string>& out) {
  std::vector<std::string> names{""};
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    const std::string_view plain = text.substr(0, open);
    if (plain.find(']') != std::string_view::npos) return "a ] without its [";
    for (std::string& name : names) name += plain;
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find(']', open);
    if (close == std::string_view::npos) return "a [ without its ]";
    std::vector<std::string> numbers;
    std::string fault = expand_numbers(text.substr(open + 1, close - open - 1), most, numbers);
    if (!fault.empty()) return fault;
    if (names.size() * numbers.size() > most) return fmt::format("more than {} names", most);
    std::vector<std::string> longer;
    longer.reserve(names.size() * numbers.size());
    for (const std::string& name : names) {
      for (const std::string& number : numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
    text.remove_prefix(close + 1);
  }
  if (names.front().empty()) return "an empty name";
  if (out.size() + names.size() > most) return fmt::format("more than {} names", most);
  out.insert(out.end(), names.begin(), names.end());
  return {};
}

struct Numbered {
  std::string prefix;
  std::string digits;
};

Numbered split_number(const std::string& name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  return {name.substr(0, at), name.substr(at)};
}

}  // namespace

std::string expand_hostlist(std::string_view text, std::size_t most,
                            std::vector<std::string>& out) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    std::string fault = expand_name(text.substr(begin, i - begin), most, out);
    if (!fault.empty()) return fault;
    begin = i + 1;
  }
  return {};
}

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    const Numbered first = split_number(names[i]);
    std::size_t count = 1;
    if (!first.digits.empty() && first.digits.size() <= kDigitsMax) {
      const long long number = std::stoll(first.digits);
      for (; i + count < names.size(); ++count) {
        const std::string next = fmt::format(
            "{}{:0{}}", first.prefix, number + static_cast<long long>(count), first.digits.size());
        if (names[i + count] != next) break;
      }
    }
    out += out.empty() ? "" : ",";
    out += count == 1 ? names[i]
                      : fmt::format("{}[{}-{}]", first.prefix, first.digits,
                                    split_number(names[i + count - 1]).digits);
    i += count;
  }
  return out;
}

std::map<std::string, HostId> hosts_by_name(const Topology& topology) {
  std::map<std::string, HostId> hosts;
  for (std::size_t h = 0; h < topology.hosts().size(); ++h) {
    const auto host = static_cast<HostId>(h);
    hosts.emplace(topology.host_name(host), host);
  }
  return hosts;
}

}  // namespace railyard::topology
