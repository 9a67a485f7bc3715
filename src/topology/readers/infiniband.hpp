// What the InfiniBand readers share: speeds, names of nodes, scanning of lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "railyard/core/units.hpp"

namespace railyard::topology::infiniband {

/// Payload rate of a link of `lanes` lanes, after the line code, before headers. The speed is a
/// generation ("HDR") or the signalling rate of a lane as iblinkinfo prints it ("53.125 Gbps").
///   SDR 2.5, DDR 5, QDR 10 Gb/s at 8b/10b; FDR10 10.3125, FDR 14.0625, EDR 25.78125 at 64b/66b;
///   HDR 53.125, NDR 106.25, XDR 212.5 carry 50, 100, 200 after 64b/66b and error correction
/// (InfiniBand Architecture Specification volume 2, link speeds; IBTA's roadmap).
[[nodiscard]] std::optional<Bandwidth> link_rate(std::uint32_t lanes, std::string_view speed);
/// "4xHDR".
[[nodiscard]] std::optional<Bandwidth> parse_link_rate(std::string_view text);

/// A node description splits into host and NIC: "gpu-001 mlx5_0", "gpu-001".
[[nodiscard]] std::pair<std::string, std::string> host_and_nic(std::string_view description);
/// Switches carry an end point of their own for in-network reduction; it is no host.
[[nodiscard]] bool is_aggregation_node(std::string_view description);

/// A cursor over one line. Every step leaves it unchanged where it fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  void skip_blanks();
  /// These characters, after blanks.
  bool take(std::string_view literal);
  /// What stands in double quotes.
  [[nodiscard]] std::optional<std::string_view> quoted();
  [[nodiscard]] std::optional<std::uint32_t> number();
  /// Hexadecimal digits, with or without 0x.
  [[nodiscard]] std::optional<std::uint64_t> hexadecimal();
  /// Up to the next blank; empty at the end.
  [[nodiscard]] std::string_view word();

 private:
  std::string_view rest_;
};

}  // namespace railyard::topology::infiniband
