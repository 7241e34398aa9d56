#include "text/chat_formats/python_calls.h"

#include "text/chat_formats/json_scan.h"

namespace tenon {
namespace {

using Step = CallGrammar::Step;

bool is_name_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '-' || static_cast<uint8_t>(c) >= 0x80;
}

/// Reads a name and the byte that ends it, with space between. Rejects other text as early as
/// possible.
Step read_name(ReplyInput& in, char end, std::string& name) {
  const std::string_view text = in.rest();
  size_t size = 0;
  while (size < text.size() && is_name_byte(text[size])) ++size;
  if (size > kMaxCallName) return Step::Broken;
  size_t at = size;
  while (at < text.size() && is_reply_space(text[at])) ++at;
  const bool ended = at < text.size();
  if (!ended && !in.at_end && at <= kMaxCallName) return Step::More;
  if (!ended || size == 0 || text[at] != end) return Step::Broken;
  name = text.substr(0, size);
  in.skip(at + 1);
  return Step::Again;
}

}  // namespace

void PythonCalls::begin(size_t) { state_ = layout_.listed ? State::Open : State::Name; }

Step PythonCalls::step(ReplyInput& in, CallOutput& out) {
  if (state_ == State::Value) return value(in, out);
  in.skip_space();
  if (in.rest().empty() && state_ != State::Next && state_ != State::Close) {
    return in.at_end ? Step::Broken : Step::More;
  }
  switch (state_) {
    case State::Open:
      if (in.rest()[0] != '[') return Step::Broken;
      in.skip(1);
      state_ = State::Name;
      return Step::Again;
    case State::Name:
      return name(in, out);
    case State::Argument:
      return argument(in, out);
    case State::AfterValue: {
      const char c = in.rest()[0];
      if (c != ',' && c != ')') return Step::Broken;
      in.skip(1);
      if (c == ')')
        end_call(out);
      else
        state_ = State::Argument;
      return Step::Again;
    }
    case State::Next:
      return next(in);
    default:
      return close(in);
  }
}

Step PythonCalls::name(ReplyInput& in, CallOutput& out) {
  std::string name;
  const Step step = read_name(in, '(', name);
  if (step != Step::Again) return step;
  if (!name.ends_with(layout_.method)) return Step::Broken;
  name.resize(name.size() - layout_.method.size());
  if (name.empty() || (layout_.only_offered && !out.offers(name))) return Step::Broken;
  out.begin_call(name, "");
  any_argument_ = false;
  state_ = State::Argument;
  return Step::Again;
}

Step PythonCalls::argument(ReplyInput& in, CallOutput& out) {
  if (in.rest()[0] == ')') {
    in.skip(1);
    end_call(out);
    return Step::Again;
  }
  std::string key;
  const Step step = read_name(in, '=', key);
  if (step != Step::Again) return step;
  std::string json(any_argument_ ? ", " : "{");
  append_json_string(key, json);
  out.arguments(json + ": ");
  any_argument_ = true;
  scan_ = PythonScan();
  state_ = State::Value;
  return Step::Again;
}

Step PythonCalls::value(ReplyInput& in, CallOutput& out) {
  std::string json;
  PythonScan::State scanned = PythonScan::State::Inside;
  size_t taken = 0;
  while (taken < in.rest().size() && scanned == PythonScan::State::Inside) {
    scanned = scan_.feed(in.rest()[taken], json);
    const bool belongs = scanned == PythonScan::State::Inside || scan_.took_last();
    if (scanned != PythonScan::State::Bad && belongs) ++taken;
  }
  in.skip(taken);
  out.arguments(json);
  if (scanned == PythonScan::State::Bad) return Step::Broken;
  if (scanned == PythonScan::State::Inside) return in.at_end ? Step::Broken : Step::More;
  state_ = State::AfterValue;
  return Step::Again;
}

void PythonCalls::end_call(CallOutput& out) {
  out.arguments(any_argument_ ? "}" : "{}");
  out.end_call();
  state_ = State::Next;
}

Step PythonCalls::next(ReplyInput& in) {
  if (in.rest().empty()) return in.at_end ? Step::Done : Step::More;
  if (!layout_.listed) {
    if (layout_.close.empty()) return Step::Done;
    const ReplyInput::Match match = in.match(layout_.close);
    if (match == ReplyInput::Match::Partly) return Step::More;
    state_ = match == ReplyInput::Match::Yes ? State::Close : State::Name;
    return Step::Again;
  }
  const char c = in.rest()[0];
  if (c != ',' && c != ']') return Step::Broken;
  in.skip(1);
  state_ = c == ',' ? State::Name : State::Close;
  return Step::Again;
}

Step PythonCalls::close(ReplyInput& in) {
  if (layout_.close.empty()) return Step::Done;
  const ReplyInput::Match match = in.match(layout_.close);
  if (match == ReplyInput::Match::Partly) return Step::More;
  if (match == ReplyInput::Match::Yes) in.skip(layout_.close.size());
  return Step::Done;
}

}  // namespace tenon
