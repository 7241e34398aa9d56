// Converts requests of Anthropic's messages interface to conversations.
#pragma once

#include "server/answers/chat_plan.h"

namespace tenon_http {

/// Reads "system", "messages", "tools", "tool_choice", "thinking" and "output_config", and checks
/// the other fields. A final assistant message is continued. Notes thoughts without a signature of
/// `signer`. Throws ApiError naming the field.
ChatRequest read_message_request(const Fields& fields, const ThoughtSigner& signer);

/// True if the client wants only the signatures of thoughts: "thinking.display" is "omitted".
bool omits_thoughts(const Fields& fields);

}  // namespace tenon_http
