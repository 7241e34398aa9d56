// Checked plan of a generation, common to all interfaces.
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

/// Plan of one answer.
struct ChoicePlan {
  std::shared_ptr<const Tokens> prompt;
  tenon::Sampler sampler;
  /// Engine's limit; a constrained text is completed within it.
  uint64_t max_tokens = 0;
  std::optional<tenon::ChatReply> reply{};  ///< parses the answer; empty for plain text
  uint64_t cut_after = 0;                   ///< tokens after which the answer is cut; 0 means never
  std::shared_ptr<const EchoTurn> echo{};   ///< remembers the answer; may be null
  size_t repaired_turns = 0;                ///< repaired turns of the prompt
};

struct AnswerPlan {
  const ServedModel* model = nullptr;
  std::vector<ChoicePlan> choices{};
  std::vector<std::string> stops{};         ///< stop texts, also set in the samplers
  std::vector<tenon::Token> stop_tokens{};  ///< stop tokens, not part of the answer
  bool bans_tokens = false;                 ///< "logit_bias" bans a token
  bool ignore_end = false;
  bool logprobs = false;
  uint32_t num_top = 0;  ///< likeliest alternatives per token
  Tokens prediction{};   ///< the likely answer, as the client predicts it
  int32_t priority = 0;
  int32_t speculation = TENON_SPECULATION_DEFAULT;  ///< whether tokens are guessed
  uint32_t draft_max = 0;                           ///< most at once; 0: as the model says
  std::vector<std::string> notes{};  ///< notes for the client on skipped or dropped parts
};

/// Token limit of an answer: `wanted`, or the room left in the context. Throws ApiError 400 if no
/// room is left. param: the prompt's field.
uint64_t room_for_answer(const ServedModel& model, size_t prompt_tokens,
                         std::optional<uint64_t> wanted, const std::string& param);

}  // namespace tenon_http
