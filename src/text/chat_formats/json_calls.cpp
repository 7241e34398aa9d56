#include "text/chat_formats/json_calls.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/unicode/json_escapes.h"

namespace tenon {
namespace {

using Step = CallGrammar::Step;

constexpr std::array<std::string_view, 2> kNameKeys{"name", "tool_name"};
constexpr std::array<std::string_view, 3> kArgumentKeys{"arguments", "parameters", "args"};
constexpr std::array<std::string_view, 3> kIdKeys{"id", "tool_call_id", "call_id"};
constexpr std::array<std::string_view, 2> kOtherKeys{"type", "index"};

template <typename Keys>
bool is_in(const Keys& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Step read_json_string(ReplyInput& in, std::string& out) {
  const std::string_view text = in.rest();
  if (text.empty()) return in.at_end ? Step::Broken : Step::More;
  if (text[0] != '"') return Step::Broken;
  for (size_t at = 1; at < text.size(); ++at) {
    if (at > 6 * kMaxCallName) return Step::Broken;
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      const auto value = json_string_text(text.substr(0, at + 1));
      if (!value) return Step::Broken;
      out = *value;
      in.skip(at + 1);
      return Step::Again;
    }
  }
  return in.at_end || text.size() > 6 * kMaxCallName ? Step::Broken : Step::More;
}

Step copy_json(ReplyInput& in, JsonScan& scan, std::string& out) {
  const std::string_view text = in.rest();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const JsonScan::State state = scan.feed(c);
    if (state == JsonScan::State::Bad) {
      in.skip(i);  // earlier pieces were skipped as well
      return Step::Broken;
    }
    const bool belongs = state != JsonScan::State::Complete || scan.took_last();
    if (belongs) {
      // Models write raw line breaks into strings.
      if (scan.in_string() && static_cast<uint8_t>(c) < 0x20)
        append_json_escaped({&c, 1}, out);
      else
        out += c;
    }
    if (state == JsonScan::State::Complete) {
      in.skip(i + (belongs ? 1 : 0));
      return Step::Again;
    }
  }
  in.skip(text.size());
  if (in.at_end && scan.may_end()) return Step::Again;
  return in.at_end ? Step::Broken : Step::More;
}

Step pass_arguments(ReplyInput& in, JsonScan& scan, ReplyBuilder& out) {
  std::string json;
  const Step step = copy_json(in, scan, json);
  out.arguments(json);
  if (step == Step::Again) out.end_call();
  if (step == Step::Broken) {
    out.retract();
    out.content(in.read());
    in.forget();
  }
  return step;
}

void JsonCallObject::begin() {
  state_ = State::Open;
  first_ = true;
  announced_ = has_name_ = has_arguments_ = is_text_ = false;
  name_.clear();
  id_.clear();
  held_.clear();
}

void JsonCallObject::announce(CallOutput& out) {
  if (announced_ || !has_name_) return;
  announced_ = true;
  out.begin_call(name_, id_);
}

Step JsonCallObject::step(ReplyInput& in, CallOutput& out) {
  if (state_ != State::Arguments && state_ != State::Skipped) {
    in.skip_space();
    if (in.rest().empty()) return in.at_end ? Step::Broken : Step::More;
  }
  switch (state_) {
    case State::Open:
      if (in.rest()[0] != '{') return Step::Broken;
      in.skip(1);
      state_ = State::Key;
      return Step::Again;
    case State::Key:
      if (in.rest()[0] == '}' && first_) return Step::Broken;
      return key(in);
    case State::Colon:
      if (in.rest()[0] != ':') return Step::Broken;
      in.skip(1);
      state_ = State::Value;
      return Step::Again;
    case State::Value:
      return value(in);
    case State::Name:
    case State::Id:
      return text(in, out);
    case State::Arguments:
    case State::Skipped:
      return arguments(in, out);
    case State::Comma:
      if (in.rest()[0] == ',') {
        in.skip(1);
        state_ = State::Key;
        return Step::Again;
      }
      if (in.rest()[0] != '}') return Step::Broken;
      in.skip(1);
      return close(out);
  }
  return Step::Broken;
}

Step JsonCallObject::key(ReplyInput& in) {
  const Step step = read_json_string(in, key_);
  if (step != Step::Again) return step;
  first_ = false;
  const bool known = key_is_name_ || is_in(kNameKeys, key_) || is_in(kArgumentKeys, key_) ||
                     is_in(kIdKeys, key_) || is_in(kOtherKeys, key_);
  // Reject other JSON as early as possible.
  if (!known && !has_name_) return Step::Broken;
  state_ = State::Colon;
  return Step::Again;
}

Step JsonCallObject::value(ReplyInput& in) {
  scan_ = JsonScan();
  if (key_is_name_) {
    if (has_name_) return Step::Broken;
    name_ = key_;
    has_name_ = true;
    state_ = State::Arguments;
  } else if (is_in(kNameKeys, key_) && !has_name_) {
    state_ = State::Name;
  } else if (is_in(kIdKeys, key_) && in.rest()[0] == '"') {
    state_ = State::Id;
  } else if (is_in(kArgumentKeys, key_) && !has_arguments_) {
    state_ = State::Arguments;
  } else {
    state_ = State::Skipped;
    return Step::Again;
  }
  if (state_ == State::Arguments) {
    has_arguments_ = true;
    is_text_ = in.rest()[0] != '{';
  }
  return Step::Again;
}

Step JsonCallObject::text(ReplyInput& in, CallOutput&) {
  std::string& into = state_ == State::Name ? name_ : id_;
  const Step step = read_json_string(in, into);
  if (step != Step::Again) return step;
  if (state_ == State::Name) {
    has_name_ = !name_.empty();
    if (!has_name_) return Step::Broken;
  }
  state_ = State::Comma;
  return Step::Again;
}

Step JsonCallObject::arguments(ReplyInput& in, CallOutput& out) {
  const bool skipped = state_ == State::Skipped;
  std::string passed;
  const Step step = copy_json(in, scan_, skipped || holds_arguments() ? held_ : passed);
  if (skipped) {
    held_.clear();
  } else if (!holds_arguments()) {
    announce(out);
    out.arguments(passed);
  }
  if (step == Step::Again) state_ = State::Comma;
  return step;
}

Step JsonCallObject::close(CallOutput& out) {
  if (!has_name_) return Step::Broken;
  announce(out);
  if (!has_arguments_ || held_ == "null") {
    out.arguments("{}");
  } else if (!held_.empty()) {
    // The arguments are JSON in a string, or came before the name.
    const std::optional<std::string> inner = json_string_text(held_);
    const std::optional<std::string> json = inner ? repaired_json(*inner) : std::nullopt;
    out.arguments(json ? *json : held_);
  }
  out.end_call();
  return Step::Done;
}

void JsonCalls::begin(size_t) {
  state_ = State::First;
  in_array_ = any_ = false;
  object_.begin();
}

Step JsonCalls::step(ReplyInput& in, CallOutput& out) {
  switch (state_) {
    case State::First:
      in.skip_space();
      if (in.rest().empty()) return in.at_end ? Step::Broken : Step::More;
      if (in.rest()[0] == '[' && !in_array_) {
        in_array_ = true;
        in.skip(1);
        return Step::Again;
      }
      if (in.rest()[0] != '{') return Step::Broken;
      state_ = State::Object;
      return Step::Again;
    case State::Object: {
      const Step step = object_.step(in, out);
      if (step != Step::Done) return step;
      state_ = State::Next;
      any_ = true;
      return Step::Again;
    }
    case State::Next: {
      in.skip_space();
      if (in.rest().empty()) return in.at_end ? Step::Done : Step::More;
      const char c = in.rest()[0];
      if (in_array_ && c == ']') {
        in.skip(1);
        state_ = State::Close;
        return Step::Again;
      }
      const bool separated = c == ',' || (c == ';' && !in_array_);
      if (separated) in.skip(1);
      if (separated || (c == '{' && !in_array_)) {
        object_.begin();
        state_ = State::First;
        return Step::Again;
      }
      if (in_array_) return Step::Broken;
      state_ = State::Close;
      return Step::Again;
    }
    case State::Close: {
      if (layout_.close.empty()) return Step::Done;
      in.skip_space();
      const auto match = in.match(layout_.close);
      if (match == ReplyInput::Match::Partly) return Step::More;
      if (match == ReplyInput::Match::Yes)
        in.skip(layout_.close.size());
      else if (layout_.must_close && !in.at_end)
        return Step::Broken;
      return Step::Done;
    }
  }
  return Step::Broken;
}

}  // namespace tenon
