#include "text/chat_formats/tagged_calls.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/chat_formats/json_scan.h"
#include "text/chat_formats/python_scan.h"
#include "text/unicode/json_escapes.h"

namespace tenon {
namespace {

constexpr std::string_view kCdata = "<![CDATA[";
constexpr std::string_view kCdataEnd = "]]>";

/// Converts a list or an object in Python syntax, which templates show to models, to JSON.
std::optional<std::string> json_of_python(std::string_view text) {
  if (!text.starts_with('[') && !text.starts_with('{')) return std::nullopt;
  PythonScan scan;
  std::string json;
  for (size_t i = 0; i < text.size(); ++i) {
    const PythonScan::State state = scan.feed(text[i], json);
    if (state == PythonScan::State::Bad) return std::nullopt;
    if (state == PythonScan::State::Complete) {
      return i + 1 == text.size() ? std::optional(std::move(json)) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// Text up to the closing quote of an attribute, unescaped.
std::string attribute_text(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 2> kEscapes{
      {{"&quot;", '"'}, {"&amp;", '&'}}};
  text = text.substr(0, text.find('"'));
  std::string out;
  while (!text.empty()) {
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(), [text](const auto& one) {
      return text.starts_with(one.first);
    });
    const bool is_escape = escape != kEscapes.end();
    out += is_escape ? escape->second : text[0];
    text.remove_prefix(is_escape ? escape->first.size() : 1);
  }
  return out;
}

}  // namespace

std::string tagged_value_json(std::string_view text, JsonKinds kinds) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPython{
      {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
  std::string_view json = trimmed(text);
  for (const auto& [word, meaning] : kPython) {
    const bool meant = kinds != kAnyKind && (kinds & kind_of_json(meaning)) != 0;
    if (meant && json == word) json = meaning;
  }
  // A parameter that may be a string takes another kind only if the text reads like it. Quoted
  // strings are decoded only if the parameter's kinds are unknown.
  const JsonKinds read = kinds == kAnyKind ? kAnyKind : kinds & ~kStringKind;
  const bool may_be_json = (kinds & kStringKind) == 0 || (kind_of_json(json) & read) != 0;
  if (may_be_json) {
    if (std::optional<std::string> repaired = repaired_json(json)) return *std::move(repaired);
    const bool may_be_string = (kinds & kStringKind) != 0;
    std::optional<std::string> python = may_be_string ? std::nullopt : json_of_python(json);
    if (python) return *std::move(python);
  }
  std::string out;
  append_json_string(text, out);
  return out;
}

void TaggedCalls::begin(size_t opener) {
  no_section_ = opener == late_opener_;
  state_ = no_section_ || layout_.call_open.empty() ? State::Name : State::Open;
}

CallGrammar::Step TaggedCalls::step(ReplyInput& in, CallOutput& out) {
  const auto expect = [&](std::string_view text, State next) {
    in.skip_space();
    if (in.rest().empty() && !in.at_end) return Step::More;
    const ReplyInput::Match match = in.match(text);
    if (match == ReplyInput::Match::Partly) return Step::More;
    if (match == ReplyInput::Match::No) return Step::Broken;
    in.skip(text.size());
    state_ = next;
    return Step::Again;
  };
  switch (state_) {
    case State::Open:
      return expect(layout_.call_open, State::Name);
    case State::Name:
      return name(in, out);
    case State::Parameter:
      return parameter(in, out);
    case State::Key:
      return key(in, out);
    case State::ValueOpen:
      return expect(layout_.value_open, State::ValueStart);
    case State::ValueStart:
      return value_start(in);
    case State::Value:
      return value(in, out);
    case State::WholeOpen:
      return whole_open(in);
    case State::Whole:
      return whole(in, out);
    case State::Next:
      return next(in);
  }
  return Step::Broken;
}

CallGrammar::Step TaggedCalls::name(ReplyInput& in, CallOutput& out) {
  const std::array markers{layout_.name_end.empty() ? layout_.key_open : layout_.name_end,
                           layout_.name_end.empty() ? layout_.call_close : std::string_view()};
  const ReplyInput::Found found = in.find(markers);
  if (found.at > kMaxCallName) return Step::Broken;
  if (found.which == markers.size()) return in.at_end ? Step::Broken : Step::More;
  const std::string_view raw = in.rest().substr(0, found.at);
  name_ = layout_.attributes ? attribute_text(raw) : std::string(trimmed(raw));
  const bool odd = name_.empty() || name_.find_first_of("\n<>{}\"") != name_.npos;
  if (odd) return Step::Broken;
  in.skip(found.at);
  if (!layout_.name_end.empty()) in.skip(layout_.name_end.size());
  out.begin_call(name_, "");
  any_parameter_ = is_whole_ = false;
  state_ = State::Parameter;
  return Step::Again;
}

CallGrammar::Step TaggedCalls::parameter(ReplyInput& in, CallOutput& out) {
  in.skip_space();
  bool may_come = in.rest().empty() && !in.at_end;
  const auto match = [&in](std::string_view tag, bool may_stand) {
    return may_stand ? in.match(tag) : ReplyInput::Match::No;
  };
  const ReplyInput::Match is_key = match(layout_.key_open, !is_whole_);
  const ReplyInput::Match is_whole =
      match(layout_.whole_open, !layout_.whole_open.empty() && !is_whole_ && !any_parameter_);
  const ReplyInput::Match is_end = in.match(layout_.call_close);
  if (!in.rest().empty() && is_key == ReplyInput::Match::Yes) {
    in.skip(layout_.key_open.size());
    state_ = State::Key;
    return Step::Again;
  }
  if (!in.rest().empty() && is_whole == ReplyInput::Match::Yes) {
    in.skip(layout_.whole_open.size());
    state_ = State::WholeOpen;
    return Step::Again;
  }
  if (!in.rest().empty() && is_end == ReplyInput::Match::Yes) {
    in.skip(layout_.call_close.size());
    if (!is_whole_) out.arguments(any_parameter_ ? "}" : "{}");
    out.end_call();
    state_ = State::Next;
    return Step::Again;
  }
  may_come |= is_key == ReplyInput::Match::Partly || is_whole == ReplyInput::Match::Partly ||
              is_end == ReplyInput::Match::Partly;
  return may_come && !in.at_end ? Step::More : Step::Broken;
}

CallGrammar::Step TaggedCalls::key(ReplyInput& in, CallOutput& out) {
  const std::array markers{layout_.key_close};
  const ReplyInput::Found found = in.find(markers);
  if (found.at > kMaxCallName) return Step::Broken;
  if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
  std::string_view key = trimmed(in.rest().substr(0, found.at));
  JsonKinds told = 0;  // kind by the tag
  const size_t quote = layout_.attributes ? key.find('"') : key.npos;
  if (quote != key.npos && !layout_.string_attribute.empty()) {
    const bool is_string = key.find(layout_.string_attribute, quote + 1) != key.npos;
    told = is_string ? kStringKind : kAnyKind;
  }
  std::string unescaped;
  if (layout_.attributes) key = unescaped = attribute_text(key);
  if (key.empty()) return Step::Broken;
  kinds_ = told != 0 ? told : out.kinds_of(name_, key);
  is_string_ = kinds_ == kStringKind;
  std::string json(any_parameter_ ? ", " : "{");
  append_json_string(key, json);
  json += is_string_ ? ": \"" : ": ";
  out.arguments(json);
  any_parameter_ = true;
  held_.clear();
  in.skip(found.at + markers[0].size());
  state_ = layout_.value_open.empty() ? State::ValueStart : State::ValueOpen;
  return Step::Again;
}

CallGrammar::Step TaggedCalls::value_start(ReplyInput& in) {
  if (layout_.trims_lines || layout_.cdata) {
    if (in.rest().empty()) return in.at_end ? Step::Broken : Step::More;
  }
  if (layout_.trims_lines && in.rest()[0] == '\n') in.skip(1);
  in_cdata_ = false;
  if (layout_.cdata) {
    const ReplyInput::Match match = in.match(kCdata);
    if (match == ReplyInput::Match::Partly) return Step::More;
    in_cdata_ = match == ReplyInput::Match::Yes;
    if (in_cdata_) in.skip(kCdata.size());
  }
  state_ = State::Value;
  return Step::Again;
}

CallGrammar::Step TaggedCalls::value(ReplyInput& in, CallOutput& out) {
  const std::string cdata_close = std::string(kCdataEnd) + std::string(layout_.value_close);
  const std::array markers{in_cdata_ ? std::string_view(cdata_close) : layout_.value_close};
  const ReplyInput::Found found = in.find(markers);
  const bool whole = found.which == 0;
  std::string_view text = in.rest().substr(0, found.at);
  if (is_string_) {
    // Hold back a final line break until it is known whether it belongs to the tag.
    const size_t kept = layout_.trims_lines && text.ends_with('\n') ? 1 : 0;
    if (!whole) text.remove_suffix(kept);
    std::string json;
    append_json_escaped(whole ? text.substr(0, text.size() - kept) : text, json);
    if (whole) json += '"';
    out.arguments(json);
  } else {
    held_ += text;
  }
  in.skip(text.size());
  if (!whole) return in.at_end ? Step::Broken : Step::More;
  in.skip(markers[0].size());
  if (!is_string_) {
    std::string_view plain = held_;
    if (layout_.trims_lines && plain.ends_with('\n')) plain.remove_suffix(1);
    const std::string text_json = tagged_value_json(plain, kinds_);
    out.arguments(text_json);
  }
  state_ = State::Parameter;
  return Step::Again;
}

CallGrammar::Step TaggedCalls::whole_open(ReplyInput& in) {
  const std::array markers{layout_.key_close};
  const ReplyInput::Found found = in.find(markers);
  if (found.at > kMaxCallName) return Step::Broken;
  if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
  in.skip(found.at + markers[0].size());
  held_.clear();
  state_ = State::Whole;
  return Step::Again;
}

CallGrammar::Step TaggedCalls::whole(ReplyInput& in, CallOutput& out) {
  const std::array markers{layout_.whole_close};
  const ReplyInput::Found found = in.find(markers);
  held_ += in.rest().substr(0, found.at);
  in.skip(found.at);
  if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
  in.skip(markers[0].size());
  const std::optional<std::string> json = repaired_json(trimmed(held_));
  if (!json || !json->starts_with('{')) return Step::Broken;
  out.arguments(*json);
  is_whole_ = true;
  state_ = State::Parameter;
  return Step::Again;
}

CallGrammar::Step TaggedCalls::next(ReplyInput& in) {
  const bool may_close = !layout_.section_close.empty();
  const std::string_view again = layout_.section_close.empty() ? "" : layout_.call_open;
  if (!may_close) return Step::Done;
  in.skip_space();
  if (in.rest().empty()) return in.at_end ? Step::Done : Step::More;
  bool may_come = false;
  for (const std::string_view marker : {again, layout_.section_close}) {
    if (marker.empty()) continue;
    const ReplyInput::Match match = in.match(marker);
    may_come |= match == ReplyInput::Match::Partly;
    if (match != ReplyInput::Match::Yes) continue;
    in.skip(marker.size());
    if (marker == layout_.section_close) return Step::Done;
    state_ = State::Name;
    return Step::Again;
  }
  return may_come ? Step::More : Step::Done;
}

}  // namespace tenon
