// Chat templates by name, and the test for a template's text. text/template runs templates.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// True if the text may be a template: without {{, {% and {# its output is constant.
bool is_template_text(std::string_view text);

/// Text of the template with this name ("chatml"); empty if unknown.
std::string_view template_by_name(std::string_view name);

/// Returns "chatml, deepseek-v4.1".
std::string template_names();

}  // namespace tenon
