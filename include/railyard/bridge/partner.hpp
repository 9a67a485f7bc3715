// Schedulers that are spoken to in JSON lines (docs/reference/policies.md), whoever answers:
// another program, or code of another language in this one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "railyard/scheduler/catalogs.hpp"

namespace railyard::bridge {

/// Who answers. Whatever goes wrong is thrown as scheduler::SchedulerError.
class Partner {
 public:
  virtual ~Partner() = default;
  /// `line` ends with its line feed.
  virtual void send(std::string_view line) = 0;
  /// The answer to the last line, without a line feed.
  [[nodiscard]] virtual std::string receive() = 0;
};

/// Called at the beginning of a run: each has a partner of its own.
using StartPartner = std::function<std::unique_ptr<Partner>()>;

/// `name` is what complaints call the partner. `placement`, if there is one, is asked where an
/// answer names no place; both it and the catalogs outlive the scheduler.
[[nodiscard]] std::unique_ptr<scheduler::Scheduler> scheduler_of(
    StartPartner start, std::string name, const scheduler::PlacementPolicy* placement,
    const scheduler::Catalogs& catalogs);

}  // namespace railyard::bridge
