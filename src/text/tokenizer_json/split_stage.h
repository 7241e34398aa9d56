// How a tokenizer.json cuts a normalized text into words: "pre_tokenizer" as a list of stages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex/pattern.h"
#include "text/tokenizer_json/json_field.h"

namespace tenon::tokenizer_json {

/// What becomes of the matches of a pattern, and of what lies between them.
enum class SplitBehavior : uint8_t {
  Isolated,            ///< each is a piece
  Removed,             ///< matches go
  MergedWithPrevious,  ///< a match goes with what stands before it, the first of several
  MergedWithNext,      ///< or with what follows, the last of several
  Contiguous,          ///< matches in a row are one piece
};

/// One step of cutting or changing pieces of text. Immutable.
struct SplitStage {
  enum Kind : uint8_t {
    Cut,      ///< by `pattern`
    Prefix,   ///< a space before a piece that has none
    Mark,     ///< `mark` for each space, and one before a piece, as `prepend` says
    Letters,  ///< the letters of the byte alphabet for the bytes
  };
  enum Prepend : uint8_t { Never, Always, First };

  Kind kind = Cut;
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool inverted = false;  ///< what the pattern does not match counts as its matches
  Prepend prepend = Never;
  std::optional<Pattern> pattern = std::nullopt;
  std::string mark = {};
};

/// The most there may be: a word goes through all of them on the stack. Published files have up to
/// nine.
inline constexpr size_t kMaxSplitStages = 64;

/// The stages of the field "pre_tokenizer", which may be null. Errors as JsonField; Unsupported
/// names a type that is not known.
std::vector<SplitStage> read_split_stages(const JsonField& field);

}  // namespace tenon::tokenizer_json
