#include "sampler/bias_table.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

void BiasTable::set(int32_t token, float bias) {
  const bool present = has(token);
  if (!present && bias == 0.0f) return;
  if (!present && num_tokens_ >= kMaxTokens) {
    fail(Code::Argument, "sampler: logit_bias for more than {} tokens", kMaxTokens);
  }
  changes_.insert_or_assign(token, bias);
  if (!present) ++num_tokens_;
  if (present && bias == 0.0f) --num_tokens_;
}

void BiasTable::clear() {
  settled_.clear();
  changes_.clear();
  num_tokens_ = 0;
}

void BiasTable::settle() {
  if (changes_.empty()) return;
  std::vector<LogitBias> merged;
  merged.reserve(num_tokens_);
  auto old = settled_.begin();
  for (const auto& [token, bias] : changes_) {
    for (; old != settled_.end() && old->token < token; ++old) merged.push_back(*old);
    if (old != settled_.end() && old->token == token) ++old;
    if (bias != 0.0f) merged.push_back({token, bias});
  }
  merged.insert(merged.end(), old, settled_.end());
  settled_ = std::move(merged);
  changes_.clear();
}

bool BiasTable::has(int32_t token) const {
  const auto change = changes_.find(token);
  return change != changes_.end() ? change->second != 0.0f : is_settled(token);
}

bool BiasTable::is_settled(int32_t token) const {
  const auto at = std::ranges::lower_bound(settled_, token, {}, &LogitBias::token);
  return at != settled_.end() && at->token == token;
}

}  // namespace tenon
