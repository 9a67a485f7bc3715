// A tiny reference executor of collective schedules, independent of network and training.
//
// run_unit_rate: every rank sends and receives at `rate` at once, shared max-min fairly by the
// transfers under way; reducers have no limit. A transfer moves its bytes, then the next of its
// source and channel may start, and `alpha` later it has arrived. run_symbolically: every transfer
// takes a random time to leave and to arrive; what it carries is read when it starts and written
// when it arrives, so a missing dependency shows as a wrong sum. Contributions are counted, so an
// element added twice shows too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "railyard/collective/collective.hpp"
#include "railyard/core/check.hpp"

namespace railyard::test {

/// Which transfers may start: dependencies arrived, the one before on the same source and channel
/// has left.
class ReadyTransfers {
 public:
  explicit ReadyTransfers(const collective::Schedule& schedule)
      : schedule_(schedule),
        waiting_(schedule.transfers.size(), 0),
        after_leaving_(schedule.transfers.size()),
        after_arrival_(schedule.transfers.size()) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last;
    for (std::uint32_t i = 0; i < schedule.transfers.size(); ++i) {
      const collective::Transfer& transfer = schedule.transfers[i];
      for (std::uint32_t d = 0; d < transfer.dependency_count; ++d) {
        const std::uint32_t before = schedule.dependencies[transfer.first_dependency + d];
        RAILYARD_CHECK(before < i, "transfer {} depends on the later {}", i, before);
        ++waiting_[i];
        after_arrival_[before].push_back(i);
      }
      const auto key = std::pair(transfer.source, transfer.channel);
      if (const auto found = last.find(key); found != last.end()) {
        ++waiting_[i];
        after_leaving_[found->second].push_back(i);
      }
      last[key] = i;
      if (waiting_[i] == 0) ready_.push_back(i);
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> take() { return std::exchange(ready_, {}); }
  void left(std::uint32_t transfer) { release(after_leaving_[transfer]); }
  void arrived(std::uint32_t transfer) {
    ++done_;
    release(after_arrival_[transfer]);
  }
  [[nodiscard]] bool all_done() const { return done_ == schedule_.transfers.size(); }

 private:
  void release(const std::vector<std::uint32_t>& followers) {
    for (const std::uint32_t follower : followers) {
      if (--waiting_[follower] == 0) ready_.push_back(follower);
    }
  }
  const collective::Schedule& schedule_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::vector<std::uint32_t>> after_leaving_;
  std::vector<std::vector<std::uint32_t>> after_arrival_;
  std::vector<std::uint32_t> ready_;
  std::size_t done_ = 0;
};

struct Moving {
  std::uint32_t transfer = 0;
  double bytes_left = 0;
  double alpha_left = 0;  ///< counts when the bytes have left
  double rate = 0;
  [[nodiscard]] bool leaving() const { return bytes_left > 0; }
};

/// Max-min fair rates by progressive filling over the send and receive sides of every rank.
inline void share(std::vector<Moving>& moving, const collective::Schedule& schedule,
                  std::uint32_t ranks, double rate) {
  // Sending sides, receiving sides, and one side for all reducers, which never binds.
  std::vector<double> left(std::size_t{2} * ranks, rate);
  left.push_back(std::numeric_limits<double>::infinity());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < moving.size(); ++i) {
    moving[i].rate = 0;
    if (moving[i].leaving()) open.push_back(i);
  }
  const auto sides = [&](std::size_t i) {
    const auto& transfer = schedule.transfers[moving[i].transfer];
    const std::size_t reducers = std::size_t{2} * ranks;
    return std::pair<std::size_t, std::size_t>(
        transfer.source < ranks ? transfer.source : reducers,
        transfer.destination < ranks ? ranks + transfer.destination : reducers);
  };
  while (!open.empty()) {
    std::vector<double> count(left.size(), 0);
    for (const std::size_t i : open) {
      count[sides(i).first] += 1;
      count[sides(i).second] += 1;
    }
    double fair = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < left.size(); ++s) {
      if (count[s] > 0) fair = std::min(fair, left[s] / count[s]);
    }
    std::vector<std::size_t> still;
    std::vector<std::size_t> fixed;
    for (const std::size_t i : open) {
      const auto [a, b] = sides(i);
      const bool bound =
          left[a] / count[a] <= fair * (1 + 1e-12) || left[b] / count[b] <= fair * (1 + 1e-12);
      (bound ? fixed : still).push_back(i);
    }
    for (const std::size_t i : fixed) {
      moving[i].rate = fair;
      left[sides(i).first] -= fair;
      left[sides(i).second] -= fair;
    }
    open = std::move(still);
  }
}

