// A time as text, as strftime of the C locale writes it; reading the clock is the host's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/jinja_interpreter.h"

namespace tenon::jinja {

/// `format` with its conversions replaced; the time has no zone. Throws Failure for results beyond
/// 64 KiB.
std::string strftime_text(std::string_view format, const CalendarTime& time);

/// Reads "2026-01-02T03:04:05", with or without the time, fractions of seconds and a zone, which is
/// ignored. Nothing for what is no time.
std::optional<CalendarTime> parse_time(std::string_view text);

}  // namespace tenon::jinja
