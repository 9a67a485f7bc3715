// The routings behind the catalog, one file each.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "railyard/topology/routing.hpp"

namespace railyard::topology {

[[nodiscard]] std::unique_ptr<Routing> make_shortest(const Topology& topology,
                                                     const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Routing> make_static(const Topology& topology,
                                                   const config::Parameters& parameters);
/// Throws ConfigError where the tables do not fit the fabric or leave a pair without a way.
[[nodiscard]] std::unique_ptr<Routing> make_tables(const Topology& topology,
                                                   const std::string& path);
[[nodiscard]] std::unique_ptr<Routing> make_tables_of_text(const Topology& topology,
                                                           const std::string& name,
                                                           std::string_view text);
[[nodiscard]] std::unique_ptr<Routing> make_ecmp(const Topology& topology,
                                                 const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Routing> make_spray(const Topology& topology,
                                                  const config::Parameters& parameters);

[[nodiscard]] std::unique_ptr<Routing> make_valiant(const Topology& topology,
                                                    const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Routing> make_ugal(const Topology& topology,
                                                 const config::Parameters& parameters);
[[nodiscard]] std::unique_ptr<Routing> make_adaptive(const Topology& topology,
                                                     const config::Parameters& parameters);

/// The path of one queue pair under valiant: `hash` draws one of the detours and all hops.
void append_valiant_path(const Topology& topology, const Connection& connection, std::uint64_t hash,
                         std::uint32_t detours, std::vector<LinkId>& out);

/// Makes `out` a single path: usage 1 on each link, latency and tier of its links.
void set_single_path(const Topology& topology, std::span<const LinkId> path, Route& out);

}  // namespace railyard::topology
