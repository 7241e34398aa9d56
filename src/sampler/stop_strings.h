// Ends a generation before given texts, of which the reader never sees a part.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The texts, as an automaton (Aho and Corasick 1975); immutable.
class StopStrings {
 public:
  static constexpr size_t kMaxStrings = 1000;
  static constexpr size_t kMaxBytes = 65536;

  /// Throws Argument for an empty text or one that is no UTF-8, Limit beyond kMaxStrings or
  /// kMaxBytes together.
  explicit StopStrings(std::span<const std::string> texts);

 private:
  friend class StopStream;

  struct State {
    uint32_t fallback = 0;  // the longest other beginning that the text also ends in
    uint32_t depth = 0;     // bytes of the beginning that the text ends in
    uint32_t match = 0;     // bytes of the longest stop that ends here; 0: none
    uint32_t first_child = 0;
    uint32_t sibling = 0;
    uint8_t byte = 0;
  };
  [[nodiscard]] uint32_t child(uint32_t state, uint8_t byte) const;
  [[nodiscard]] uint32_t next(uint32_t state, uint8_t byte) const;

  std::vector<State> states_{1};
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
  std::string shown_;
  std::string held_;
};

}  // namespace tenon
