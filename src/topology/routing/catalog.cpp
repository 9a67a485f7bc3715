#include <vector>

#include "topology/routing/routings.hpp"

namespace railyard::topology {
namespace {

using config::ParameterSpec;
using config::ParameterType;

ParameterSpec seed_salt() {
  return {.name = "seed_salt",
          .type = ParameterType::integer,
          .fallback = "0",
          .help = "another value draws another set of collisions",
          .min = 0};
}

ParameterSpec queue_pairs() {
  return {.name = "queue_pairs",
          .type = ParameterType::integer,
          .fallback = "1",
          .help = "paths a connection is split over evenly",
          .min = 1,
          .max = 1024};
}

using Entry = config::CatalogEntry<RoutingFactory>;

Entry adaptive() {
  return {{"adaptive",
           "the least loaded of the equal paths when a flow starts; for flows only",
           {seed_salt(),
            {.name = "scope",
             .type = ParameterType::choice,
             .fallback = "\"path\"",
             .help = "whole paths compared, or each switch its own links",
             .choices = {"path", "hop"}},
            {.name = "repath_interval",
             .type = ParameterType::duration,
             .fallback = "null",
             .help = "running flows may move to a better path this often; never without"}}},
          &make_adaptive};
}

Entry ecmp() {
  return {{"ecmp",
           "a seeded hash of the connection at each switch",
           {seed_salt(),
            queue_pairs(),
            {.name = "enhanced",
             .type = ParameterType::boolean,
             .fallback = "true",
             .help = "channels and queue pairs hash apart (E-ECMP); false: all between two NICs "
                     "take one path (plain RoCE)"},
            {.name = "polarized",
             .type = ParameterType::boolean,
             .fallback = "false",
             .help = "all switches hash alike, so that successive choices agree"}}},
          &make_ecmp};
}

Entry ugal() {
  return {{"ugal",
           "minimal path or detour by load × hops when a flow starts; for flows only",
           {seed_salt(),
            {.name = "scope",
             .type = ParameterType::choice,
             .fallback = "\"local\"",
             .help = "load of the first switch link (UGAL-L) or of the fullest (UGAL-G)",
             .choices = {"local", "global"}}}},
          &make_ugal};
}

}  // namespace

std::span<const Entry> routing_catalog() {
  static const std::vector<Entry> table = {
      adaptive(),
      ecmp(),
      {{"shortest", "the first of the equal paths, always", {}}, &make_shortest},
      {{"spray", "evenly over all equal paths, as packets sprayed at each switch", {}},
       &make_spray},
      {{"static",
        "destination modulo the choices at each switch (D-mod-k), or given forwarding tables",
        {ParameterSpec{.name = "tables",
                       .type = ParameterType::path,
                       .fallback = "null",
                       .help = "forwarding tables that OpenSM made, as dump_fts prints them"}}},
       &make_static},
      ugal(),
      {{"valiant",
        "through a random intermediate group of a dragonfly, switch of a mesh or torus",
        {seed_salt(), queue_pairs()}},
       &make_valiant},
  };
  return table;
}

}  // namespace railyard::topology
