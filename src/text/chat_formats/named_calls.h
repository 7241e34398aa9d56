// Calls as a name between markers, followed by the arguments as JSON: Mistral, DeepSeek, Kimi, the
// <function=...> form of Llama and others.
#pragma once

#include <string>
#include <string_view>

#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/reply_stream.h"

namespace tenon {

/// Name and id from a raw name; by default the name is unchanged.
struct CallName {
  std::string name;
  std::string id;
};

struct NamedCallLayout {
  std::string_view call_open{};  ///< before each call; "" for none
  /// Marker after the kind of call, which is dropped.
  std::string_view kind_end{};
  std::string_view name_end{};       ///< after the name; "" if the '{' of the arguments ends it
  std::string_view id_open{};        ///< optional after the name: an id follows, up to name_end
  std::string_view call_close{};     ///< after the arguments
  std::string_view next_call{};      ///< begins another call instead of call_open
  std::string_view section_close{};  ///< after all calls
  /// Index of the opener that equals call_open: models may skip the text around calls.
  size_t late_opener = SIZE_MAX;
  CallName (*split_name)(std::string_view raw) = nullptr;
  /// Calls are plain JSON objects if '[' or '{' follows the opener.
  bool or_json = false;
};

class NamedCalls : public CallGrammar {
 public:
  explicit NamedCalls(const NamedCallLayout& layout)
      : layout_(layout), plain_({.id_is_last = true}) {}
  void begin(size_t opener) override;
  Step step(ReplyInput& in, CallOutput& out) override;

 private:
  enum class State : uint8_t { First, Open, Kind, Name, Id, Arguments, Close, Next, Plain };
  Step literal(ReplyInput& in, std::string_view text, State next);
  Step name(ReplyInput& in, CallOutput& out);
  Step id(ReplyInput& in, CallOutput& out);
  Step next(ReplyInput& in);
  void announce(CallOutput& out, std::string_view raw, std::string_view id);

  NamedCallLayout layout_;
  JsonCalls plain_;
  State state_ = State::First;
  std::string raw_name_;
  JsonScan scan_;
  bool started_ = false;
};

}  // namespace tenon
