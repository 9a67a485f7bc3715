#include "railyard/cluster/iteration_memo.hpp"

namespace railyard::cluster {

void IterationMemo::take_turns(const std::function<void()>& work) const {
  if (turns_) {
    turns_(work);
  } else {
    work();
  }
}

std::shared_ptr<const training::EngineResult> IterationMemo::find(const MemoKey& key) const {
  std::shared_ptr<const training::EngineResult> found;
  take_turns([&] {
    if (const auto at = results_.find(key); at != results_.end()) found = at->second;
  });
  return found;
}

void IterationMemo::add(const MemoKey& key, std::shared_ptr<const training::EngineResult> result) {
  const std::size_t bytes = sizeof(training::EngineResult) +
                            result->jobs.size() * sizeof(training::JobIterations) +
                            result->links.size() * sizeof(network::LinkUsage);
  take_turns([&] {
    if (bytes_ + bytes > bytes_max_) return;
    if (results_.emplace(key, std::move(result)).second) bytes_ += bytes;
  });
}

}  // namespace railyard::cluster
