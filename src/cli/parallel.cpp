#include "parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace railyard::cli {

void for_each_index(std::size_t count, unsigned threads,
                    const std::function<void(std::size_t)>& one) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr fault;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        one(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!fault) fault = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> pool;
  for (unsigned t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  if (fault) std::rethrow_exception(fault);
}

}  // namespace railyard::cli
