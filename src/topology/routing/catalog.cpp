#include <vector>

#include "topology/routing/routings.hpp"

namespace railyard::topology {

std::span<const config::CatalogEntry<RoutingFactory>> routing_catalog() {
  using config::ParameterSpec;
  using config::ParameterType;
  static const std::vector<config::CatalogEntry<RoutingFactory>> table = {
      {{"ecmp",
        "a seeded hash of the connection at each switch",
        {ParameterSpec{.name = "seed_salt",
                       .type = ParameterType::integer,
                       .fallback = "0",
                       .help = "another value draws another set of collisions",
                       .min = 0},
         ParameterSpec{.name = "queue_pairs",
                       .type = ParameterType::integer,
                       .fallback = "1",
                       .help = "paths a connection is split over evenly",
                       .min = 1,
                       .max = 1024}}},
       &make_ecmp},
      {{"shortest", "the first of the equal paths, always", {}}, &make_shortest},
      {{"spray", "evenly over all equal paths, as packets sprayed at each switch", {}},
       &make_spray},
      {{"static", "destination modulo the choices at each switch (D-mod-k)", {}}, &make_static},
  };
  return table;
}

}  // namespace railyard::topology
