#include "text/grammar/formats.h"

#include <fmt/format.h>

#include <array>

namespace tenon::grammar {
namespace {

std::string date() {
  // Days by month; 29 February in years divisible by 4, but by 100 only if by 400.
  const std::string leap =
      "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|"
      "(?:[02468][048]|[13579][26])00)";
  return "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"
         "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" +
         leap + "-02-29)";
}

/// Leap seconds are allowed only in UTC. With offsets, the local times of 23:59:60 UTC would take a
/// thousand alternatives.
std::string time() {
  const std::string hour = "(?:[01][0-9]|2[0-3])";
  return "(?:" + hour + ":[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?(?:[Zz]|[+-]" + hour +
         ":[0-5][0-9])|23:59:60(?:\\.[0-9]+)?(?:[Zz]|[+-]00:00))";
}

std::string duration() {
  const std::string in_time = "T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
  return "P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:" +
         in_time + ")?|" + in_time + ")";
}

/// Label of at most `longest` characters. "xn--" and other labels with two hyphens at the third
/// place are refused, since they need IDNA's tables.
std::string label(int longest) {
  return fmt::format(
      "(?:[A-Za-z0-9](?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9]|"
      "[A-Za-z0-9-][A-Za-z0-9](?:[A-Za-z0-9-]{{0,{0}}}[A-Za-z0-9])?|"
      "[A-Za-z0-9]-(?:[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{1}}}[A-Za-z0-9])?)|"
      "-[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{0}}}[A-Za-z0-9])?)?)",
      longest - 4, longest - 5);
}

/// A name has at most 253 characters, a label 63. Counting both exactly takes a state per pair; the
/// pattern allows a few long labels, or more short ones, and never exceeds either limit.
std::string hostname() {
  return fmt::format("(?:{0}(?:\\.{0}){{0,2}}|{1}(?:\\.{1}){{0,6}}|{2}(?:\\.{2}){{0,14}})",
                     label(63), label(31), label(15));
}

std::string ipv4() {
  const std::string byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return fmt::format("{0}(?:\\.{0}){{3}}", byte);
}

std::string ipv6() {
  const std::string h = "[0-9A-Fa-f]{1,4}";
  const std::string last = fmt::format("(?:{0}:{0}|{1})", h, ipv4());
  std::string all = fmt::format("(?:{0}:){{6}}{1}", h, last);
  for (int before = 0; before <= 7; ++before) {
    // `before` groups, "::", and at most as many groups as leave out at least one.
    const std::string head = before == 0 ? "" : fmt::format("{0}(?::{0}){{{1}}}", h, before - 1);
    const int room = 7 - before;
    std::string tail = "(?:)";
    if (room >= 1) tail += fmt::format("|{0}(?::{0}){{0,{1}}}", h, room - 1);
    if (room >= 2) tail += fmt::format("|(?:{0}:){{0,{1}}}{2}", h, room - 2, ipv4());
    all += fmt::format("|{}::(?:{})", head, tail);
  }
  return "(?:" + all + ")";
}

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  return fmt::format(
      "(?:{0}(?:\\.{0})*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")@(?:{1}|\\[(?:{2}|IPv6:{3})\\])", atom,
      hostname(), ipv4(), ipv6());
}

std::string uri(bool relative_too) {
  const std::string coded = "%[0-9A-Fa-f]{2}";
  const std::string pchar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|" + coded + ")";
  const std::string no_colon = "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|" + coded + ")";
  const std::string user = "(?:[A-Za-z0-9._~!$&'()*+,;=:-]|" + coded + ")*@";
  const std::string name = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|" + coded + ")*";
  const std::string host = fmt::format(
      "(?:\\[(?:{}|[Vv][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]|{})", ipv6(), name);
  const std::string authority = fmt::format("//(?:{})?{}(?::[0-9]*)?(?:/{}*)*", user, host, pchar);
  const std::string rooted = fmt::format("/(?:{0}+(?:/{0}*)*)?", pchar);
  const std::string rootless = fmt::format("{0}+(?:/{0}*)*", pchar);
  const std::string tail = fmt::format("(?:\\?(?:{0}|[/?])*)?(?:#(?:{0}|[/?])*)?", pchar);
  std::string all =
      fmt::format("[A-Za-z][A-Za-z0-9+.-]*:(?:{}|{}|{}|){}", authority, rooted, rootless, tail);
  if (relative_too) {
    all += fmt::format("|(?:{}|{}|{}+(?:/{}*)*|){}", authority, rooted, no_colon, pchar, tail);
  }
  return "(?:" + all + ")";
}

struct Format {
  std::string_view name;
  std::string (*pattern)();
};

constexpr std::array kFormats = {
    Format{"date", date},
    Format{"time", time},
    Format{"date-time", [] { return date() + "[Tt]" + time(); }},
    Format{"duration", duration},
    Format{"email", email},
    Format{"hostname", hostname},
    Format{"ipv4", ipv4},
    Format{"ipv6", ipv6},
    Format{"uri", [] { return uri(false); }},
    Format{"uri-reference", [] { return uri(true); }},
    Format{"uuid",
           [] {
             return std::string(
                 "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-"
                 "[0-9A-Fa-f]{12}");
           }},
    Format{"json-pointer", [] { return std::string("(?:/(?:[^~/]|~[01])*)*"); }},
    Format{"relative-json-pointer",
           [] { return std::string("(?:0|[1-9][0-9]*)(?:#|(?:/(?:[^~/]|~[01])*)*)"); }},
};

constexpr std::array kUnsupported = {std::string_view("idn-email"),
                                     std::string_view("idn-hostname"),
                                     std::string_view("iri"),
                                     std::string_view("iri-reference"),
                                     std::string_view("uri-template"),
                                     std::string_view("regex"),
                                     std::string_view("ecmascript-regex")};

}  // namespace

FormatKind find_format(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return FormatKind::Supported;
  }
  for (const std::string_view other : kUnsupported) {
    if (other == name) return FormatKind::Unsupported;
  }
  return FormatKind::Unknown;
}

std::string format_pattern(std::string_view name) {
  for (const Format& format : kFormats) {
    // "." and [^...] match line ends, unlike in other patterns.
    if (format.name == name) return "(?s:" + format.pattern() + ")";
  }
  return "";
}

}  // namespace tenon::grammar
