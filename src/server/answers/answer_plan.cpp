#include "server/answers/answer_plan.h"

#include <algorithm>

#include "server/api_error.h"

namespace tenon_http {

uint64_t room_for_answer(const ServedModel& model, size_t prompt_tokens,
                         std::optional<uint64_t> wanted, const std::string& param) {
  if (prompt_tokens == 0) throw invalid_request(param + ": has no tokens", param);
  if (prompt_tokens >= model.context()) {
    // Anthropic's wording: agents parse its numbers and shorten the conversation.
    throw invalid_request("prompt is too long: " + std::to_string(prompt_tokens) + " tokens > " +
                              std::to_string(model.context() - 1) +
                              " maximum, as the context must hold one of the answer, too",
                          param)
        .with_code("context_length_exceeded");
  }
  const uint64_t room = model.context() - prompt_tokens;
  return std::min(wanted.value_or(room), room);
}

}  // namespace tenon_http
