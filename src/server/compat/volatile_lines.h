// Lines of prompts that change while a conversation stays the same: billing headers and dates.
#pragma once

#include <string>
#include <string_view>

#include "server/json/json.h"

namespace tenon_http {

/// Drops lines at the beginning of a system prompt that differ per conversation and mean nothing to
/// a model (x-anthropic-billing-header). Conversations can then share their prefix.
std::string without_volatile_lines(const std::string& system);

/// Text, and its lines that state the date.
struct DatedText {
  std::string text;   ///< text with empty dates in those lines
  std::string dates;  ///< lines such as "Today's date is 2026-01-31.\n"; "" if none
};

/// Finds dates in the places where agents write them: messages of the system, and messages of the
/// user that begin with a tag ("<system-reminder>", "<environment_context>").
DatedText without_dates(std::string_view role, std::string_view text);

/// Inserts dates before the user's first words after message `turn`; false if no such words follow.
bool tell_dates(Json& messages, size_t turn, const std::string& dates);

}  // namespace tenon_http
