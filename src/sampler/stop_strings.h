// Ends a generation before given texts, of which the reader never sees a part.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sampler/text_set.h"

namespace tenon {

/// The texts; immutable.
class StopStrings : public TextSet {
 public:
  /// Throws as TextSet.
  explicit StopStrings(std::span<const std::string> texts) : TextSet(texts, {.name = "stop"}) {}
};

/// One text on its way to the reader. One thread at a time.
class StopStream {
 public:
  struct Shown {
    std::string_view text;  ///< valid until the next call
    bool stopped = false;   ///< a stop came; what follows it is dropped
  };

  /// Starts anew. stops: null for none.
  void restart(std::shared_ptr<const StopStrings> stops);
  [[nodiscard]] const std::shared_ptr<const StopStrings>& stops() const { return stops_; }

  /// `text` comes; what of it, and of what was held back, can be shown. What might be the beginning
  /// of a stop is held back.
  Shown push(std::string_view text);

  /// Nothing more comes: what was held back. Valid until the next call.
  std::string_view finish();

 private:
  std::shared_ptr<const StopStrings> stops_;
  uint32_t state_ = 0;
  std::string text_;      // what was shown last, then what is held back
  size_t held_from_ = 0;  // in it
};

}  // namespace tenon
