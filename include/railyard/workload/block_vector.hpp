// A sequence that grows in blocks: elements never move, and growing touches no memory twice. For
// millions of operations of a trace.
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include "railyard/core/check.hpp"

namespace railyard::workload {

template <typename T>
class BlockVector {
  static constexpr std::size_t kShift = 14;
  static constexpr std::size_t kBlock = std::size_t{1} << kShift;

  template <typename Container, typename Element>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Element*;
    using reference = Element&;
    Iterator() = default;
    Iterator(Container* of, std::size_t at) : of_(of), at_(at) {}
    reference operator*() const { return (*of_)[at_]; }
    pointer operator->() const { return &(*of_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Container* of_ = nullptr;
    std::size_t at_ = 0;
  };

 public:
  void push_back(const T& element) {
    if (size_ % kBlock == 0) {
      blocks_.emplace_back();
      if (size_ > 0) blocks_.back().reserve(kBlock);  // a short sequence takes what it needs
    }
    blocks_.back().push_back(element);
    ++size_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t i) { return blocks_[i >> kShift][i % kBlock]; }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    return blocks_[i >> kShift][i % kBlock];
  }
  [[nodiscard]] const T& at(std::size_t i) const {
    RAILYARD_CHECK(i < size_, "element {} of {}", i, size_);
    return (*this)[i];
  }
  [[nodiscard]] T& back() { return blocks_.back().back(); }
  [[nodiscard]] auto begin() { return Iterator<BlockVector, T>(this, 0); }
  [[nodiscard]] auto end() { return Iterator<BlockVector, T>(this, size_); }
  [[nodiscard]] auto begin() const { return Iterator<const BlockVector, const T>(this, 0); }
  [[nodiscard]] auto end() const { return Iterator<const BlockVector, const T>(this, size_); }

 private:
  std::vector<std::vector<T>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace railyard::workload
