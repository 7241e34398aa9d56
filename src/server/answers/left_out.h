// Notes on parts of a conversation that the model's template drops from the prompt.
#pragma once

#include <string>
#include <vector>

#include "server/answers/chat_plan.h"

namespace tenon_http {

/// Notes for the kinds of parts that the prompt lacks: tools, calls, results, reasoning, system
/// messages and others. Renders the conversation with a short mark in place of each part and
/// searches for the marks. Empty if the template refuses the marks.
std::vector<std::string> parts_left_out(const ServedModel& model, const ChatRequest& request);

}  // namespace tenon_http
