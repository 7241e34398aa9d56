// What is to be generated for a request, understood and checked: the same for all interfaces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tenon/chat.hpp>
#include <tenon/sampler.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

#include "server/compat/echo_memory.h"
#include "server/registry/served_model.h"

namespace tenon_http {

using Tokens = std::vector<tenon::Token>;

/// One answer.
struct ChoicePlan {
  std::shared_ptr<const Tokens> prompt;
  tenon::Sampler sampler;
  /// For the engine, which completes a constrained text before it.
  uint64_t max_tokens = 0;
  std::optional<tenon::ChatReply> reply{};  ///< reads it; none: it is text
  uint64_t cut_after = 0;                   ///< tokens after which it just ends; 0: never
  std::shared_ptr<const EchoTurn> echo{};   ///< remembers it; null: nothing does
  size_t repaired_turns = 0;                ///< of the prompt
};

struct AnswerPlan {
  const ServedModel* model = nullptr;
  std::vector<ChoicePlan> choices{};
  std::vector<std::string> stops{};         ///< as the samplers have them
  std::vector<tenon::Token> stop_tokens{};  ///< stop tokens, not part of the answer
  bool bans_tokens = false;                 ///< by "logit_bias"
  bool ignore_end = false;
  bool logprobs = false;
  uint32_t num_top = 0;  ///< likeliest tokens beside each
  int32_t priority = 0;
  std::vector<std::string>
      notes{};  ///< for the client: what of the request was skipped or left out
};

/// How many tokens an answer to a prompt may have: `wanted`, or what the context holds. Throws
/// ApiError 400 when it holds none. param: the field of the prompt.
uint64_t room_for_answer(const ServedModel& model, size_t prompt_tokens,
                         std::optional<uint64_t> wanted, const std::string& param);

}  // namespace tenon_http
