// Prompts in the tokens that were computed for them before: turns that the server answered are found
// again by what they mean.
#pragma once

#include <optional>
#include <string>

#include "server/answers/chat_plan.h"
#include "server/compat/echo_memory.h"

namespace tenon_http {

/// A prompt, repaired or as the template renders it.
struct EchoPrompt {
  Tokens tokens;
  size_t num_repaired = 0;  ///< turns of the assistant that are there as they were computed
};

/// What the conversation of a request means.
ConversationMeaning meaning_of(const ServedModel& model, const ChatRequest& request);

/// Puts remembered tokens in place of the beginning of `rendered`, up to the last turn of the assistant
/// that is known:
///
///     remembered:  <|user|>Hi<|end|><|assistant|><think>...</think>Hello!<|end|>
///     rendered:    <|user|>Hi<|end|><|assistant|>Hello!<|end|><|user|>And now?<|end|><|assistant|>
///     repaired:    remembered, then what is rendered after the second <|end|>
///
/// The token that ended the answer marks the place; where the template writes another one, or not one
/// for each message, nothing is repaired. Where the prompt tells another date than the remembered one, it
/// stays, and the next words of the user begin with the new one. Throws tenon::Error.
EchoPrompt repair_echo(const ServedModel& model, const ChatRequest& request,
                       const ConversationMeaning& meaning, Tokens rendered);

}  // namespace tenon_http
