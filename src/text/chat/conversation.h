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
  bool wrap_arguments = false;   ///< a text that is none becomes {"arguments": TEXT}
  bool tell_tools = false;       ///< tools, calls and results become texts (generic_tools.h)
  bool shows_system = true;      ///< the template shows messages of the system
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
  bool forbids_calls = false;  ///< there are tools, and "tool_choice" is "none"
  std::vector<OfferedTool> tools;
  /// The answer is JSON by this schema.
  std::optional<jinja::Value> schema;
};

/// A last message of the assistant that the answer goes on with.
struct ContinuedTurn {
  std::string_view key;  ///< of the message, where the text stands
  jinja::Text text;      ///< so far, not empty
  bool reasons = false;  ///< it is reasoning
};

struct Conversation {
  ChatTemplate::Variables variables;
  std::optional<jinja::CalendarTime> now;
  bool has_tools = false;
  size_t num_calls = 0;  ///< in the messages
  size_t num_turns = 0;  ///< each from a message of the user to the next; before any are left out
  ToolTypes types;
  AnswerRules rules;
  std::optional<ContinuedTurn> continued;  ///< the last of "messages"
};

/// Throws Error(Argument) for what is no JSON object.
jinja::Value parse_conversation(std::string_view json);

/// Whether there are tools that the model is to see, or calls and results of some.
bool uses_tools(const jinja::Value& given);

/// The texts of a list of parts, a line break between two, if there is nothing else in it.
std::optional<jinja::Value> joined_parts(const jinja::Value& content);

/// The messages without the last one; with the text of the last one and a mark after it.
jinja::Value without_last(const jinja::Value& messages);
jinja::Value with_last_text(const jinja::Value& messages, const ContinuedTurn& turn,
                            std::string_view mark);

/// Throws Error(Argument) naming the key for what is malformed, Error(Limit) for more than 1000
/// variables.
Conversation read_conversation(const jinja::Value& given, const ConversationForm& form);

}  // namespace tenon
