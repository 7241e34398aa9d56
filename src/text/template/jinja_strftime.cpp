#include "text/template/jinja_strftime.h"

#include <algorithm>
#include <array>

namespace tenon::jinja {
namespace {

constexpr std::array<const char*, 7> kDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
constexpr std::array<const char*, 12> kMonths{"January",   "February", "March",    "April",
                                              "May",       "June",     "July",     "August",
                                              "September", "October",  "November", "December"};
constexpr size_t kMaxBytes = 1 << 16;
constexpr size_t kMaxWidth = 1024;

bool is_leap(int32_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int32_t days_in(int32_t month, int32_t year) {
  constexpr std::array<int32_t, 12> kLengths{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kLengths[static_cast<size_t>(month - 1)];
}

struct Calendar {
  int32_t year_day;  // 0 is January 1st
  int32_t week_day;  // 0 is Sunday
  int32_t iso_year, iso_week;
  int64_t epoch_seconds;
};

int32_t iso_weeks(int32_t year) {
  const auto p = [](int32_t y) { return (y + y / 4 - y / 100 + y / 400) % 7; };
  return p(year) == 4 || p(year - 1) == 3 ? 53 : 52;
}

Calendar calendar_of(const CalendarTime& t) {
  Calendar out{};
  out.year_day = t.day - 1;
  for (int32_t month = 1; month < t.month; ++month) out.year_day += days_in(month, t.year);
  const int64_t before = t.year - 1;
  const int64_t days = before * 365 + before / 4 - before / 100 + before / 400 + out.year_day;
  out.week_day = static_cast<int32_t>((days + 1) % 7);
  out.epoch_seconds = (days - 719162) * 86400 + t.hour * 3600 + t.minute * 60 + t.second;
  const int32_t iso_day = (out.week_day + 6) % 7;  // 0 is Monday
  out.iso_year = t.year;
  out.iso_week = (out.year_day - iso_day + 10) / 7;
  if (out.iso_week < 1) {
    out.iso_week = iso_weeks(--out.iso_year);
  } else if (out.iso_week > iso_weeks(t.year)) {
    out.iso_week = 1;
    ++out.iso_year;
  }
  return out;
}

struct Conversion {
  char letter;
  char flag;              // '-', '_', '0', '^', '#' or 0
  std::string_view text;  // the whole conversion
};

std::string number(int64_t value, int width, char pad, char flag) {
  if (flag == '-') return std::to_string(value);
  if (flag == '_') pad = ' ';
  if (flag == '0') pad = '0';
  std::string digits = std::to_string(value);
  while (digits.size() < static_cast<size_t>(width)) digits.insert(digits.begin(), pad);
  return digits;
}

std::string name(std::string text, char flag) {
  if (flag == '^' || flag == '#') {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return text;
}

std::string convert(Conversion c, const CalendarTime& t, const Calendar& day) {
  const int32_t hour12 = t.hour % 12 == 0 ? 12 : t.hour % 12;
  const std::string week_day = kDays[static_cast<size_t>(day.week_day)];
  const std::string month = kMonths[static_cast<size_t>(t.month - 1)];
  switch (c.letter) {
    case 'a':
      return name(week_day.substr(0, 3), c.flag);
    case 'A':
      return name(week_day, c.flag);
    case 'b':
    case 'h':
      return name(month.substr(0, 3), c.flag);
    case 'B':
      return name(month, c.flag);
    case 'd':
      return number(t.day, 2, '0', c.flag);
    case 'e':
      return number(t.day, 2, ' ', c.flag);
    case 'H':
      return number(t.hour, 2, '0', c.flag);
    case 'k':
      return number(t.hour, 2, ' ', c.flag);
    case 'I':
      return number(hour12, 2, '0', c.flag);
    case 'l':
      return number(hour12, 2, ' ', c.flag);
    case 'j':
      return number(day.year_day + 1, 3, '0', c.flag);
    case 'm':
      return number(t.month, 2, '0', c.flag);
    case 'M':
      return number(t.minute, 2, '0', c.flag);
    case 'S':
      return number(t.second, 2, '0', c.flag);
    case 'f':
      return number(t.microsecond, 6, '0', 0);
    case 'y':
      return number(t.year % 100, 2, '0', c.flag);
    case 'Y':
      return number(t.year, 1, '0', c.flag);
    case 'C':
      return number(t.year / 100, 2, '0', c.flag);
    case 'G':
      return number(day.iso_year, 1, '0', c.flag);
    case 'g':
      return number(day.iso_year % 100, 2, '0', c.flag);
    case 'V':
      return number(day.iso_week, 2, '0', c.flag);
    case 'U':
      return number((day.year_day + 7 - day.week_day) / 7, 2, '0', c.flag);
    case 'W':
      return number((day.year_day + 7 - (day.week_day + 6) % 7) / 7, 2, '0', c.flag);
    case 'u':
      return number(day.week_day == 0 ? 7 : day.week_day, 1, '0', c.flag);
    case 'w':
      return number(day.week_day, 1, '0', c.flag);
    case 's':
      return number(day.epoch_seconds, 1, '0', c.flag);
    case 'p':
      return c.flag == '#' ? (t.hour < 12 ? "am" : "pm") : (t.hour < 12 ? "AM" : "PM");
    case 'P':
      return t.hour < 12 ? "am" : "pm";
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    case 'D':
    case 'x':
      return strftime_text("%m/%d/%y", t);
    case 'F':
      return strftime_text("%Y-%m-%d", t);
    case 'T':
    case 'X':
      return strftime_text("%H:%M:%S", t);
    case 'R':
      return strftime_text("%H:%M", t);
    case 'r':
      return strftime_text("%I:%M:%S %p", t);
    case 'c':
      return strftime_text("%a %b %e %H:%M:%S %Y", t);
    case 'z':
    case 'Z':
      return "";
    default:
      return std::string(c.text);
  }
}

/// Pads on the left, like glibc.
std::string filled(std::string text, size_t width, Conversion c) {
  constexpr std::string_view kNumbers = "dHIjmMSyYCGgVUWuws";
  const bool zeros = c.flag == '0' || (c.flag != '_' && kNumbers.find(c.letter) != kNumbers.npos);
  if (text.size() < width) text.insert(0, width - text.size(), zeros ? '0' : ' ');
  return text;
}

}  // namespace

std::string strftime_text(std::string_view format, const CalendarTime& time) {
  if (format.size() > kMaxBytes) {
    raise("the format of a date has {} bytes, the limit is {}", format.size(), kMaxBytes);
  }
  const Calendar day = calendar_of(time);
  std::string out;
  for (size_t at = 0; at < format.size(); ++at) {
    if (out.size() > kMaxBytes) raise("a date of more than {} bytes", kMaxBytes);
    if (format[at] != '%' || at + 1 >= format.size()) {
      out += format[at];
      continue;
    }
    const size_t begin = at;
    Conversion conversion{format[++at], 0, {}};
    constexpr std::string_view kFlags = "-_0^#";
    if (kFlags.find(conversion.letter) != kFlags.npos && at + 1 < format.size()) {
      conversion.flag = conversion.letter;
      conversion.letter = format[++at];
    }
    size_t width = 0;
    while (conversion.letter >= '0' && conversion.letter <= '9' && at + 1 < format.size()) {
      width = std::min(width * 10 + static_cast<size_t>(conversion.letter - '0'), kMaxWidth);
      conversion.letter = format[++at];
    }
    conversion.text = format.substr(begin, at + 1 - begin);
    out += filled(convert(conversion, time, day), width, conversion);
  }
  return out;
}

std::optional<CalendarTime> parse_time(std::string_view text) {
  CalendarTime out;
  size_t at = 0;
  const auto read = [&](size_t digits, int32_t low, int32_t high, int32_t& value) {
    if (text.size() < at + digits) return false;
    value = 0;
    for (size_t i = 0; i < digits; ++i, ++at) {
      if (text[at] < '0' || text[at] > '9') return false;
      value = value * 10 + (text[at] - '0');
    }
    return value >= low && value <= high;
  };
  const auto skip = [&](char c) { return at < text.size() && text[at] == c && ++at != 0; };
  const bool is_date = read(4, 1, 9999, out.year) && skip('-') && read(2, 1, 12, out.month) &&
                       skip('-') && read(2, 1, days_in(out.month, out.year), out.day);
  if (!is_date) return std::nullopt;
  if (at == text.size()) return out;
  if (!skip('T') && !skip(' ')) return std::nullopt;
  if (!read(2, 0, 23, out.hour) || !skip(':') || !read(2, 0, 59, out.minute)) return std::nullopt;
  if (skip(':') && !read(2, 0, 60, out.second)) return std::nullopt;
  if (skip('.')) {
    int32_t scale = 100'000;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) {
      out.microsecond += (text[at] - '0') * scale;
    }
  }
  const std::string_view zone = text.substr(at);
  const bool is_zone = zone.empty() || zone == "Z" || zone[0] == '+' || zone[0] == '-';
  return is_zone ? std::optional(out) : std::nullopt;
}

}  // namespace tenon::jinja
