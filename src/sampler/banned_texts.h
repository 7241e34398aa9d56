// Texts that must not be generated, and their positions in a text. The drawing caller rewinds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sampler/text_set.h"

namespace tenon {

/// An immutable set of banned texts.
class BannedTexts : public TextSet {
 public:
  /// Limits the tokens held back while a banned text may be forming.
  static constexpr size_t kMaxTextBytes = 128;

  /// Builds the set. Among texts with equal ends the shortest matches: it is part of the others.
  /// Throws like TextSet.
  explicit BannedTexts(std::span<const std::string> texts, bool ignore_case = false)
      : TextSet(texts, {"banned_strings", kMaxTextBytes, ignore_case, true}) {}
};

/// Watches one text for banned texts as it grows. One thread at a time.
class BanWatch {
 public:
  /// Starts a new text. texts may be null.
  void restart(std::shared_ptr<const BannedTexts> texts);
  [[nodiscard]] const std::shared_ptr<const BannedTexts>& texts() const { return texts_; }

  /// Adds `text`, whole characters. Returns the byte offset at which a banned text begins, if any;
  /// restart the watch then.
  std::optional<uint64_t> push(std::string_view text);

  /// Bytes so far.
  [[nodiscard]] uint64_t size() const { return size_; }
  /// Offset from which the text may be the start of a banned text; size() if it is not.
  [[nodiscard]] uint64_t open_from() const;

 private:
  std::shared_ptr<const BannedTexts> texts_;
  uint32_t state_ = 0;
  uint64_t size_ = 0;
};

}  // namespace tenon
