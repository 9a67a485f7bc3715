// What a program that schedules is told, as JSON lines: a snapshot in the first, then what changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "railyard/scheduler/catalogs.hpp"

namespace railyard::bridge {

/// Version of the protocol. What is added to a message does not change it; what a message means
/// does.
inline constexpr std::int64_t kProtocol = 1;

/// The first line: the cluster as it is before anything happens.
[[nodiscard]] std::string hello_message(const scheduler::ClusterView& view,
                                        const scheduler::Catalogs& catalogs);

/// What has happened since the last line.
class News {
 public:
  void add(const scheduler::Event& event, const scheduler::ClusterView& view);
  void add_refusal(std::optional<JobId> job, std::string_view reason);
  void add_no_place(JobId job);
  /// The program has decided over these GPUs, so it may count their hosts otherwise than we do:
  /// they are told again, changed or not.
  void tell_again(const std::vector<scheduler::HostSlot>& slots);
  /// The question at a scheduling point: the time, the news, hosts whose free GPUs changed.
  [[nodiscard]] std::string decide_message(const scheduler::ClusterView& view);

 private:
  /// An event as it happened: jobs may have moved on when it is told.
  struct Item {
    scheduler::Event::Kind kind{};
    scheduler::JobView job;
    std::vector<std::uint32_t> hosts;  ///< of the start
    double progress_s = 0;
    std::string refused;  ///< reason, of what is no event of the cluster
    bool no_place = false;
    std::optional<JobId> about;
  };
  std::vector<Item> items_;
  std::vector<std::uint32_t> free_;  ///< by host, as last told
  std::vector<bool> again_;          ///< by host
};

}  // namespace railyard::bridge
