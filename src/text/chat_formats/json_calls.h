// Calls as JSON objects that include the name: {"name": "f", "arguments": {...}}, alone, in an
// array or consecutive. Hermes, Qwen, Llama, Mistral, Granite, MiniMax M1, ...
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "text/chat_formats/json_scan.h"
#include "text/chat_formats/reply_builder.h"
#include "text/chat_formats/reply_stream.h"

namespace tenon {

struct JsonCallLayout {
  std::string_view close{};  ///< after the calls; "" for none
  bool must_close = false;   ///< without `close` the call is broken, unless the answer ends
  bool key_is_name = false;  ///< {"f": {...}}
  bool id_is_last = false;   ///< an id follows the arguments, which are held back until then
};

/// Parser of one object, used by JsonCalls and by grammars that find objects elsewhere.
class JsonCallObject {
 public:
  explicit JsonCallObject(bool key_is_name = false, bool id_is_last = false)
      : key_is_name_(key_is_name), id_is_last_(id_is_last) {}
  void begin();
  CallGrammar::Step step(ReplyInput& in, CallOutput& out);

 private:
  enum class State : uint8_t { Open, Key, Colon, Value, Name, Id, Arguments, Skipped, Comma };
  CallGrammar::Step key(ReplyInput& in);
  CallGrammar::Step text(ReplyInput& in, CallOutput& out);
  CallGrammar::Step value(ReplyInput& in);
  CallGrammar::Step arguments(ReplyInput& in, CallOutput& out);
  CallGrammar::Step close(CallOutput& out);
  void announce(CallOutput& out);

  /// True while arguments must wait for the name, the id, or their own end.
  [[nodiscard]] bool holds_arguments() const {
    return is_text_ || !has_name_ || (id_is_last_ && id_.empty());
  }

  bool key_is_name_;
  bool id_is_last_;
  State state_ = State::Open;
  bool first_ = true;
  std::string key_, name_, id_, held_;
  bool announced_ = false;
  bool has_name_ = false, has_arguments_ = false, is_text_ = false;
  JsonScan scan_;
};

/// Reads a JSON string at the start of the rest once it is complete.
CallGrammar::Step read_json_string(ReplyInput& in, std::string& out);
/// Copies the available arguments of a call; returns Again at their end.
CallGrammar::Step copy_json(ReplyInput& in, JsonScan& scan, std::string& out);
/// Passes arguments on to the current call, for layouts without marks around them. Returns Again at
/// the end of the call, Broken if the text is no call and becomes content.
CallGrammar::Step pass_arguments(ReplyInput& in, JsonScan& scan, ReplyBuilder& out);

class JsonCalls : public CallGrammar {
 public:
  explicit JsonCalls(JsonCallLayout layout)
      : layout_(layout), object_(layout.key_is_name, layout.id_is_last) {}
  void begin(size_t opener) override;
  Step step(ReplyInput& in, CallOutput& out) override;

 private:
  enum class State : uint8_t { First, Object, Next, Close };
  JsonCallLayout layout_;
  JsonCallObject object_;
  State state_ = State::First;
  bool in_array_ = false;
  bool any_ = false;
};

}  // namespace tenon
