// Calls as tags, one per parameter, with values that are not JSON by themselves: Qwen3-Coder, GLM,
// MiniMax M2, DeepSeek V3.2, Kimi K3 and others.
#pragma once

#include <string>
#include <string_view>

#include "text/chat_formats/reply_stream.h"

namespace tenon {

struct TaggedCallLayout {
  std::string_view call_open{};   ///< before the name; "" if the name follows the opener directly
  std::string_view name_end{};    ///< after the name; "" if the next tag ends it
  std::string_view key_open{};    ///< before the name of a parameter
  std::string_view key_close{};   ///< after the name of a parameter
  std::string_view value_open{};  ///< before the value; "" if it follows key_close
  std::string_view value_close{};
  std::string_view call_close{};
  std::string_view section_close{};  ///< after the calls; "" if call_close ends them all
  /// Names are in quotes, followed by further attributes; `&quot;` and `&amp;` are escapes.
  bool attributes = false;
  /// Attribute of a parameter whose value is a string; other values are then JSON.
  std::string_view string_attribute{};
  /// A value may be in `<![CDATA[` and `]]>`, and then contain tags.
  bool cdata = false;
  /// Marks around all arguments as one JSON object, if they may replace the parameters; the opening
  /// mark extends to key_close.
  std::string_view whole_open{};
  std::string_view whole_close{};
  /// Line breaks directly inside the value's tags do not belong to it.
  bool trims_lines = false;
};

/// JSON for a value that need not be a string. The kinds that its parameter allows decide first,
/// then the text.
std::string tagged_value_json(std::string_view text, JsonKinds kinds);

class TaggedCalls : public CallGrammar {
 public:
  /// late_opener: index of the opener that the name follows directly, as if call_open had been
  /// read.
  explicit TaggedCalls(const TaggedCallLayout& layout, size_t late_opener = SIZE_MAX)
      : layout_(layout), late_opener_(late_opener) {}
  void begin(size_t opener) override;
  Step step(ReplyInput& in, CallOutput& out) override;

 private:
  enum class State : uint8_t {
    Open,
    Name,
    Parameter,
    Key,
    ValueOpen,
    ValueStart,
    Value,
    WholeOpen,
    Whole,
    Next
  };
  Step name(ReplyInput& in, CallOutput& out);
  Step parameter(ReplyInput& in, CallOutput& out);
  Step key(ReplyInput& in, CallOutput& out);
  Step value_start(ReplyInput& in);
  Step value(ReplyInput& in, CallOutput& out);
  Step whole_open(ReplyInput& in);
  Step whole(ReplyInput& in, CallOutput& out);
  Step next(ReplyInput& in);

  TaggedCallLayout layout_;
  size_t late_opener_;
  State state_ = State::Open;
  std::string name_, held_;
  JsonKinds kinds_ = kAnyKind;  // kinds that the value may have
  bool is_string_ = false;      // strings only: passed on as received
  bool in_cdata_ = false;
  bool any_parameter_ = false;
  bool is_whole_ = false;  // the arguments are a single object
  bool no_section_ = false;
};

}  // namespace tenon
