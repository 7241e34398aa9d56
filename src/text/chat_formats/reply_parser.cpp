#include "text/chat_formats/reply_parser.h"

#include <array>

namespace tenon {
namespace {

// Length of the prompt's end that can matter, in bytes.
constexpr size_t kPromptEnd = 256;

}  // namespace

MarkedReply::MarkedReply(const ChatFormat& format, bool reads_calls)
    : format_(format), reads_calls_(reads_calls && format.make_calls != nullptr) {
  if (reads_calls_) {
    calls_ = format.make_calls();
    for (const std::string_view opener : format.call_openers) {
      if (!opener.empty()) markers_.push_back(opener);
    }
  }
  num_openers_ = markers_.size();
  for (const std::string_view mark : format.dropped) {
    if (!mark.empty()) markers_.push_back(mark);
  }
  think_markers_.push_back(format.think.close);
  if (format.calls_end_reasoning) {
    think_markers_.insert(think_markers_.end(), markers_.begin(),
                          markers_.begin() + static_cast<std::ptrdiff_t>(num_openers_));
  }
}

void MarkedReply::start(std::string_view prompt_end) {
  if (format_.think.open.empty()) {
    state_ = State::Content;
    return;
  }
  const std::string_view end = without_space_after(prompt_end);
  const std::string_view open = without_space_after(format_.think.open);
  if (end.ends_with(open)) state_ = State::Reasoning;
}

void MarkedReply::resume(bool reasons) {
  state_ = reasons ? State::Reasoning : State::Content;
  any_content_ = !reasons;
}

void MarkedReply::read(ReplyInput& in, ReplyBuilder& out) {
  while (step(in, out)) {
  }
}

bool MarkedReply::step(ReplyInput& in, ReplyBuilder& out) {
  switch (state_) {
    case State::Start:
      return step_start(in, out);
    case State::Reasoning:
      return step_reasoning(in, out);
    case State::Content:
      return step_content(in, out);
    case State::Call:
      return step_call(in, out);
  }
  return false;
}

bool MarkedReply::step_start(ReplyInput& in, ReplyBuilder&) {
  in.skip_space();
  if (in.rest().empty() && !in.at_end) return false;
  const ReplyInput::Match match = in.match(format_.think.open);
  if (match == ReplyInput::Match::Partly) return false;
  if (match == ReplyInput::Match::Yes) {
    in.skip(format_.think.open.size());
    state_ = State::Reasoning;
  } else {
    state_ = State::Content;
  }
  in.forget();
  return true;
}

bool MarkedReply::step_reasoning(ReplyInput& in, ReplyBuilder& out) {
  const ReplyInput::Found found = in.find(think_markers_);
  out.reasoning(in.rest().substr(0, found.at));
  in.skip(found.at);
  in.forget();
  if (found.which == think_markers_.size()) return false;
  in.skip(think_markers_[found.which].size());
  if (found.which == 0) {
    in.forget();
    out.end_part();
    state_ = State::Content;
    return true;
  }
  is_reasoning_ = true;
  calls_->begin(found.which - 1);
  state_ = State::Call;
  return true;
}

bool MarkedReply::step_content(ReplyInput& in, ReplyBuilder& out) {
  if (reads_calls_ && !format_.bare_begins.empty() && !any_content_) {
    in.skip_space();
    if (in.rest().empty()) return false;
    any_content_ = true;
    if (format_.bare_begins.find(in.rest()[0]) != std::string_view::npos) {
      in.forget();
      calls_->begin(num_openers_);
      state_ = State::Call;
      return true;
    }
  }
  const ReplyInput::Found found = in.find(markers_);
  out.content(in.rest().substr(0, found.at));
  in.skip(found.at);
  in.forget();
  if (found.which == markers_.size()) return false;
  in.skip(markers_[found.which].size());
  if (found.which >= num_openers_) {
    in.forget();
    return true;
  }
  calls_->begin(found.which);
  state_ = State::Call;
  return true;
}

bool MarkedReply::step_call(ReplyInput& in, ReplyBuilder& out) {
  switch (calls_->step(in, out)) {
    case CallGrammar::Step::More:
      return false;
    case CallGrammar::Step::Again:
      return true;
    case CallGrammar::Step::Done:
      in.forget();
      state_ = State::Content;
      break;
    case CallGrammar::Step::Broken:
      out.retract();
      if (is_reasoning_) {
        out.reasoning(in.read());
        state_ = State::Reasoning;
      } else {
        out.content(in.read());
        state_ = State::Content;
      }
      in.forget();
      break;
  }
  any_content_ = true;
  is_reasoning_ = false;
  return true;
}

ReplyParser::ReplyParser(const ChatFormat& format, std::string_view prompt_end, bool reads_calls,
                         ToolTypes types, size_t first_id, ReplyBegin begin)
    : builder_(input_, std::move(types), {.first = first_id, .nine = format.ids_of_nine}) {
  if (format.make_layout != nullptr) {
    layout_ = format.make_layout();
  } else {
    layout_ = std::make_unique<MarkedReply>(format, reads_calls);
  }
  if (prompt_end.size() > kPromptEnd) prompt_end.remove_prefix(prompt_end.size() - kPromptEnd);
  layout_->start(prompt_end);
  if (begin == ReplyBegin::Fresh) return;
  layout_->resume(begin == ReplyBegin::InReasoning);
  builder_.resume();
}

void ReplyParser::push(std::string_view text, const ReplySink& sink) {
  if (input_.at_end) return;
  builder_.set_sink(&sink);
  input_.append(text);
  layout_->read(input_, builder_);
  builder_.set_sink(nullptr);
}

void ReplyParser::finish(const ReplySink& sink) {
  if (input_.at_end) return;
  builder_.set_sink(&sink);
  input_.at_end = true;
  layout_->read(input_, builder_);
  builder_.finish();
  builder_.set_sink(nullptr);
}

}  // namespace tenon
