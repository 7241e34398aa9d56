#include "server/compat/volatile_lines.h"

#include <algorithm>
#include <array>

namespace tenon_http {
namespace {

/// Billing header of Claude Code.
constexpr auto kBillingLines = std::to_array<std::string_view>({"x-anthropic-billing-header:"});

/// Beginnings of the date line in Claude Code, OpenCode, Codex and others.
constexpr auto kDateLines =
    std::to_array<std::string_view>({"Today's date is ", "Today's date: ", "The current date is ",
                                     "Current date: ", "<current_date>"});

template <size_t N>
const std::string_view* beginning_of(const std::array<std::string_view, N>& lines,
                                     std::string_view text) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](std::string_view line) { return text.starts_with(line); });
  return found == lines.end() ? nullptr : &*found;
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
}

}  // namespace

std::string without_volatile_lines(const std::string& system) {
  std::string_view text = system;
  while (beginning_of(kBillingLines, text) != nullptr) {
    const size_t end = text.find('\n');
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    while (text.starts_with('\n')) text.remove_prefix(1);
  }
  return std::string(text);
}

DatedText without_dates(std::string_view role, std::string_view text) {
  DatedText dated;
  const bool may_tell = role == "system" || (role == "user" && text.starts_with('<'));
  if (!may_tell) return {std::string(text), ""};
  while (!text.empty()) {
    const size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, size);
    const std::string_view words = without_indent(line);
    if (const std::string_view* const beginning = beginning_of(kDateLines, words)) {
      dated.text.append(*beginning).append("\n");
      dated.dates.append(words.substr(0, words.find('\n'))).append("\n");
    } else {
      dated.text.append(line);
    }
    text.remove_prefix(size);
  }
  return dated;
}

bool tell_dates(Json& messages, size_t turn, const std::string& dates) {
  for (size_t i = turn + 1; i < messages.size(); ++i) {
    if (messages[i]["role"] != "user") continue;
    Json& content = messages[i]["content"];
    content = dates + "\n" + content.get<std::string>();
    return true;
  }
  return false;
}

}  // namespace tenon_http
