// Tools for models whose template has none. Describes tools, calls and results as text, in the
// format that Hermes and Qwen 2.5 were trained on.
#pragma once

#include "text/template/jinja_value.h"

namespace tenon {

/// Rewrites messages so that the template needs only texts. Tools go into the system message, or
/// the user's if shows_system is false; calls into <tool_call>; results into <tool_response> of the
/// user.
///   messages  a list of objects with a "role"
///   tools     a list; may be empty
jinja::Value with_told_tools(const jinja::Value& messages, const jinja::Value& tools,
                             bool shows_system);

}  // namespace tenon
