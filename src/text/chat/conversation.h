// What a host says in JSON, read into the variables of a template.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_formats/reply_builder.h"
#include "text/template/chat_template.h"

namespace tenon {

struct ConversationForm {
  bool join_parts = false;       ///< lists of text parts become one text
  bool fill_content = false;     ///< calls without content have an empty one
  bool parse_arguments = false;  ///< arguments of calls that are JSON in a string become objects
  size_t dropped_turns = 0;  ///< so many of the oldest turns are left out; the last one never is
};

/// A function that the model may call.
struct OfferedTool {
  std::string name;
  jinja::Value parameters;  ///< a JSON Schema; undefined for none
};

/// What the host asks of the answer.
struct AnswerRules {
  enum class Calls : uint8_t { None, Allowed, Required };
  Calls calls = Calls::None;
  bool parallel_calls = true;
  std::vector<OfferedTool> tools;
  /// The answer is JSON by this schema.
  std::optional<jinja::Value> schema;
};

struct Conversation {
  ChatTemplate::Variables variables;
  std::optional<jinja::CalendarTime> now;
  bool has_tools = false;
  size_t num_calls = 0;  ///< in the messages
  size_t num_turns = 0;  ///< each from a message of the user to the next; before any are left out
  ToolTypes types;
  AnswerRules rules;
};

/// Throws Error(Argument) naming the key for what is malformed, Error(Limit) for more than 1000
/// variables.
Conversation read_conversation(std::string_view json, const ConversationForm& form);

}  // namespace tenon
