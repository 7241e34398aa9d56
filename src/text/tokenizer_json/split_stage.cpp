#include "text/tokenizer_json/split_stage.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::tokenizer_json {
namespace {

using Stages = std::vector<SplitStage>;

// Punctuation as in the published library: category P and ASCII signs.
constexpr std::string_view kPunctuation = R"([\p{P}!-/:-@\[-`{-~])";
constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// \w of Unicode's UTS 18: Oniguruma's and the two joiners.
constexpr std::string_view kWords = R"([\w\x{200C}\x{200D}]+|[^\w\x{200C}\x{200D}\s]+)";

struct BehaviorName {
  std::string_view name;
  SplitBehavior behavior;
};
constexpr BehaviorName kBehaviors[] = {
    {"Isolated", SplitBehavior::Isolated},
    {"Removed", SplitBehavior::Removed},
    {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
    {"MergedWithNext", SplitBehavior::MergedWithNext},
    {"Contiguous", SplitBehavior::Contiguous},
};

SplitBehavior behavior_of(const JsonField& field) {
  for (const BehaviorName& known : kBehaviors) {
    if (known.name == field.text()) return known.behavior;
  }
  field.expected("Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous");
}

void add_cut(Stages& out, std::string_view pattern, SplitBehavior behavior, bool inverted = false) {
  out.push_back({.behavior = behavior, .inverted = inverted, .pattern = Pattern(pattern)});
}

void add_byte_level(const JsonField& field, Stages& out) {
  if (field.at("add_prefix_space").flag()) out.push_back({.kind = SplitStage::Prefix});
  if (field.at("use_regex").flag_or(true)) add_cut(out, kGpt2Words, SplitBehavior::Isolated);
  out.push_back({.kind = SplitStage::Letters});
}

SplitStage::Prepend prepend_of(const JsonField& field) {
  const JsonField scheme = field.at("prepend_scheme");
  SplitStage::Prepend prepend = SplitStage::Always;
  if (!scheme.is_null()) {
    if (scheme.text() == "never") {
      prepend = SplitStage::Never;
    } else if (scheme.text() == "first") {
      prepend = SplitStage::First;
    } else if (scheme.text() != "always") {
      scheme.expected("always, first or never");
    }
  }
  // Older spelling of "never".
  return field.at("add_prefix_space").flag_or(true) ? prepend : SplitStage::Never;
}

void add_metaspace(const JsonField& field, Stages& out) {
  SplitStage mark{.kind = SplitStage::Mark, .prepend = prepend_of(field)};
  utf8_append(field.at("replacement").character(), mark.mark);
  const std::string pattern = escaped_pattern(mark.mark);
  out.push_back(std::move(mark));
  if (field.at("split").flag_or(true)) add_cut(out, pattern, SplitBehavior::MergedWithNext);
}

void add_split(const JsonField& field, Stages& out) {
  add_cut(out, pattern_text(field.at("pattern")), behavior_of(field.at("behavior")),
          field.at("invert").flag_or(false));
}

void add_punctuation(const JsonField& field, Stages& out) {
  const JsonField behavior = field.at("behavior");
  add_cut(out, kPunctuation, behavior.is_null() ? SplitBehavior::Isolated : behavior_of(behavior));
}

void add_digits(const JsonField& field, Stages& out) {
  const bool single = field.at("individual_digits").flag();
  add_cut(out, R"(\p{N})", single ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
}

void add_bert(const JsonField& /*field*/, Stages& out) {
  add_cut(out, R"(\s)", SplitBehavior::Removed);
  add_cut(out, kPunctuation, SplitBehavior::Isolated);
}

void add_whitespace(const JsonField& /*field*/, Stages& out) {
  add_cut(out, kWords, SplitBehavior::Removed, true);
}

void add_whitespace_split(const JsonField& /*field*/, Stages& out) {
  add_cut(out, R"(\s)", SplitBehavior::Removed);
}

void add_delimiter(const JsonField& field, Stages& out) {
  std::string delimiter;
  utf8_append(field.at("delimiter").character(), delimiter);
  add_cut(out, escaped_pattern(delimiter), SplitBehavior::Removed);
}

void add_fixed_length(const JsonField& field, Stages& out) {
  const JsonField length = field.at("length");
  const uint64_t size = length.is_null() ? 5 : length.number();
  if (size < 1 || size > kMaxPatternRepeat) length.unsupported("a length of");
  add_cut(out, "(?m:.{1," + std::to_string(size) + "})", SplitBehavior::Isolated);
}

struct StageType {
  std::string_view name;
  void (*add)(const JsonField&, Stages&);
};
constexpr StageType kStageTypes[] = {
    {"ByteLevel", add_byte_level},
    {"Metaspace", add_metaspace},
    {"Split", add_split},
    {"Punctuation", add_punctuation},
    {"Digits", add_digits},
    {"BertPreTokenizer", add_bert},
    {"Whitespace", add_whitespace},
    {"WhitespaceSplit", add_whitespace_split},
    {"Delimiter", add_delimiter},
    {"CharDelimiterSplit", add_delimiter},
    {"FixedLength", add_fixed_length},
};

void add_stages(const JsonField& field, Stages& out) {
  const JsonField type = field.at("type");
  if (out.size() >= kMaxSplitStages) {
    fail(Code::Limit, "{}: more than {} steps", field.where(), kMaxSplitStages);
  }
  if (type.text() == "Sequence") {
    for (const JsonField& part : field.at("pretokenizers").items()) add_stages(part, out);
    return;
  }
  const auto* const known =
      std::find_if(std::begin(kStageTypes), std::end(kStageTypes),
                   [&](const StageType& of_list) { return of_list.name == type.text(); });
  if (known == std::end(kStageTypes)) type.unsupported("pre-tokenizer");
  known->add(field, out);
}

}  // namespace

std::vector<SplitStage> read_split_stages(const JsonField& field) {
  Stages out;
  if (!field.is_null()) add_stages(field, out);
  return out;
}

}  // namespace tenon::tokenizer_json
