#include "text/chat_formats/named_calls.h"

#include <array>

namespace tenon {
void NamedCalls::begin(size_t opener) {
  state_ = layout_.or_json ? State::First : State::Open;
  if (opener == layout_.late_opener) state_ = layout_.kind_end.empty() ? State::Name : State::Kind;
  plain_.begin(opener);
}

CallGrammar::Step NamedCalls::literal(ReplyInput& in, std::string_view text, State next) {
  in.skip_space();
  if (in.rest().empty() && !in.at_end) return Step::More;
  switch (in.match(text)) {
    case ReplyInput::Match::Partly:
      return Step::More;
    case ReplyInput::Match::No:
      return Step::Broken;
    case ReplyInput::Match::Yes:
      break;
  }
  in.skip(text.size());
  state_ = next;
  return Step::Again;
}

CallGrammar::Step NamedCalls::step(ReplyInput& in, CallOutput& out) {
  switch (state_) {
    case State::First:
      in.skip_space();
      if (in.rest().empty()) return in.at_end ? Step::Broken : Step::More;
      state_ = in.rest()[0] == '[' || in.rest()[0] == '{' ? State::Plain : State::Open;
      return Step::Again;
    case State::Plain:
      return plain_.step(in, out);
    case State::Open:
      if (layout_.call_open.empty()) {
        state_ = layout_.kind_end.empty() ? State::Name : State::Kind;
        return Step::Again;
      }
      return literal(in, layout_.call_open, layout_.kind_end.empty() ? State::Name : State::Kind);
    case State::Kind: {
      const std::array markers{layout_.kind_end};
      const ReplyInput::Found found = in.find(markers);
      if (found.at > kMaxCallName) return Step::Broken;
      if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
      in.skip(found.at + markers[0].size());
      state_ = State::Name;
      return Step::Again;
    }
    case State::Name:
      return name(in, out);
    case State::Id:
      return id(in, out);
    case State::Arguments: {
      if (!started_) {
        in.skip_space();
        if (in.rest().empty()) return in.at_end ? Step::Broken : Step::More;
        if (in.rest()[0] != '{') return Step::Broken;
        started_ = true;
      }
      std::string json;
      const Step step = copy_json(in, scan_, json);
      out.arguments(json);
      if (step == Step::Again) state_ = State::Close;
      return step;
    }
    case State::Close: {
      if (layout_.call_close.empty()) {
        out.end_call();
        state_ = State::Next;
        return Step::Again;
      }
      in.skip_space();
      // The close is optional after complete arguments.
      const bool ended = in.at_end && in.rest().empty();
      const ReplyInput::Match again =
          layout_.call_open.empty() ? ReplyInput::Match::No : in.match(layout_.call_open);
      if (again == ReplyInput::Match::Partly) return Step::More;
      const bool left_out = ended || again == ReplyInput::Match::Yes;
      const Step step = left_out ? Step::Again : literal(in, layout_.call_close, State::Next);
      if (step != Step::Again) return step;
      out.end_call();
      state_ = State::Next;
      return Step::Again;
    }
    case State::Next:
      return next(in);
  }
  return Step::Broken;
}

CallGrammar::Step NamedCalls::name(ReplyInput& in, CallOutput& out) {
  const std::array markers{layout_.name_end.empty() ? std::string_view("{") : layout_.name_end,
                           layout_.id_open};
  const ReplyInput::Found found = in.find(markers);
  if (found.at > kMaxCallName) return Step::Broken;
  if (found.which == markers.size()) return in.at_end ? Step::Broken : Step::More;
  raw_name_ = trimmed(in.rest().substr(0, found.at));
  if (raw_name_.empty()) return Step::Broken;
  const bool has_id = found.which == 1;
  in.skip(found.at);
  if (has_id || !layout_.name_end.empty()) in.skip(markers[found.which].size());
  if (has_id) {
    state_ = State::Id;
    return Step::Again;
  }
  announce(out, raw_name_, "");
  return Step::Again;
}

CallGrammar::Step NamedCalls::id(ReplyInput& in, CallOutput& out) {
  const std::array markers{layout_.name_end};
  const ReplyInput::Found found = in.find(markers);
  if (found.at > kMaxCallName) return Step::Broken;
  if (found.which != 0) return in.at_end ? Step::Broken : Step::More;
  const std::string id(trimmed(in.rest().substr(0, found.at)));
  in.skip(found.at + markers[0].size());
  announce(out, raw_name_, id);
  return Step::Again;
}

void NamedCalls::announce(CallOutput& out, std::string_view raw, std::string_view id) {
  CallName split{std::string(raw), std::string(id)};
  if (layout_.split_name != nullptr) split = layout_.split_name(raw);
  out.begin_call(split.name, split.id);
  scan_ = JsonScan();
  started_ = false;
  state_ = State::Arguments;
}

CallGrammar::Step NamedCalls::next(ReplyInput& in) {
  in.skip_space();
  const std::string_view again = layout_.next_call.empty() ? layout_.call_open : layout_.next_call;
  bool may_come = in.rest().empty() && !in.at_end;
  for (const std::string_view marker : {again, layout_.section_close}) {
    if (marker.empty()) continue;
    const ReplyInput::Match match = in.match(marker);
    if (match == ReplyInput::Match::Partly) may_come = true;
    if (match != ReplyInput::Match::Yes) continue;
    in.skip(marker.size());
    if (marker == layout_.section_close) return Step::Done;
    state_ = layout_.kind_end.empty() ? State::Name : State::Kind;
    return Step::Again;
  }
  return may_come ? Step::More : Step::Done;
}

}  // namespace tenon
