#include "layering/host_calls.h"

#include <algorithm>
#include <regex>
#include <utility>

namespace tenon::layering {
namespace {

std::string joined(const SourceFile& file) {
  std::string code;
  for (const std::string& line : file.code) code += line + '\n';
  return code;
}

size_t line_at(const std::string& code, size_t at) {
  return 1 + static_cast<size_t>(
                 std::count(code.begin(), code.begin() + static_cast<ptrdiff_t>(at), '\n'));
}

/// The arguments [begin, end) of each call of call_host, call_host_quietly, ...
std::vector<std::pair<size_t, size_t>> fenced_ranges(const std::string& code) {
  static const std::regex kFence(R"(\bcall_host\w*\s*\()");
  std::vector<std::pair<size_t, size_t>> ranges;
  for (std::sregex_iterator at(code.begin(), code.end(), kFence), end; at != end; ++at) {
    const auto open = static_cast<size_t>(at->position() + at->length());
    size_t depth = 1;
    size_t close = open;
    for (; close < code.size() && depth > 0; ++close) {
      depth += code[close] == '(' ? 1 : 0;
      depth -= code[close] == ')' ? 1 : 0;
    }
    ranges.emplace_back(open, close);
  }
  return ranges;
}

}  // namespace

std::set<std::string, std::less<>> callbacks_of(const SourceFile& header) {
  static const std::regex kUse(R"(\b\w+_callback\s+(\w+)\s*[;,)])");
  const std::string code = joined(header);
  std::set<std::string, std::less<>> names;
  for (std::sregex_iterator at(code.begin(), code.end(), kUse), end; at != end; ++at) {
    names.insert((*at)[1]);
  }
  return names;
}

std::vector<Finding> check_callback_types(const SourceFile& header) {
  static const std::regex kPointer(R"((\btypedef\s+[\w\s*]*)?\(\*(\w+)\)\s*\()");
  const std::string code = joined(header);
  std::vector<Finding> findings;
  for (std::sregex_iterator at(code.begin(), code.end(), kPointer), end; at != end; ++at) {
    if ((*at)[1].matched) continue;
    findings.push_back({header.path, line_at(code, static_cast<size_t>(at->position())),
                        "the type of " + at->str(2) + " has no name: a binding needs a typedef"});
  }
  return findings;
}

std::vector<Finding> check_host_calls(const SourceFile& file,
                                      const std::set<std::string, std::less<>>& callbacks) {
  static const std::regex kCall(R"((\w+)\s*\(\s*(?:\w+\s*(?:\.|->|::)\s*)*user_?\s*[,)])");
  static const std::regex kMember(R"((?:\.|->)\s*(\w+)\b\s*(.))");
  const std::string code = joined(file);
  const auto fenced = fenced_ranges(code);
  std::vector<Finding> findings;
  for (std::sregex_iterator at(code.begin(), code.end(), kCall), end; at != end; ++at) {
    const auto place = static_cast<size_t>(at->position());
    const bool inside = std::any_of(fenced.begin(), fenced.end(), [place](const auto& range) {
      return range.first <= place && place < range.second;
    });
    // user(given.user) is the pointer's own initialiser.
    if (inside || at->str(1) == "user" || at->str(1) == "user_") continue;
    findings.push_back({file.path, line_at(code, place),
                        "calls " + at->str(1) + " of the host outside call_host"});
  }
  if (file.path.ends_with("_handle.h")) return findings;  // a handle may keep one
  for (std::sregex_iterator at(code.begin(), code.end(), kMember), end; at != end; ++at) {
    // A call is the other rule's business; to assign to it, or compare it, is no use of it.
    const char next = at->str(2)[0];
    if (!callbacks.contains(at->str(1)) || next == '(' || next == '=' || next == '!') continue;
    findings.push_back(
        {file.path, line_at(code, static_cast<size_t>(at->position())),
         "hands on " + at->str(1) + " of the host; it must be called here, in call_host"});
  }
  return findings;
}

}  // namespace tenon::layering
