// Parts of a conversation that the model's template leaves out of the prompt: the client is told.
#pragma once

#include <string>
#include <vector>

#include "chat_plan.h"

namespace tenon_http {

/// A note for each kind of part (tools, calls, results, reasoning, messages of the system and others) of
/// which some does not reach the prompt. A short mark stands in place of each part, the template renders
/// that, and marks are looked for. Empty also where the template does not take the marks.
std::vector<std::string> parts_left_out(const ServedModel& model, const ChatRequest& request);

}  // namespace tenon_http