/// Seconds until the last arrival.
inline double run_unit_rate(const collective::Schedule& schedule, std::uint32_t ranks, double alpha,
                            double rate) {
  ReadyTransfers ready(schedule);
  std::vector<Moving> moving;
  double now = 0;
  while (true) {
    for (const std::uint32_t i : ready.take()) {
      moving.push_back({i, static_cast<double>(schedule.transfers[i].size.count()), alpha, 0});
    }
    if (moving.empty()) break;
    share(moving, schedule, ranks, rate);
    double step = std::numeric_limits<double>::infinity();
    for (const Moving& m : moving)
      step = std::min(step, m.leaving() ? m.bytes_left / m.rate : m.alpha_left);
    now += step;
    std::vector<Moving> rest;
    for (Moving m : moving) {
      const bool was_leaving = m.leaving();
      if (was_leaving) {
        m.bytes_left -= m.rate * step;
        if (m.bytes_left < 1e-6) m.bytes_left = 0;
        if (!m.leaving()) ready.left(m.transfer);
      } else {
        m.alpha_left -= step;
      }
      if (!m.leaving() && m.alpha_left <= alpha * 1e-9) {
        ready.arrived(m.transfer);
      } else {
        rest.push_back(m);
      }
    }
    moving = std::move(rest);
  }
  RAILYARD_CHECK(ready.all_done(), "the schedule does not end");
  return now;
}

/// contributions[place][element][from]: how often the place's (rank's or reducer's) copy of the
/// element contains the value of `from`.
using Contributions = std::vector<std::vector<std::vector<std::uint32_t>>>;

/// Element boundaries: every place where some transfer or chunk of the group begins or ends.
inline std::vector<std::int64_t> boundaries(const collective::Schedule& schedule, std::int64_t size,
                                            std::uint32_t ranks) {
  std::vector<std::int64_t> out{0, size};
  for (std::uint32_t i = 0; i <= ranks; ++i) {
    out.push_back(size / ranks * i + std::min<std::int64_t>(i, size % ranks));
  }
  for (const auto& transfer : schedule.transfers) {
    out.push_back(transfer.offset.count());
    out.push_back((transfer.offset + transfer.size).count());
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Runs with random transfer times from `seed`. For all_to_all give what each rank's *input* holds
/// and pick up `deliveries[source][destination][element]` instead of the contributions.
struct SymbolicRun {
  Contributions contributions;
  std::vector<std::vector<std::vector<std::uint32_t>>> deliveries;
};

inline SymbolicRun run_symbolically(const collective::Schedule& schedule,
                                    const std::vector<std::int64_t>& edges,
                                    Contributions contributions, std::uint64_t seed) {
  const std::size_t places = contributions.size();
  const std::size_t elements = edges.size() - 1;
  SymbolicRun run{std::move(contributions), {}};
  run.deliveries.assign(places, std::vector(places, std::vector<std::uint32_t>(elements, 0)));
  ReadyTransfers ready(schedule);
  struct Flight {
    std::uint64_t next;  ///< leaves, then arrives
    std::uint32_t transfer;
    bool left;
    std::size_t first;
    std::vector<std::vector<std::uint32_t>> cargo;
  };
  std::vector<Flight> flights;
  std::uint64_t now = 0;
  std::uint64_t state = seed * 2654435761U + 88172645463325252U;
  const auto random_time = [&state] {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return 1 + state % 97;
  };
  while (true) {
    for (const std::uint32_t i : ready.take()) {
      const auto& transfer = schedule.transfers[i];
      const auto begin = std::ranges::lower_bound(edges, transfer.offset.count()) - edges.begin();
      const auto end = std::ranges::lower_bound(edges, (transfer.offset + transfer.size).count()) -
                       edges.begin();
      Flight flight{now + random_time(), i, false, static_cast<std::size_t>(begin), {}};
      for (auto e = begin; e < end; ++e) {
        flight.cargo.push_back(run.contributions[transfer.source][static_cast<std::size_t>(e)]);
      }
      flights.push_back(std::move(flight));
    }
    if (flights.empty()) break;
    const auto next = std::ranges::min_element(flights, [](const Flight& a, const Flight& b) {
      return std::pair(a.next, a.transfer) < std::pair(b.next, b.transfer);
    });
    now = next->next;
    if (!next->left) {
      next->left = true;
      next->next += random_time();
      ready.left(next->transfer);
      continue;
    }
    const Flight flight = std::move(*next);
    flights.erase(next);
    const auto& transfer = schedule.transfers[flight.transfer];
    for (std::size_t e = 0; e < flight.cargo.size(); ++e) {
      auto& held = run.contributions[transfer.destination][flight.first + e];
      ++run.deliveries[transfer.source][transfer.destination][flight.first + e];
      for (std::size_t from = 0; from < held.size(); ++from) {
        held[from] = flight.cargo[e][from] + (transfer.reduce ? held[from] : 0);
      }
    }
    ready.arrived(flight.transfer);
  }
  RAILYARD_CHECK(ready.all_done(), "the schedule does not end");
  return run;
}

}  // namespace railyard::test
