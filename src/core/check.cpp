#include "railyard/core/check.hpp"

#include <string_view>

namespace railyard::detail {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  // Only the path inside the repository: messages must not depend on where it was built.
  std::string_view path(file);
  for (const std::string_view root : {"/src/", "/include/", "/tests/"}) {
    if (const auto at = path.rfind(root); at != std::string_view::npos) {
      path.remove_prefix(at + 1);
      break;
    }
  }
  throw InternalError(fmt::format("{}:{}: check `{}` failed: {}", path, line, condition, message));
}

}  // namespace railyard::detail
