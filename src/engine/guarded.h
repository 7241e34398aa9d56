// A value that can be reached only through its lock.
#pragma once

#include <mutex>
#include <utility>

namespace tenon {

template <typename Value>
class Guarded {
 public:
  template <typename... Args>
  explicit Guarded(Args&&... args) : value_(std::forward<Args>(args)...) {}

  /// Holds the lock, except between unlock() and lock(). A function that needs the lock takes the
  /// value; one that also releases it meanwhile takes the Lock.
  class Lock {
   public:
    explicit Lock(Guarded& of) : lock_(of.mutex_), value_(of.value_) {}
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    Value& operator*() const { return value_; }
    Value* operator->() const { return &value_; }

   private:
    std::unique_lock<std::mutex> lock_;
    Value& value_;
  };

 private:
  std::mutex mutex_;
  Value value_;
};

}  // namespace tenon
