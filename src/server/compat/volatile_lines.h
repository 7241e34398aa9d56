// Lines of prompts that change while a conversation stays the same: whom to bill, what day it is.
#pragma once

#include <string>
#include <string_view>

#include "server/json/json.h"

namespace tenon_http {

/// Lines at the beginning of a system prompt that differ with each conversation and say nothing to a
/// model (x-anthropic-billing-header) are left out, so that conversations share their beginning.
std::string without_volatile_lines(const std::string& system);

/// A text and the lines of it that tell the date, one a line.
struct DatedText {
  std::string text;   ///< with an empty date in each of them
  std::string dates;  ///< "Today's date is 2026-01-31.\n"; "" when there are none
};

/// Dates are looked for where agents write them: in messages of the system, and of the user where they
/// begin with a tag ("<system-reminder>", "<environment_context>").
DatedText without_dates(std::string_view role, std::string_view text);

/// Puts dates before the first words of the user after message `turn`; whether there are such.
bool tell_dates(Json& messages, size_t turn, const std::string& dates);

}  // namespace tenon_http
