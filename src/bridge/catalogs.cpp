#include "railyard/bridge/catalogs.hpp"

#include <fmt/format.h>

#include <boost/dll/shared_library.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/entries.hpp"
#include "railyard/bridge/plugin.hpp"
#include "railyard/config/document.hpp"

namespace railyard::bridge {

namespace {

using config::ConfigError;

/// Libraries stay where they are as long as the catalogs point into them.
struct Loaded {
  std::vector<boost::dll::shared_library> libraries;
  scheduler::Catalogs catalogs;
};

template <typename Factory>
void check_names(const std::vector<config::CatalogEntry<Factory>>& entries, std::string_view family,
                 const std::filesystem::path& library) {
  std::set<std::string_view> names;
  for (const auto& entry : entries) {
    if (names.insert(entry.description.name).second) continue;
    throw ConfigError(fmt::format("--plugin {}: it adds a {} \"{}\", which is there already",
                                  library.string(), family, entry.description.name));
  }
}

void load(const std::filesystem::path& library, Loaded& loaded) {
  const std::string name = library.string();
  if (!std::filesystem::exists(library)) {
    throw ConfigError(fmt::format("--plugin {}: no such file", name));
  }
  boost::dll::shared_library code;
  try {
    code.load(std::filesystem::absolute(library), boost::dll::load_mode::rtld_now);
  } catch (const std::exception& error) {
    throw ConfigError(fmt::format("--plugin {}: {}", name, error.what()));
  }
  if (!code.has("railyard_plugin_abi") || !code.has("railyard_plugin")) {
    throw ConfigError(
        fmt::format("--plugin {}: no plug-in: it lacks railyard_plugin_abi or railyard_plugin; see "
                    "tools/plugin-template",
                    name));
  }
  const std::uint32_t abi = code.get<std::uint32_t()>("railyard_plugin_abi")();
  if (abi != kPluginAbi) {
    throw ConfigError(
        fmt::format("--plugin {}: it was built for ABI {}, this program has {}: "
                    "build it again with this program's headers",
                    name, abi, kPluginAbi));
  }
  code.get<void(scheduler::Catalogs&)>("railyard_plugin")(loaded.catalogs);
  check_names(loaded.catalogs.placements, "placement policy", library);
  check_names(loaded.catalogs.queues, "queue policy", library);
  check_names(loaded.catalogs.predictors, "predictor", library);
  check_names(loaded.catalogs.reservations, "reservation policy", library);
  check_names(loaded.catalogs.schedulers, "scheduler", library);
  loaded.libraries.push_back(std::move(code));
}

}  // namespace

std::shared_ptr<const scheduler::Catalogs> make_catalogs(
    std::span<const std::filesystem::path> libraries, std::span<const SchedulerEntry> own) {
  auto loaded = std::make_shared<Loaded>();
  loaded->catalogs = scheduler::in_tree_catalogs();
  loaded->catalogs.schedulers.push_back(process_entry());
  loaded->catalogs.schedulers.insert(loaded->catalogs.schedulers.end(), own.begin(), own.end());
  for (const std::filesystem::path& library : libraries) load(library, *loaded);
  return {loaded, &loaded->catalogs};
}

}  // namespace railyard::bridge
