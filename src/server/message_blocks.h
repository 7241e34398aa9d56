// Requests of Anthropic's messages interface to those of a conversation.
#pragma once

#include "chat_plan.h"

namespace tenon_http {

/// Reads "system", "messages", "tools", "tool_choice", "thinking" and "output_config". Throws ApiError
/// naming the field.
ChatRequest read_message_request(const Fields& fields);

}  // namespace tenon_http
