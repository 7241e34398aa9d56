// Messages of OpenAI's chat interface to those of a conversation (tenon.h, 14): checked, and only what
// a template may see.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

/// Texts of the parts of one message or result, joined by line breaks. The library joins parts
/// likewise (text/chat/conversation.cpp).
class JoinedTexts {
 public:
  void add(std::string_view text);
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::string take() { return std::move(text_); }
  /// Moves the texts into the "content" of a message. Several user texts also go into
  /// "content_parts", for templates that join parts themselves (with_parts()).
  void take_into(Json& message);

 private:
  std::string text_;
  std::vector<std::string> parts_;
};

/// Messages for the library: an unchanged "content" becomes its parts again.
Json with_parts(Json messages);

/// Throws ApiError naming the place ("messages[2].content[0]") for what is malformed, and for what a
/// model of text cannot read: images, audio, files.
///   notes  receives what the model wrote and the template may be unable to show
Json read_messages(const Fields& fields, std::vector<std::string>& notes);

/// The text of a content: a string, or a list of parts. path: of `content`. Null becomes "".
std::string text_of_content(const Json& content, const std::string& path);
JoinedTexts texts_of_content(const Json& content, const std::string& path);

/// Arguments of a call in the history, as text. Anything but a JSON object is kept and noted, as
/// cut calls look so. Throws ApiError for a value that is neither a string nor an object.
std::string arguments_text(const Json& arguments, const std::string& path,
                           std::vector<std::string>& notes);

/// System messages that a template takes only at the beginning, brought there as one.
Json with_one_system_message(const Json& messages);

}  // namespace tenon_http
