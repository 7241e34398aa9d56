#include "sampler/banned_texts.h"

#include <utility>

namespace tenon {

void BanWatch::restart(std::shared_ptr<const BannedTexts> texts) {
  texts_ = std::move(texts);
  state_ = 0;
  size_ = 0;
}

std::optional<uint64_t> BanWatch::push(std::string_view text) {
  if (texts_ == nullptr) return std::nullopt;
  for (const char byte : text) {
    state_ = texts_->next(state_, byte);
    ++size_;
    if (const uint32_t match = texts_->match(state_); match != 0) return size_ - match;
  }
  return std::nullopt;
}

uint64_t BanWatch::open_from() const {
  return texts_ == nullptr ? size_ : size_ - texts_->depth(state_);
}

}  // namespace tenon
