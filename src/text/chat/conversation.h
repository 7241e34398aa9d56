// Reads a host's JSON into the variables of a template.
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
  bool join_parts = false;       ///< joins lists of text parts
  bool fill_content = false;     ///< adds empty content to calls without content
  bool parse_arguments = false;  ///< parses arguments that are JSON in a string
  bool wrap_arguments = false;   ///< wraps a text that is no JSON object as {"arguments": TEXT}
  bool tell_tools = false;       ///< rewrites tools, calls and results as texts (generic_tools.h)
  bool shows_system = true;      ///< the template shows system messages
  size_t dropped_turns = 0;      ///< number of oldest turns to drop, never the last
};

/// Function that the model may call.
struct OfferedTool {
  std::string name;
  jinja::Value parameters;  ///< JSON Schema; undefined for none
};

/// Constraints on the answer.
struct AnswerRules {
  enum class Calls : uint8_t { None, Allowed, Required };
  Calls calls = Calls::None;
  bool parallel_calls = true;
  bool forbids_calls = false;  ///< tools exist, but "tool_choice" is "none"
  std::vector<OfferedTool> tools;
  /// JSON Schema of the answer.
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
  size_t num_calls = 0;  ///< calls in the messages
  size_t num_turns = 0;  ///< turns before dropping, each from a user message to the next
  ToolTypes types;
  AnswerRules rules;
  std::optional<ContinuedTurn> continued;  ///< set if the last of "messages" is continued
};

/// Throws Error(Argument) unless the text is a JSON object.
jinja::Value parse_conversation(std::string_view json);

/// True if the model must see tools, calls or results.
bool uses_tools(const jinja::Value& given);

/// Texts of a list of parts, joined by line breaks; empty if a part is no text.
std::optional<jinja::Value> joined_parts(const jinja::Value& content);

/// Messages without the last; messages with a mark after the last text.
jinja::Value without_last(const jinja::Value& messages);
jinja::Value with_last_text(const jinja::Value& messages, const ContinuedTurn& turn,
                            std::string_view mark);

/// Throws Error(Argument) naming the key of a malformed member, and Error(Limit) for more than 1000
/// variables.
Conversation read_conversation(const jinja::Value& given, const ConversationForm& form);

}  // namespace tenon
