// Reuses the computed tokens of earlier turns in a prompt. Turns that the server answered are found
// by their meaning.
#pragma once

#include <optional>
#include <string>

#include "server/answers/chat_plan.h"
#include "server/compat/echo_memory.h"

namespace tenon_http {

/// Prompt, either repaired or as the template renders it.
struct EchoPrompt {
  Tokens tokens;
  size_t num_repaired = 0;  ///< turns of the assistant in their computed tokens
};

/// Meaning of a request's conversation.
ConversationMeaning meaning_of(const ServedModel& model, const ChatRequest& request);

/// Replaces the beginning of `rendered` by remembered tokens, up to the last known turn of the
/// assistant:
///
///     remembered:  <|user|>Hi<|end|><|assistant|><think>...</think>Hello!<|end|>
///     rendered:    <|user|>Hi<|end|><|assistant|>Hello!<|end|><|user|>And now?<|end|><|assistant|>
///     repaired:    remembered, then the rendered tokens after the second <|end|>
///
/// The token that ended the answer marks the cut. Nothing is repaired if the template writes
/// another end token, or not exactly one per message. If the prompt states another date, the
/// remembered date stays and the user's next words begin with the new date. Throws tenon::Error.
EchoPrompt repair_echo(const ServedModel& model, const ChatRequest& request,
                       const ConversationMeaning& meaning, Tokens rendered);

}  // namespace tenon_http
