// Output format of a model family, as data: its marks and the grammar of its calls. Each family is
// one file and one line in the table of chat_format.cpp.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "text/chat_formats/call_shape.h"
#include "text/chat_formats/reply_builder.h"
#include "text/chat_formats/reply_stream.h"

namespace tenon {

struct ThinkMarks {
  std::string_view open, close;
};

struct ChatFormat {
  std::string_view name;
  /// A template belongs to the family if it contains all texts of a row (up to the first empty
  /// text).
  std::array<std::array<std::string_view, 3>, 3> detected_by{};
  ThinkMarks think{"<think>", "</think>"};
  /// Marks before calls.
  std::array<std::string_view, 3> call_openers{};
  /// Calls without an opener may be the whole answer if it begins with one of these.
  std::string_view bare_begins{};
  /// Calls within open reasoning end it.
  bool calls_end_reasoning = false;
  /// Meaningless marks, dropped from the answer.
  std::array<std::string_view, 5> dropped{};
  std::unique_ptr<CallGrammar> (*make_calls)() = nullptr;
  /// Generated ids have nine letters and digits, as the templates require.
  bool ids_of_nine = false;
  /// Shapes of calls for grammars; the first that fits the template applies. If none does, the
  /// family's calls are not constrained.
  std::array<CallShape, 3> shapes{};
  /// Mark before an answer that is no call.
  std::string_view content_open{};
  /// Template for families whose models ship none; otherwise empty.
  std::string_view own_template{};
  /// Layout for families with an entirely different structure; may be null. The marks above are
  /// unused with a layout.
  std::unique_ptr<ReplyLayout> (*make_layout)() = nullptr;
};

/// Table of formats. The first is "plain", which has neither calls nor marks.
std::span<const ChatFormat* const> chat_formats();
/// Returns null for an unknown name.
const ChatFormat* find_chat_format(std::string_view name);
/// Family of a template; "plain" if unrecognised.
const ChatFormat& detect_chat_format(std::string_view template_source);

}  // namespace tenon
