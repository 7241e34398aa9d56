#include "engine/answer_text.h"

#include <algorithm>

#include "text/unicode/utf8_codec.h"

namespace tenon {

AnswerText::AnswerText(const Tokenizer& tokenizer) : tokenizer_(&tokenizer), decoder_(tokenizer) {}

void AnswerText::restart(uint64_t position) {
  decoder_ = StreamDecoder(*tokenizer_);
  position_ = position;
  stream_.restart(nullptr);
  watch_.restart(nullptr);
  num_generated_ = 0;
  seed_.reset();
}

void AnswerText::resume(std::span<const Token> text, uint64_t num_generated) {
  restart(text.size() - num_generated);
  follow(text);
  num_generated_ = num_generated;
}

void AnswerText::follow(std::span<const Token> text) {
  for (; position_ < text.size(); ++position_) (void)decoder_.push(text[position_]);
}

std::span<const Token> AnswerText::forbidden(const EndRules& rules) {
  forbidden_.clear();
  if (num_generated_ >= rules.min_tokens) return forbidden_;
  if (!rules.ignore_end) {
    const auto ends = tokenizer_->end_tokens();
    forbidden_.assign(ends.begin(), ends.end());
  }
  forbidden_.insert(forbidden_.end(), rules.stop_tokens.begin(), rules.stop_tokens.end());
  return forbidden_;
}

AnswerText::Shown AnswerText::push(Token token, const EndRules& rules) {
  const bool may_end = num_generated_ >= rules.min_tokens;
  Shown shown{decoder_.push(token), Finish::None};
  ++position_;
  ++num_generated_;
  if (std::ranges::binary_search(rules.stop_tokens, token)) {
    shown = {{}, Finish::Stop};
  } else if (!rules.ignore_end && tokenizer_->is_end(token)) {
    shown.finish = Finish::End;
    // An end token has no text of its own; the rest is a character that stays incomplete.
    if (shown.text.empty()) shown.text = decoder_.finish();
  }
  if (watch_.texts() != rules.banned) watch_.restart(rules.banned);
  if (rules.banned != nullptr) {
    if (!shown.text.empty()) shown.first_character = utf8_unit(shown.text).size;
    shown.banned_from = watch_.push(shown.text);
    if (shown.banned_from) return shown;
  }
  const auto& stops = may_end ? rules.stops : nullptr;
  if (stream_.stops() != stops) stream_.restart(stops);
  const StopStream::Shown passed = stream_.push(shown.text);
  shown.text = passed.text;
  if (passed.stopped) {
    shown.finish = Finish::Stop;
    decoder_ = StreamDecoder(*tokenizer_);
  } else if (shown.finish != Finish::None) {
    shown.text = with_held(shown.text);
  }
  return shown;
}

std::string_view AnswerText::with_held(std::string_view text) {
  if (stream_.stops() == nullptr) return text;
  tail_.assign(text).append(stream_.finish());
  return tail_;
}

}  // namespace tenon
