// Converts requests of OpenAI's responses interface to conversations: items, and tools of all
// kinds.
#pragma once

#include <string>
#include <vector>

#include "server/answers/chat_plan.h"

namespace tenon_http {

/// Tool under the model's name for it, and under the client's.
struct ResponseTool {
  std::string name;
  std::string shown_name;
  std::string name_space{};  ///< "" for none
  bool is_custom = false;    ///< takes a text, which the model writes as {"input": ...}
};

struct ResponseRequest {
  ChatRequest chat = ChatRequest();  // not {}: see ChatRequest
  std::vector<ResponseTool> tools{};
  Json items = Json::array();  ///< items of the conversation, without the instructions
  bool summarizes = false;     ///< "reasoning.summary" is requested
};

/// Converts "input" and "instructions" to messages. Throws ApiError naming the field.
///   request.items  items of the earlier responses that the request continues
void read_response_input(const Fields& fields, ResponseRequest& request);

/// Reads "input", "instructions", "tools", "tool_choice", "text" and "reasoning". Throws ApiError
/// naming the field, also for unsupported fields.
///   earlier  items of the response named by "previous_response_id"
ResponseRequest read_response_request(const Fields& fields, Json earlier = Json::array());

}  // namespace tenon_http
