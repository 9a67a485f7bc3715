#include "railyard/core/digest.hpp"

#include <fmt/format.h>

#include <bit>

#include "railyard/core/rng.hpp"

namespace railyard {

void Digest::add(std::uint64_t value) {
  state_ = mix64(state_ ^ mix64(value)) + std::rotl(state_, 29);
}

void Digest::add(double value) {
  add(std::bit_cast<std::uint64_t>(value == 0.0 ? 0.0 : value));
}

void Digest::add(std::string_view text) {
  add(static_cast<std::uint64_t>(text.size()));
  add(hash_text(text));
}

std::string Digest::hex() const {
  return fmt::format("{:016x}", state_);
}

std::uint64_t hash_text(std::string_view text) {
  // FNV-1a, then scattered.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  }
  return mix64(hash);
}

}  // namespace railyard
