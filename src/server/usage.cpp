#include "usage.h"

#include <algorithm>
#include <array>

namespace tenon_http {
namespace {

Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

Json token_json(const std::string& text, float logprob) {
  // JSON has no infinity: this stands for "never" in OpenAI's interfaces.
  const double shown = std::max(static_cast<double>(logprob), -9999.0);
  return {{"token", text}, {"logprob", shown}, {"bytes", bytes_of(text)}};
}

}  // namespace

void Usage::add(const AnswerEnd& end, bool counts_prompt) {
  completion_tokens += end.generated_tokens;
  reasoning_tokens += end.reasoning_tokens;
  if (!counts_prompt) return;
  if (prompt_tokens == 0) reuse = end.reuse;
  prompt_tokens += end.prompt_tokens;
  cached_tokens += end.cached_tokens;
}

Json Usage::json() const {
  return {
      {"prompt_tokens", prompt_tokens},
      {"completion_tokens", completion_tokens},
      {"total_tokens", prompt_tokens + completion_tokens},
      {"prompt_tokens_details", {{"cached_tokens", cached_tokens}, {"audio_tokens", 0}}},
      {"completion_tokens_details", {{"reasoning_tokens", reasoning_tokens}, {"audio_tokens", 0}}},
      {"reuse", reuse_json(reuse)}};
}

Json reuse_json(const PromptReuse& reuse) {
  static constexpr std::array<const char*, 5> kMisses = {nullptr, "different_text", "evicted",
                                                         "other_salt", "cache_type"};
  const auto miss = static_cast<size_t>(reuse.miss);
  const bool has_miss = miss > 0 && miss < kMisses.size();
  return {{"prompt_tokens", reuse.prompt_tokens},
          {"reused_tokens", reuse.reused_tokens},
          {"repaired_turns", reuse.repaired_turns},
          {"miss", has_miss ? Json(kMisses[miss]) : Json(nullptr)},
          {"miss_position", has_miss ? Json(reuse.miss_position) : Json(nullptr)}};
}

Json logprobs_json(const std::vector<DrawnToken>& tokens, const tenon::Tokenizer& tokenizer) {
  Json list = Json::array();
  for (const DrawnToken& token : tokens) {
    Json entry = token_json(token.text, token.logprob);
    Json top = Json::array();
    for (const auto& [id, logprob] : token.top) {
      top.push_back(token_json(tokenizer.decode({&id, 1}, true), logprob));
    }
    entry["top_logprobs"] = std::move(top);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace tenon_http
