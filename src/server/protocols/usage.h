// Token counts and logprobs in the form of OpenAI's interfaces.
#pragma once

#include <tenon/tokenizer.hpp>

#include "server/answers/generation.h"
#include "server/json/json.h"

namespace tenon_http {

/// Sums over the answers to a request; a shared prompt counts once.
struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t completion_tokens = 0;
  uint64_t reasoning_tokens = 0;
  uint64_t accepted_prediction_tokens = 0;
  uint64_t rejected_prediction_tokens = 0;
  PromptReuse reuse{};  ///< reuse of the first answer's prompt

  /// counts_prompt: true for the first answer to a prompt.
  void add(const AnswerEnd& end, bool counts_prompt);
  [[nodiscard]] Json json() const;
};

/// Reuse of a prompt and the reason for its end, in the form common to all interfaces.
Json reuse_json(const PromptReuse& reuse);

/// Appends the logprobs of chat completions: [{"token", "logprob", "bytes", "top_logprobs"}, ...].
void append_logprobs(std::string& text, const std::vector<DrawnToken>& tokens,
                     const tenon::Tokenizer& tokenizer);
/// Builds that list as a JSON tree, for few tokens.
Json logprobs_json(const std::vector<DrawnToken>& tokens, const tenon::Tokenizer& tokenizer);
/// Estimated size of append_logprobs() in bytes.
size_t logprobs_bytes(const std::vector<DrawnToken>& tokens);

}  // namespace tenon_http
