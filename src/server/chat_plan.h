// A conversation and its rules to answers to be generated: prompt, samplers under their grammars, readers
// of the answers. The same for every interface that chats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tenon/grammar.hpp>

#include "answer_plan.h"
#include "chat_tools.h"
#include "sampling_fields.h"

namespace tenon_http {

/// A chat as an interface understood it.
struct ChatRequest {
  Json messages = Json::array();  ///< of a conversation
  std::string messages_field = "messages";
  ToolUse tools{};
  Json response_format = nullptr;  ///< as tenon.h, 14, has it
  std::string format_field = "response_format";
  Json variables = Json::object();  ///< for the template
  Sampling sampling{};
  std::optional<tenon::Grammar> grammar{};  ///< what the whole answer must be
  size_t num_choices = 1;
  std::optional<uint64_t> max_tokens{};
  bool logprobs = false;
  uint32_t num_top = 0;
};

/// "response_format" as a conversation takes it; null for text. Throws ApiError naming the field.
Json read_response_format(const Fields& fields);

/// What every interface lets a client say to the template: "chat_template_kwargs" and
/// "reasoning_effort".
Json read_template_variables(const Fields& fields);

/// The tokens of the prompt. Throws ApiError naming messages_field.
Tokens encode_prompt(const ServedModel& model, ChatRequest& request);

/// Throws ApiError: for a schema that cannot be kept exactly, naming its field, with the JSON pointer.
AnswerPlan plan_chat(const ServedModel& model, ChatRequest request);

}  // namespace tenon_http
