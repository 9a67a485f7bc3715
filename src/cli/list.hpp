// What `railyard list` knows, for those who complete names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace railyard::cli {

/// Names of a family's members, those of plug-ins aside. The family exists.
[[nodiscard]] std::vector<std::string> members_of(std::string_view family);

}  // namespace railyard::cli
