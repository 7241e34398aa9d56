// Passes texts through the stages of a pre-tokenizer, word by word.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/bpe/byte_alphabet.h"
#include "text/regex/pattern_search.h"
#include "text/tokenizer_json/split_stage.h"

namespace tenon::tokenizer_json {

/// Scratch for one thread; the stages must outlive it. A piece passes through all stages before the
/// next is cut, so memory beyond the text is that of the changed pieces.
class WordSplitter {
 public:
  explicit WordSplitter(const std::vector<SplitStage>& stages) {
    for (const SplitStage& stage : stages) levels_.emplace_back(stage);
  }

  /// Calls sink(word) for the words of `text` (well-formed UTF-8), in order. at_begin: the text
  /// begins the prompt. Linear time. Throws Limit if stages that undo each other keep enlarging a
  /// text.
  template <typename Sink>
  void split(std::string_view text, bool at_begin, Sink&& sink) {
    left_ = kMaxGrowth * (text.size() + kMaxContentBytes);
    go_on(0, text, at_begin, sink);
  }

 private:
  struct Level {
    explicit Level(const SplitStage& of_list) : stage(&of_list) {
      if (of_list.pattern) search.emplace(*of_list.pattern);
    }
    const SplitStage* stage;
    std::optional<PatternSearch> search = std::nullopt;
    std::string changed = {};
  };

  /// Forwards the pieces of a stage in order. Holds the last one back, since two pieces may be
  /// joined.
  template <typename Emit>
  class Pieces {
   public:
    Pieces(SplitBehavior behavior, Emit& emit) : behavior_(behavior), emit_(emit) {}

    void add(size_t begin, size_t end, bool is_match) {
      if (behavior_ == SplitBehavior::Isolated || behavior_ == SplitBehavior::Removed) {
        if (!is_match || behavior_ == SplitBehavior::Isolated) emit_(begin, end);
        return;
      }
      if (joins(is_match) && held_) {
        end_ = end;
      } else {
        flush();
        begin_ = begin;
        end_ = end;
        held_ = true;
      }
      last_is_match_ = is_match;
    }
    void flush() {
      if (held_) emit_(begin_, end_);
      held_ = false;
    }

   private:
    [[nodiscard]] bool joins(bool is_match) const {
      if (behavior_ == SplitBehavior::MergedWithPrevious) return is_match && !last_is_match_;
      if (behavior_ == SplitBehavior::MergedWithNext) return !is_match && last_is_match_;
      return is_match == last_is_match_;
    }

    SplitBehavior behavior_;
    Emit& emit_;
    bool held_ = false;
    bool last_is_match_ = false;
    size_t begin_ = 0;
    size_t end_ = 0;
  };

  template <typename Sink>
  void go_on(size_t number, std::string_view text, bool at_begin, Sink& sink) {
    if (text.empty()) return;
    if (number == levels_.size()) return sink(text);
    Level& level = levels_[number];
    if (level.stage->kind == SplitStage::Cut) return cut(number, text, at_begin, sink);
    change(level, text, at_begin);
    if (level.changed.size() > left_) {
      fail(Code::Limit, "text: the steps before the words make more than {} times as much of it",
           kMaxGrowth);
    }
    left_ -= level.changed.size();
    go_on(number + 1, level.changed, at_begin, sink);
  }

  template <typename Sink>
  void cut(size_t number, std::string_view text, bool at_begin, Sink& sink) {
    const SplitStage& stage = *levels_[number].stage;
    PatternSearch& search = *levels_[number].search;
    const auto emit = [&](size_t begin, size_t end) {
      go_on(number + 1, text.substr(begin, end - begin), at_begin && begin == 0, sink);
    };
    Pieces pieces(stage.behavior, emit);
    search.begin(text);
    size_t at = 0;
    for (PatternMatch match; search.next(match);) {
      if (match.begin > at) pieces.add(at, match.begin, stage.inverted);
      pieces.add(match.begin, match.end, !stage.inverted);
      at = match.end;
    }
    if (at < text.size()) pieces.add(at, text.size(), stage.inverted);
    pieces.flush();
  }

  static void change(Level& level, std::string_view text, bool at_begin) {
    const SplitStage& stage = *level.stage;
    std::string& out = level.changed;
    if (stage.kind == SplitStage::Letters) {
      out = byte_letters(text);
      return;
    }
    out.clear();
    if (stage.kind == SplitStage::Prefix) {
      if (!text.starts_with(' ')) out = ' ';
      out += text;
      return;
    }
    const bool wanted =
        stage.prepend == SplitStage::Always || (stage.prepend == SplitStage::First && at_begin);
    if (wanted && !text.starts_with(' ') && !text.starts_with(stage.mark)) out = stage.mark;
    for (size_t at = 0; at < text.size();) {
      const size_t space = std::min(text.find(' ', at), text.size());
      out += text.substr(at, space - at);
      if (space < text.size()) out += stage.mark;
      at = space + 1;
    }
  }

  static constexpr size_t kMaxGrowth = 64;  // a stage makes at most two bytes from one

  std::vector<Level> levels_;
  size_t left_ = 0;  // bytes that may still be added
};

}  // namespace tenon::tokenizer_json
