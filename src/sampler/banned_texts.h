// Texts that may not be generated, and where in a text they begin. Going back to before one is the
// business of the caller that draws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sampler/text_set.h"

namespace tenon {

/// The texts; immutable.
class BannedTexts : public TextSet {
 public:
  /// While one may be coming, tokens are kept back: more bytes would be more of them.
  static constexpr size_t kMaxTextBytes = 128;

  /// Throws as TextSet. Of two texts that end in one place the shorter counts: without it the
  /// longer one cannot come either.
  explicit BannedTexts(std::span<const std::string> texts, bool ignore_case = false)
      : TextSet(texts, {"banned_strings", kMaxTextBytes, ignore_case, true}) {}
};

/// One text, looked at as it grows. One thread at a time.
class BanWatch {
 public:
  /// Starts anew. texts: null for none.
  void restart(std::shared_ptr<const BannedTexts> texts);
  [[nodiscard]] const std::shared_ptr<const BannedTexts>& texts() const { return texts_; }

  /// `text`, whole characters, comes. Where a banned one begins, in bytes from the beginning; the
  /// watch is then of no use any more.
  std::optional<uint64_t> push(std::string_view text);

  /// Bytes so far.
  [[nodiscard]] uint64_t size() const { return size_; }
  /// From here on the text may be the beginning of a banned one; size() when it is not.
  [[nodiscard]] uint64_t open_from() const;

 private:
  std::shared_ptr<const BannedTexts> texts_;
  uint32_t state_ = 0;
  uint64_t size_ = 0;
};

}  // namespace tenon
