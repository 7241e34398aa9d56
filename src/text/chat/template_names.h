// Chat templates by name, and what tells a template's text from a name. What templates do is in
// text/template.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// Whether a text can be a template: one without {{, {% and {# says the same of every conversation.
bool is_template_text(std::string_view text);

/// The text of a template that is known by this name ("chatml"); empty where none is.
std::string_view template_by_name(std::string_view name);

/// "chatml, deepseek-v4.1"
std::string template_names();

}  // namespace tenon
