// What a host says in JSON, read into the variables of a template.
#pragma once

#include <optional>
#include <string_view>

#include "text/chat_formats/reply_builder.h"
#include "text/template/chat_template.h"

namespace tenon {

struct ConversationForm {
  bool join_parts = false;       ///< lists of text parts become one text
  bool parse_arguments = false;  ///< arguments of calls that are JSON in a string become objects
};

struct Conversation {
  ChatTemplate::Variables variables;
  std::optional<jinja::CalendarTime> now;
  bool has_tools = false;
  ToolTypes types;
};

/// Throws Error(Argument) naming the key for what is malformed.
Conversation read_conversation(std::string_view json, const ConversationForm& form);

}  // namespace tenon
