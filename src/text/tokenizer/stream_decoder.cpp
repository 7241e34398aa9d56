#include "text/tokenizer/stream_decoder.h"

#include "text/unicode/utf8_codec.h"

namespace tenon {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, Options options)
    : tokenizer_(&tokenizer), options_(options) {}

std::string_view StreamDecoder::push(Token token) {
  const DecodeOptions options{options_.render_special, options_.strip_space_prefix};
  const std::string_view piece = tokenizer_->decode_next(token, options, at_start_);
  text_.clear();
  held_ += piece;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const size_t valid = utf8_valid_prefix(rest);
    text_ += rest.substr(0, valid);
    rest.remove_prefix(valid);
    if (rest.empty()) break;
    const Utf8Unit unit = utf8_unit(rest);
    if (unit.kind == Utf8Unit::Unfinished) break;
    text_ += kReplacementUtf8;
    rest.remove_prefix(unit.size);
  }
  held_.erase(0, held_.size() - rest.size());
  return text_;
}

std::string_view StreamDecoder::finish() {
  text_.clear();
  if (!held_.empty()) text_ = kReplacementUtf8;
  held_.clear();
  at_start_ = true;
  return text_;
}

}  // namespace tenon
