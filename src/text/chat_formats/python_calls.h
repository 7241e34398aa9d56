// Calls in Python syntax: [f(a=1, b="x"), g()]. LFM2, Llama 3.2 and 4, Olmo 3; also a single call,
// name.call(a=1), of the built-in tools of Llama 3.1.
#pragma once

#include <string>
#include <string_view>

#include "text/chat_formats/python_scan.h"
#include "text/chat_formats/reply_stream.h"

namespace tenon {

struct PythonCallLayout {
  std::string_view close{};   ///< after the calls
  std::string_view method{};  ///< after the tool's name
  bool listed = true;         ///< the calls are in brackets
  bool only_offered = false;  ///< a name that is no tool of the conversation is no call
};

class PythonCalls : public CallGrammar {
 public:
  explicit PythonCalls(PythonCallLayout layout) : layout_(layout) {}
  void begin(size_t opener) override;
  Step step(ReplyInput& in, CallOutput& out) override;

 private:
  enum class State : uint8_t { Open, Name, Argument, Value, AfterValue, Next, Close };
  Step name(ReplyInput& in, CallOutput& out);
  Step argument(ReplyInput& in, CallOutput& out);
  Step value(ReplyInput& in, CallOutput& out);
  Step next(ReplyInput& in);
  Step close(ReplyInput& in);
  void end_call(CallOutput& out);

  PythonCallLayout layout_;
  State state_ = State::Open;
  PythonScan scan_;
  bool any_argument_ = false;
};

}  // namespace tenon
