#include "models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "command_line.hpp"
#include "output.hpp"
#include "railyard/config/document.hpp"

namespace railyard::cli {

namespace fs = std::filesystem;

std::filesystem::path model_path(const std::string& word) {
  fs::path path = word;
  const fs::path folder = bundled("workloads");
  if (!fs::exists(path) && !folder.empty() && fs::exists(folder / "models" / (word + ".json")))
    path = folder / "models" / (word + ".json");
  if (!fs::exists(path) && path.extension() != ".json" && !folder.empty()) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "models"))
      names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    throw config::ConfigError(unknown(fmt::format("no file and no model is called \"{}\"", word),
                                      word, {names.begin(), names.end()}));
  }
  return path;
}

}  // namespace railyard::cli
