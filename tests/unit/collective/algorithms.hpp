// Makes an algorithm of the catalog with given values of its one parameter.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "railyard/collective/collective.hpp"

namespace railyard::test {

/// Without `chunks` the parameters have their defaults.
inline std::unique_ptr<collective::Algorithm> make_algorithm(std::string_view name,
                                                             std::int64_t chunks = 16) {
  const auto& entry = config::entry_of(collective::algorithm_catalog(), name);
  config::Parameters parameters;
  for (const auto& parameter : entry.description.parameters)
    parameters.set(std::string(parameter.name), chunks, true);
  return entry.create(parameters);
}

}  // namespace railyard::test
