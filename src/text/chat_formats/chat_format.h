// One family's way of writing answers, as data: its marks and the grammar of its calls. Each family
// is one file and one line in the table of chat_format.cpp.
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
  /// A template that contains all texts of one of these (up to the first empty one) is of the
  /// family.
  std::array<std::array<std::string_view, 3>, 3> detected_by{};
  ThinkMarks think{"<think>", "</think>"};
  /// What stands before calls.
  std::array<std::string_view, 3> call_openers{};
  /// Calls may also be the whole answer, without an opener, when it begins with one of these.
  std::string_view bare_begins{};
  /// Calls that come before the reasoning was closed end it.
  bool calls_end_reasoning = false;
  /// Marks without a meaning for the reader, dropped from the answer.
  std::array<std::string_view, 5> dropped{};
  std::unique_ptr<CallGrammar> (*make_calls)() = nullptr;
  /// Ids that are made up have nine letters and digits, as the templates demand.
  bool ids_of_nine = false;
  /// How calls are written when a grammar is to keep the model to them; the first that fits the
  /// template counts. None: calls of the family are not constrained.
  std::array<CallShape, 3> shapes{};
  /// What stands before an answer that is no call.
  std::string_view content_open{};
  /// Of a family whose models ship no template; empty: they ship one.
  std::string_view own_template{};
  /// For families whose answers are laid out otherwise altogether; the marks above are unused then.
  std::unique_ptr<ReplyLayout> (*make_layout)() = nullptr;
};

/// The table. The first is "plain", which has neither calls nor marks.
std::span<const ChatFormat* const> chat_formats();
/// Null for an unknown name.
const ChatFormat* find_chat_format(std::string_view name);
/// The family of a template; "plain" when nothing is recognised.
const ChatFormat& detect_chat_format(std::string_view template_source);

}  // namespace tenon
