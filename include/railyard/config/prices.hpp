// Powers ("700W", "1.2kW") and sums of money ("2.10 USD"): what a run costs is reckoned in them.
// Money names its currency by three capital letters (ISO 4217); nothing is converted.
#pragma once

#include <string>
#include <string_view>

#include "railyard/config/document.hpp"

namespace railyard::config {

struct Power {
  double watts = 0;  ///< not negative
};

struct Money {
  double amount = 0;  ///< not negative
  std::string currency;
};

/// False (and an error recorded) when the node holds no such value. `Reader` finds these.
bool decode(const Node& node, Errors& errors, Power& out);
bool decode(const Node& node, Errors& errors, Money& out);

}  // namespace railyard::config
