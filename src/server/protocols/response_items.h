// Requests of OpenAI's responses interface to those of a conversation: items, tools of all kinds.
#pragma once

#include <string>
#include <vector>

#include "server/answers/chat_plan.h"

namespace tenon_http {

/// A tool under the name that the model sees, and as the client knows it.
struct ResponseTool {
  std::string name;
  std::string shown_name;
  std::string name_space{};  ///< "" for none
  bool is_custom = false;    ///< takes a text, which the model writes as {"input": ...}
};

struct ResponseRequest {
  ChatRequest chat = ChatRequest();  // not {}: see ChatRequest
  std::vector<ResponseTool> tools{};
  Json items = Json::array();  ///< of the conversation so far, but for the instructions
  bool summarizes = false;     ///< "reasoning.summary" is asked for
};

/// Reads "input" and "instructions" alone: items to messages. Throws ApiError naming the field.
///   request.items  of the responses that this one goes on from
void read_response_input(const Fields& fields, ResponseRequest& request);

/// Reads "input", "instructions", "tools", "tool_choice", "text" and "reasoning". Throws ApiError naming
/// the field, also for fields that are not served.
///   earlier  items of the response named by "previous_response_id"
ResponseRequest read_response_request(const Fields& fields, Json earlier = Json::array());

}  // namespace tenon_http
