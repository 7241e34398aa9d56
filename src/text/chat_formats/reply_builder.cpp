#include "text/chat_formats/reply_builder.h"

#include <fmt/core.h>

namespace tenon {
void ReplyBuilder::send(const ReplyDelta& delta) const {
  if (sink_ != nullptr && *sink_) (*sink_)(delta);
}

void ReplyBuilder::add(ReplyDelta::Kind kind, std::string& part, std::string_view text) {
  if (part.empty() && !resumes_) text = without_space_before(text);
  const size_t solid = without_space_after(text).size();
  if (solid == 0) {
    space_ += text;
    return;
  }
  std::string piece = std::move(space_);
  space_.assign(text.substr(solid));
  piece += text.substr(0, solid);
  part += piece;
  after_call_ = false;
  send({.kind = kind, .text = piece});
}

void ReplyBuilder::content(std::string_view text) {
  add(ReplyDelta::Kind::Content, message_.content, text);
}

void ReplyBuilder::reasoning(std::string_view text) {
  add(ReplyDelta::Kind::Reasoning, message_.reasoning, text);
}

void ReplyBuilder::finish() {
  const bool has_begun = !message_.content.empty() || (resumes_ && message_.reasoning.empty());
  if (space_.empty() || !has_begun || after_call_) return;
  message_.content += space_;
  send({.kind = ReplyDelta::Kind::Content, .text = space_});
  space_.clear();
}

void ReplyBuilder::begin_call(std::string_view name, std::string_view id) {
  ReplyCall call;
  call.id = id;
  if (id.empty()) {
    const size_t number = ids_.first + num_calls_;
    call.id =
        ids_.nine ? fmt::format("call{:05}", number % 100'000) : fmt::format("call_{}", number);
  }
  call.name = name;
  message_.calls.push_back(std::move(call));
  resumes_ = false;
  in_call_ = true;
  send({.kind = ReplyDelta::Kind::CallBegin,
        .call = num_calls_++,
        .text = message_.calls.back().name,
        .id = message_.calls.back().id});
}

void ReplyBuilder::arguments(std::string_view json) {
  if (json.empty() || !in_call_) return;
  message_.calls.back().arguments += json;
  send({.kind = ReplyDelta::Kind::CallArguments, .call = num_calls_ - 1, .text = json});
}

void ReplyBuilder::end_call() {
  in_call_ = false;
  after_call_ = true;
  space_.clear();
  in_.forget();
  send({.kind = ReplyDelta::Kind::CallEnd, .call = num_calls_ - 1});
}

void ReplyBuilder::retract() {
  if (!in_call_) return;
  in_call_ = false;
  message_.calls.pop_back();
  send({.kind = ReplyDelta::Kind::CallRetract, .call = num_calls_ - 1});
}

JsonKinds ReplyBuilder::kinds_of(std::string_view tool, std::string_view parameter) const {
  const auto known = types_.kinds.find(tool);
  if (known == types_.kinds.end()) return kAnyKind;
  const auto kinds = known->second.find(parameter);
  return kinds == known->second.end() ? kAnyKind : kinds->second;
}

bool ReplyBuilder::offers(std::string_view tool) const {
  return types_.kinds.empty() || types_.kinds.find(tool) != types_.kinds.end();
}

}  // namespace tenon
