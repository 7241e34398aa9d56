#include "file/key_watch.h"

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

void KeyWatch::expect_asked() {
  const std::lock_guard lock(mutex_);
  for (const std::string& key : keys_) {
    if (asked_.contains(key)) continue;
    NearestName nearest(key);
    for (const std::string& other : asked_) nearest.consider(other);
    fail(Code::Argument, "override: nothing reads the key {}; the nearest that is read is {}",
         quoted(key), quoted(nearest.nearest()));
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
