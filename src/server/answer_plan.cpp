#include "answer_plan.h"

#include <algorithm>

#include "api_error.h"

namespace tenon_http {

uint64_t room_for_answer(const ServedModel& model, size_t prompt_tokens,
                         std::optional<uint64_t> wanted, const std::string& param) {
  if (prompt_tokens == 0) throw invalid_request(param + ": has no tokens", param);
  if (prompt_tokens >= model.context()) {
    throw invalid_request("the prompt has " + std::to_string(prompt_tokens) +
                              " tokens; with at least one of an answer the context of " +
                              std::to_string(model.context()) + " does not hold it",
                          param)
        .with_code("context_length_exceeded");
  }
  const uint64_t room = model.context() - prompt_tokens;
  return std::min(wanted.value_or(room), room);
}

}  // namespace tenon_http
