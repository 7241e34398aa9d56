// Tracks which keys of a file are read, to reject overrides without a reader.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Records reads of keys. Thread-safe.
class KeyWatch {
 public:
  /// keys: the overridden keys.
  explicit KeyWatch(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  void note(std::string_view key);
  /// Throws Argument for an overridden key without a reader, naming the nearest key read.
  void expect_asked();
  /// Stops tracking.
  void end();

 private:
  [[nodiscard]] std::string hint(const std::string& key) const;

  std::vector<std::string> keys_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace tenon
