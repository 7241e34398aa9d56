// Calls as a name between markers and then the JSON of the arguments: Mistral, DeepSeek, Kimi, the
// <function=...> form of Llama and others.
#pragma once

#include <string>
#include <string_view>

#include "text/chat_formats/json_calls.h"
#include "text/chat_formats/reply_stream.h"

namespace tenon {

/// How a raw name becomes a name and an id; nothing is changed by default.
struct CallName {
  std::string name;
  std::string id;
};

struct NamedCallLayout {
  std::string_view call_open{};      ///< before each call; "" for none
  std::string_view kind_end{};       ///< text up to here says the kind of call and is dropped
  std::string_view name_end{};       ///< after the name; "" where the '{' of the arguments ends it
  std::string_view id_open{};        ///< may stand after the name: an id follows, up to name_end
  std::string_view call_close{};     ///< after the arguments
  std::string_view next_call{};      ///< begins another call in place of call_open
  std::string_view section_close{};  ///< after all calls
  /// The number of the opener that is call_open itself: models leave out what stands around calls.
  size_t late_opener = SIZE_MAX;
  CallName (*split_name)(std::string_view raw) = nullptr;
  /// Where the opener is followed by '[' or '{', the calls are plain JSON objects.
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
