// What the tests of readers share: read a text as a file, and collect what it is refused with.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>

#include "railyard/topology/fabric_reader.hpp"
#include "unit/topology/support.hpp"

namespace railyard::topology::test {

/// Reads `text` by the reader that knows it, with more keys of the description as JSON.
[[nodiscard]] inline Topology read(std::string_view text, const std::string& keys = "") {
  const ReaderEntry* reader = recognise("x", text);
  if (reader == nullptr) throw std::logic_error("no reader knows the test's text");
  const auto options = config::Document::parse_text("{" + keys + "}", "options");
  config::Errors errors;
  config::Reader object(options.root(), errors);
  Topology out = reader->read({"x", std::string(text)}, object);
  object.finish();
  errors.throw_if_any();
  return out;
}

[[nodiscard]] inline std::string error_of(std::string_view text, const std::string& keys = "") {
  try {
    (void)read(text, keys);
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

[[nodiscard]] inline bool says(std::string_view text, std::string_view words,
                               const std::string& keys = "") {
  const std::string message = error_of(text, keys);
  if (message.find(words) != std::string::npos) return true;
  std::printf("says: %s\n", message.c_str());
  return false;
}

[[nodiscard]] inline Route route_between(const Topology& topology, std::uint32_t a,
                                         std::uint32_t b) {
  Route out;
  make_routing(topology, "\"spray\"")->route({static_cast<GpuId>(a), static_cast<GpuId>(b)}, out);
  return out;
}

/// All pairs, as far as there are not too many: every route ends where it should.
[[nodiscard]] inline bool every_pair_reachable(const Topology& topology) {
  const auto routing = make_routing(topology, "\"shortest\"");
  const std::size_t step = topology.gpu_count() > 256 ? topology.gpu_count() / 256 : 1;
  Route route;
  for (std::size_t a = 0; a < topology.gpu_count(); a += step) {
    for (std::size_t b = 0; b < topology.gpu_count(); ++b) {
      if (a == b) continue;
      routing->route({static_cast<GpuId>(a), static_cast<GpuId>(b)}, route);
      if (route.links.empty() ||
          topology.link(route.links.back().link).to != topology.gpu_node(static_cast<GpuId>(b)))
        return false;
    }
  }
  return true;
}

}  // namespace railyard::topology::test
