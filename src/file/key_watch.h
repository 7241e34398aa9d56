// Keys of a file that were asked for: an override of one that nobody reads is a mistake.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Any thread.
class KeyWatch {
 public:
  /// keys: those that must be asked for.
  explicit KeyWatch(std::vector<std::string> keys) : keys_(std::move(keys)) {}

  void note(std::string_view key);
  /// Throws Argument when one of the keys was not asked for, naming the nearest one that was.
  void expect_asked();
  /// Nothing is remembered any more.
  void end();

 private:
  [[nodiscard]] std::string hint(const std::string& key) const;

  std::vector<std::string> keys_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace tenon
