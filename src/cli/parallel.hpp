// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace railyard::cli {

/// Calls `one(i)` for every i below `count`, on `threads` threads, each i once and in no order. The
/// first exception is thrown here, after what runs has ended; nothing more is started then.
void for_each_index(std::size_t count, unsigned threads,
                    const std::function<void(std::size_t)>& one);

}  // namespace railyard::cli
