// Tools for a model whose template knows none: they, their calls and their results are told as texts of
// messages, in the form that Hermes and Qwen 2.5 were trained on.
#pragma once

#include "text/template/jinja_value.h"

namespace tenon {

/// Messages in which a template finds nothing but texts: the tools in the message of the system (of the
/// user, where shows_system is false), calls within <tool_call>, results within <tool_response> as the
/// user's.
///   messages  a list of objects with a "role"
///   tools     a list; an empty one is not told of
jinja::Value with_told_tools(const jinja::Value& messages, const jinja::Value& tools,
                             bool shows_system);

}  // namespace tenon
