// Messages of OpenAI's chat interface to those of a conversation (tenon.h, 14): checked, and only what
// a template may see.
#pragma once

#include <string>

#include "fields.h"

namespace tenon_http {

/// Throws ApiError naming the place ("messages[2].content[0]") for what is malformed, and for what a
/// model of text cannot read: images, audio, files.
Json read_messages(const Fields& fields);

/// The text of a content: a string, or a list of parts. path: of `content`. Null becomes "".
std::string text_of_content(const Json& content, const std::string& path);

/// Arguments of a call in the history as text. Throws ApiError when they are no JSON.
std::string arguments_text(const Json& arguments, const std::string& path);

/// System messages that a template takes only at the beginning, brought there as one.
Json with_one_system_message(const Json& messages);

}  // namespace tenon_http
