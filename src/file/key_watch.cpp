#include "file/key_watch.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/utf8.h"
#include "file/metadata.h"

namespace tenon {

void KeyWatch::note(std::string_view key) {
  if (ended_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (!asked_.contains(key)) asked_.emplace(key);
}

std::string KeyWatch::hint(const std::string& key) const {
  // Keys may lack their first part (the architecture) or have a wrong one.
  for (const std::string& other : asked_) {
    const std::string_view tail = std::string_view(other).substr(other.find('.') + 1);
    const bool same =
        tail == key || (key.find('.') != key.npos && key.ends_with("." + std::string(tail)));
    if (same) return fmt::format("; the nearest name is {}", quoted(other));
  }
  NearestName nearest(key);
  for (const std::string& other : asked_) nearest.consider(other);
  return nearest.hint();
}

void KeyWatch::expect_asked() {
  const std::lock_guard lock(mutex_);
  for (const std::string& key : keys_) {
    if (asked_.contains(key)) continue;
    fail(Code::Argument, "override: nothing reads the key {}{}", quoted(key), hint(key));
  }
}

void KeyWatch::end() {
  ended_ = true;
  const std::lock_guard lock(mutex_);
  asked_.clear();
}

void Metadata::watch(std::vector<std::string> keys) {
  watch_ = std::make_shared<KeyWatch>(std::move(keys));
}

void Metadata::expect_asked() const {
  if (watch_ != nullptr) watch_->expect_asked();
}

void Metadata::end_watch() const {
  if (watch_ != nullptr) watch_->end();
}

}  // namespace tenon
