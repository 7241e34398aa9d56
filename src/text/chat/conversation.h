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
  size_t dropped_turns = 0;      ///< number of the oldest turns to leave out, never the last
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
  bool forbids_calls = false;  ///< tools exist, but "tool_choice" is "none"
  std::vector<OfferedTool> tools;
  /// The answer is JSON by this schema.
  std::optional<jinja::Value> schema;
};

/// Final assistant message that the answer continues.
struct ContinuedTurn {
  std::string_view key;  ///< member of the message with the text
  jinja::Text text;      ///< text so far, not empty
  bool reasons = false;  ///< the text is reasoning
};

struct Conversation {
  ChatTemplate::Variables variables;
  std::optional<jinja::CalendarTime> now;
  bool has_tools = false;
  size_t num_calls = 0;  ///< in the messages
  size_t num_turns = 0;  ///< turns before any are left out, each from a user message to the next
  ToolTypes types;
  AnswerRules rules;
  std::optional<ContinuedTurn> continued;  ///< set if the last of "messages" is continued
};

/// Throws Error(Argument) unless the text is a JSON object.
jinja::Value parse_conversation(std::string_view json);

/// Whether the model is to see tools, calls or results.
bool uses_tools(const jinja::Value& given);

/// Texts of a list of parts, joined by line breaks; nothing if a part is no text.
std::optional<jinja::Value> joined_parts(const jinja::Value& content);

/// Messages without the last; messages with a mark after the last text.
jinja::Value without_last(const jinja::Value& messages);
jinja::Value with_last_text(const jinja::Value& messages, const ContinuedTurn& turn,
                            std::string_view mark);

/// Throws Error(Argument) naming the key for what is malformed, Error(Limit) for more than 1000
/// variables.
Conversation read_conversation(const jinja::Value& given, const ConversationForm& form);

}  // namespace tenon
