// Models by name: those of workloads/models.
#pragma once

#include <filesystem>
#include <string>

namespace railyard::cli {

/// A file, or that of a name in workloads/models. Throws ConfigError with the nearest name where it
/// is neither; a path to a file that is not there comes back as it is.
[[nodiscard]] std::filesystem::path model_path(const std::string& word);

}  // namespace railyard::cli
