// Shared budget of bytes: request bodies, and answers that clients have not read.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace tenon_http {

/// Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(size_t limit) : limit_(limit) {}

  /// Takes `bytes` if the budget has room, else returns false.
  bool take(size_t bytes) noexcept {
    size_t held = held_;
    do {
      if (held > limit_ || bytes > limit_ - held) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes));
    return true;
  }
  /// Takes `bytes`, even beyond the budget.
  void take_anyway(size_t bytes) noexcept { held_ += bytes; }
  void give_back(size_t bytes) noexcept { held_ -= bytes; }

  [[nodiscard]] bool is_full() const noexcept { return held_ >= limit_; }
  [[nodiscard]] size_t limit() const noexcept { return limit_; }

 private:
  const size_t limit_;
  std::atomic<size_t> held_{0};
};

/// Share of one holder in a budget, given back by the destructor.
class HeldBytes {
 public:
  HeldBytes() = default;
  explicit HeldBytes(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  HeldBytes(HeldBytes&& other) noexcept
      : budget_(std::move(other.budget_)), size_(std::exchange(other.size_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~HeldBytes() { shrink(size_); }

  /// Takes `bytes` more if the budget has room, else returns false.
  bool grow(size_t bytes) noexcept {
    if (budget_ == nullptr || !budget_->take(bytes)) return false;
    size_ += bytes;
    return true;
  }
  void grow_anyway(size_t bytes) noexcept {
    if (budget_ == nullptr) return;
    budget_->take_anyway(bytes);
    size_ += bytes;
  }
  void shrink(size_t bytes) noexcept {
    if (budget_ == nullptr) return;
    budget_->give_back(bytes);
    size_ -= bytes;
  }

  [[nodiscard]] size_t size() const noexcept { return size_; }
  [[nodiscard]] const ByteBudget* budget() const noexcept { return budget_.get(); }

 private:
  std::shared_ptr<ByteBudget> budget_;
  size_t size_ = 0;
};

}  // namespace tenon_http
