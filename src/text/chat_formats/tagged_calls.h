// Calls as tags, one per parameter, with values that are no JSON by themselves: Qwen3-Coder, GLM,
// MiniMax M2, DeepSeek V3.2, Kimi K3 and others.
#pragma once

#include <string>
#include <string_view>

#include "text/chat_formats/reply_stream.h"

namespace tenon {

struct TaggedCallLayout {
  std::string_view call_open{};   ///< before the name; "" when the name follows the opener at once
  std::string_view name_end{};    ///< after the name; "" when the next tag ends it
  std::string_view key_open{};    ///< before the name of a parameter
  std::string_view key_close{};   ///< after it
  std::string_view value_open{};  ///< before the value; "" when it follows key_close
  std::string_view value_close{};
  std::string_view call_close{};
  std::string_view section_close{};  ///< after the calls; "" when call_close ends it all
  /// Names stand in quotes, with more attributes after them; `&quot;` and `&amp;` are escapes.
  bool attributes = false;
  /// The attribute of a parameter that says that its value is a string. Others are JSON then.
  std::string_view string_attribute{};
  /// A value may stand in `<![CDATA[` and `]]>`, with tags in it.
  bool cdata = false;
  /// Around all arguments as one JSON object, where they may stand so in place of the parameters;
  /// the first goes on up to key_close.
  std::string_view whole_open{};
  std::string_view whole_close{};
  /// The line breaks directly inside the value's tags do not belong to it.
  bool trims_lines = false;
};

/// A value that need not be a string, as JSON: what its parameter can be decides, then the text.
std::string tagged_value_json(std::string_view text, JsonKinds kinds);

class TaggedCalls : public CallGrammar {
 public:
  /// late_opener: the number of the opener after which the name comes at once, as if call_open had
  /// been read.
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
  JsonKinds kinds_ = kAnyKind;  // what the value may be
  bool is_string_ = false;      // only a string: it goes out as it comes in
  bool in_cdata_ = false;
  bool any_parameter_ = false;
  bool is_whole_ = false;  // the arguments came as one object
  bool no_section_ = false;
};

}  // namespace tenon
