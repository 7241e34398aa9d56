#include "server/protocols/usage.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "server/work/work_limit.h"

namespace tenon_http {
namespace {

/// Replaces minus infinity, which JSON lacks, as OpenAI's interfaces do.
constexpr double kLeastLogprob = -9999.0;

Json bytes_of(const std::string& text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

/// Members "token" and "bytes" for a text.
std::string text_members(const std::string& text) {
  std::string members = "\"token\":" + to_text(text) + ",\"bytes\":[";
  for (const char c : text) {
    if (members.back() != '[') members += ',';
    members += std::to_string(static_cast<unsigned char>(c));
  }
  return members + "]";
}

void append_number(std::string& text, double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

Json token_json(const std::string& text, float logprob) {
  const double shown = std::max(static_cast<double>(logprob), kLeastLogprob);
  return {{"token", text}, {"logprob", shown}, {"bytes", bytes_of(text)}};
}

}  // namespace

void Usage::add(const AnswerEnd& end, bool counts_prompt) {
  completion_tokens += end.generated_tokens;
  reasoning_tokens += end.reasoning_tokens;
  accepted_prediction_tokens += end.accepted_prediction_tokens;
  rejected_prediction_tokens += end.rejected_prediction_tokens;
  if (!counts_prompt) return;
  if (prompt_tokens == 0) reuse = end.reuse;
  prompt_tokens += end.prompt_tokens;
  cached_tokens += end.cached_tokens;
}

Json Usage::json() const {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", cached_tokens}, {"audio_tokens", 0}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", reasoning_tokens},
            {"audio_tokens", 0},
            {"accepted_prediction_tokens", accepted_prediction_tokens},
            {"rejected_prediction_tokens", rejected_prediction_tokens}}},
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

void append_logprobs(std::string& text, const std::vector<DrawnToken>& tokens,
                     const tenon::Tokenizer& tokenizer) {
  // Likely tokens repeat, so their texts are cached.
  std::unordered_map<tenon::Token, std::string> known;
  const auto append_entry = [&](const std::string& members, float logprob) {
    text += '{';
    text += members;
    text += ",\"logprob\":";
    append_number(text, std::max(static_cast<double>(logprob), kLeastLogprob));
  };
  text += '[';
  for (size_t i = 0; i < tokens.size(); ++i) {
    WorkLimit::look(16);
    if (i > 0) text += ',';
    append_entry(text_members(tokens[i].text), tokens[i].logprob);
    text += ",\"top_logprobs\":[";
    for (size_t k = 0; k < tokens[i].top.size(); ++k) {
      const auto& [id, logprob] = tokens[i].top[k];
      std::string& members = known[id];
      if (members.empty()) members = text_members(tokenizer.decode({&id, 1}, true));
      if (k > 0) text += ',';
      append_entry(members, logprob);
      text += '}';
    }
    text += "]}";
  }
  text += ']';
}

size_t logprobs_bytes(const std::vector<DrawnToken>& tokens) {
  constexpr size_t kBytesOfOne = 80;
  size_t count = 0;
  for (const DrawnToken& token : tokens) count += 1 + token.top.size();
  return count * kBytesOfOne;
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
