// Formats a time like strftime in the C locale; the host reads the clock.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/jinja_interpreter.h"

namespace tenon::jinja {

/// Replaces the conversions of `format`; the time has no zone. Throws Failure for results beyond 64
/// KiB.
std::string strftime_text(std::string_view format, const CalendarTime& time);

/// Parses "2026-01-02T03:04:05", optionally without the time, with fractions of seconds or a zone,
/// which is ignored. Returns nothing for other texts.
std::optional<CalendarTime> parse_time(std::string_view text);

}  // namespace tenon::jinja
