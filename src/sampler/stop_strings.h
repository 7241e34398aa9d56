// Ends a generation at given texts and hides every part of them from the reader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sampler/text_set.h"

namespace tenon {

/// An immutable set of stop strings.
class StopStrings : public TextSet {
 public:
  /// Builds the set. Throws like TextSet.
  explicit StopStrings(std::span<const std::string> texts) : TextSet(texts, {.name = "stop"}) {}
};

/// One text in transit to the reader. One thread at a time.
class StopStream {
 public:
  struct Shown {
    std::string_view text;  ///< valid until the next call
    bool stopped = false;   ///< a stop string was found; text after it is dropped
  };

  /// Starts a new text. stops may be null.
  void restart(std::shared_ptr<const StopStrings> stops);
  [[nodiscard]] const std::shared_ptr<const StopStrings>& stops() const { return stops_; }

  /// Adds `text`. Returns the text that can be shown, including text held back before. Text that
  /// may be the start of a stop string is held back.
  Shown push(std::string_view text);

  /// Ends the text and returns the text held back. Valid until the next call.
  std::string_view finish();

 private:
  std::shared_ptr<const StopStrings> stops_;
  uint32_t state_ = 0;
  std::string text_;      // text shown last, then text held back
  size_t held_from_ = 0;  // start of the held text in text_
};

}  // namespace tenon
