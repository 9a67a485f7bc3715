// The catalogs of policies as a program hands them down: those in the tree, the scheduler
// "process", schedulers that the program has itself, and what plug-in libraries add.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "railyard/scheduler/catalogs.hpp"

namespace railyard::bridge {

/// Libraries are added in the given order. Throws config::ConfigError for one that cannot be used.
[[nodiscard]] std::shared_ptr<const scheduler::Catalogs> make_catalogs(
    std::span<const std::filesystem::path> libraries = {},
    std::span<const config::CatalogEntry<scheduler::SchedulerFactory>> own = {});

}  // namespace railyard::bridge
