// Makes an algorithm of the catalog with given values of its parameters.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "railyard/collective/collective.hpp"

namespace railyard::test {

/// `chunks` for every parameter that counts pieces; the others as given.
inline std::unique_ptr<collective::Algorithm> make_algorithm(std::string_view name,
                                                             std::int64_t chunks = 16,
                                                             std::int64_t channels = 1) {
  const auto& entry = config::entry_of(collective::algorithm_catalog(), name);
  config::Parameters parameters;
  for (const auto& parameter : entry.description.parameters) {
    const bool pieces = parameter.name == "chunks" || parameter.name == "broadcast_chunks";
    parameters.set(std::string(parameter.name),
                   pieces ? chunks : (parameter.name == "channels" ? channels : std::int64_t{1}),
                   true);
  }
  return entry.create(parameters);
}

/// n ranks on islands of g.
inline collective::GroupShape islands_of(std::uint32_t g, std::uint32_t n) {
  collective::GroupShape shape;
  for (std::uint32_t r = 0; r < n; ++r) shape.island_of.push_back(r / g);
  return shape;
}

}  // namespace railyard::test
