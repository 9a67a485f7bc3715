#include "topology/readers/infiniband.hpp"

#include <array>
#include <charconv>

namespace railyard::topology::infiniband {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

struct Speed {
  std::string_view generation;
  std::string_view signalling;
  std::int64_t payload_bits_per_s;  ///< of a lane; FDR's is rounded down from 14.0625 × 64 / 66
};
constexpr std::array<Speed, 9> kSpeeds{{{"SDR", "2.5 Gbps", 2'000'000'000},
                                        {"DDR", "5.0 Gbps", 4'000'000'000},
                                        {"QDR", "10.0 Gbps", 8'000'000'000},
                                        {"FDR10", "10.3125 Gbps", 10'000'000'000},
                                        {"FDR", "14.0625 Gbps", 13'636'363'636},
                                        {"EDR", "25.78125 Gbps", 25'000'000'000},
                                        {"HDR", "53.125 Gbps", 50'000'000'000},
                                        {"NDR", "106.25 Gbps", 100'000'000'000},
                                        {"XDR", "212.5 Gbps", 200'000'000'000}}};

}  // namespace

std::optional<Bandwidth> link_rate(std::uint32_t lanes, std::string_view speed) {
  if (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8 && lanes != 12) return std::nullopt;
  if (speed == "10.0 Gbps (FDR10)" || speed == "10.0 Gbps FDR10") speed = "FDR10";
  for (const Speed& known : kSpeeds) {
    if (speed == known.generation || speed == known.signalling)
      return Bandwidth(known.payload_bits_per_s * lanes / 8);
  }
  return std::nullopt;
}

std::optional<Bandwidth> parse_link_rate(std::string_view text) {
  Scanner scan(text);
  const auto lanes = scan.number();
  if (!lanes || !scan.take("x")) return std::nullopt;
  return link_rate(*lanes, scan.rest());
}

std::pair<std::string, std::string> host_and_nic(std::string_view description) {
  while (!description.empty() && is_blank(description.front())) description.remove_prefix(1);
  while (!description.empty() && is_blank(description.back())) description.remove_suffix(1);
  const std::size_t blank = description.find_first_of(" \t");
  if (blank == std::string_view::npos) return {std::string(description), {}};
  std::string_view nic = description.substr(blank);
  while (is_blank(nic.front())) nic.remove_prefix(1);
  return {std::string(description.substr(0, blank)), std::string(nic)};
}

bool is_aggregation_node(std::string_view description) {
  return description.find("Aggregation Node") != std::string_view::npos;
}

void Scanner::skip_blanks() {
  while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
}

bool Scanner::take(std::string_view literal) {
  const std::string_view before = rest_;
  skip_blanks();
  if (rest_.starts_with(literal)) {
    rest_.remove_prefix(literal.size());
    return true;
  }
  rest_ = before;
  return false;
}

std::optional<std::string_view> Scanner::quoted() {
  const std::string_view before = rest_;
  skip_blanks();
  if (!rest_.empty() && rest_.front() == '"') {
    const std::size_t end = rest_.find('"', 1);
    if (end != std::string_view::npos) {
      const std::string_view text = rest_.substr(1, end - 1);
      rest_.remove_prefix(end + 1);
      return text;
    }
  }
  rest_ = before;
  return std::nullopt;
}

std::optional<std::uint32_t> Scanner::number() {
  const std::string_view before = rest_;
  skip_blanks();
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
  if (fault != std::errc{}) {
    rest_ = before;
    return std::nullopt;
  }
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

std::optional<std::uint64_t> Scanner::hexadecimal() {
  const std::string_view before = rest_;
  skip_blanks();
  if (rest_.starts_with("0x")) rest_.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, 16);
  if (fault != std::errc{}) {
    rest_ = before;
    return std::nullopt;
  }
  rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
  return value;
}

std::string_view Scanner::word() {
  skip_blanks();
  std::size_t size = 0;
  while (size < rest_.size() && !is_blank(rest_[size])) ++size;
  const std::string_view text = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return text;
}

}  // namespace railyard::topology::infiniband
