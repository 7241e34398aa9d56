// Converts messages of OpenAI's chat interface to those of a conversation (tenon.h, section 14).
// Checks them and keeps only what a template may see.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

/// Texts of the parts of a message or result, joined by line breaks. The library joins parts
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

/// Prepares messages for the library: an unchanged "content" becomes its parts again.
Json with_parts(Json messages);

/// Reads the messages. Throws ApiError naming the field ("messages[2].content[0]") for malformed
/// messages, and for images, audio and files, which a text model cannot read.
///   notes  receives parts that the model wrote and the template may be unable to show
Json read_messages(const Fields& fields, std::vector<std::string>& notes);

/// Text of a content: a string, or a list of parts. Null becomes "". path: field of the content.
std::string text_of_content(const Json& content, const std::string& path);
JoinedTexts texts_of_content(const Json& content, const std::string& path);

/// Text of a call's arguments in the history. Keeps and notes anything but a JSON object, since cut
/// calls look so. Throws ApiError for a value that is neither a string nor an object.
std::string arguments_text(const Json& arguments, const std::string& path,
                           std::vector<std::string>& notes);

/// Merges all system messages into one at the beginning, for templates that accept no others.
Json with_one_system_message(const Json& messages);

}  // namespace tenon_http
