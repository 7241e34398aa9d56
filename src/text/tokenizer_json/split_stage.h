// Splitting of normalized text into words in a tokenizer.json: "pre_tokenizer" as a list of stages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex/pattern.h"
#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// Treatment of a pattern's matches, and of the text between them.
enum class SplitBehavior : uint8_t {
  Isolated,            ///< each becomes a piece
  Removed,             ///< matches are dropped
  MergedWithPrevious,  ///< a match joins the text before it (the first of adjacent ones)
  MergedWithNext,      ///< a match joins the text after it (the last of adjacent ones)
  Contiguous,          ///< adjacent matches form one piece
};

/// One stage that cuts or changes pieces of text. Immutable.
struct SplitStage {
  enum Kind : uint8_t {
    Cut,      ///< cuts by `pattern`
    Prefix,   ///< puts a space before a piece without one
    Mark,     ///< replaces spaces by `mark`, and adds one before a piece according to `prepend`
    Letters,  ///< replaces bytes by letters of the byte alphabet
  };
  enum Prepend : uint8_t { Never, Always, First };

  Kind kind = Cut;
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool inverted = false;  ///< treats text between matches as matches
  Prepend prepend = Never;
  std::optional<Pattern> pattern = std::nullopt;
  std::string mark = {};
};

/// Most stages: a word passes through all of them on the stack. Published files have up to nine.
inline constexpr size_t kMaxSplitStages = 64;

/// Reads the stages of the field "pre_tokenizer", which may be null. Errors as in JsonField;
/// Unsupported for an unknown type.
std::vector<SplitStage> read_split_stages(const JsonField& field);

}  // namespace tenon::tokenizer_json
