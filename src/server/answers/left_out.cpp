#include "server/answers/left_out.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tenon_http {
namespace {

struct PartKind {
  std::string_view field;  ///< the client's name for the part
  std::string_view parts;
};
constexpr auto kKinds = std::to_array<PartKind>({{"tools", "the tools"},
                                                 {"tool_calls", "calls of tools"},
                                                 {"tool_calls", "arguments of calls"},
                                                 {"tool results", "results of tools"},
                                                 {"reasoning_content", "reasoning"},
                                                 {"system", "messages of the system"},
                                                 {"messages", "texts of messages"}});
enum Part : size_t { kTools, kCalls, kArguments, kResults, kReasoning, kSystem, kText };

/// Conversation with marks in place of texts.
class MarkedConversation {
 public:
  explicit MarkedConversation(const ChatRequest& request) : variables_(request.variables) {
    for (const Json& message : request.messages) add(message);
    if (request.tools.tools.empty() || request.tools.choice == "none") return;
    tools_ = Json::array(
        {{{"type", "function"},
          {"function",
           {{"name", mark(kTools)},
            {"description", "d"},
            {"parameters",
             {{"type", "object"},
              {"properties", {{"p", {{"type", "string"}, {"description", "d"}}}}}}}}}}});
  }

  /// True if a template could silently drop a part.
  [[nodiscard]] bool is_worth_a_look() const { return has_more_than_turns_; }

  /// True if the conversation has tools, calls or results.
  [[nodiscard]] bool has_tools() const {
    return std::any_of(marks_.begin(), marks_.end(), [](Part part) {
      return part == kTools || part == kCalls || part == kResults;
    });
  }

  [[nodiscard]] std::string text() const {
    Json conversation{{"messages", messages_}, {"now", "2026-01-02T03:04:05"}};
    if (!tools_.empty()) conversation["tools"] = tools_;
    if (!variables_.empty()) conversation["variables"] = variables_;
    return to_text(conversation);
  }

  [[nodiscard]] std::vector<std::string> notes(std::string_view prompt) const {
    std::array<size_t, kKinds.size()> num_given{};
    std::array<size_t, kKinds.size()> num_missing{};
    for (size_t i = 0; i < marks_.size(); ++i) {
      ++num_given[marks_[i]];
      num_missing[marks_[i]] += prompt.find(mark_text(i)) == prompt.npos ? 1 : 0;
    }
    std::vector<std::string> notes;
    for (size_t kind = 0; kind < kKinds.size(); ++kind) {
      if (num_missing[kind] == 0) continue;
      std::string note(kKinds[kind].field);
      note.append(": the model's template leaves out ").append(kKinds[kind].parts);
      if (num_given[kind] > 1) {
        note += " (" + std::to_string(num_missing[kind]) + " of " +
                std::to_string(num_given[kind]) + ")";
      }
      notes.push_back(std::move(note));
    }
    return notes;
  }

 private:
  /// Marks of equal length, so that none contains another.
  static std::string mark_text(size_t index) { return "zq" + std::to_string(1'000'000 + index); }

  std::string mark(Part kind) {
    marks_.push_back(kind);
    has_more_than_turns_ = has_more_than_turns_ || kind != kText;
    return mark_text(marks_.size() - 1);
  }

  void add(const Json& given) {
    Json message = given;
    message.erase("content_parts");
    const std::string& role = given["role"].get_ref<const std::string&>();
    const Part kind = role == "tool" ? kResults : role == "system" ? kSystem : kText;
    const auto replace = [&](const char* member, Part of) {
      const auto text = message.find(member);
      if (text != message.end() && text->is_string() && *text != "") *text = mark(of);
    };
    replace("content", kind);
    replace("reasoning_content", kReasoning);
    const auto calls = message.find("tool_calls");
    if (calls != message.end()) {
      for (Json& call : *calls) {
        call["function"] = {{"name", mark(kCalls)},
                            {"arguments", to_text({{"p", mark(kArguments)}})}};
      }
    }
    messages_.push_back(std::move(message));
  }

  const Json& variables_;
  Json messages_ = Json::array();
  Json tools_ = Json::array();
  std::vector<Part> marks_;  ///< kind of part for each mark
  bool has_more_than_turns_ = false;
};

}  // namespace

std::vector<std::string> parts_left_out(const ServedModel& model, const ChatRequest& request) {
  const MarkedConversation marked(request);
  if (!marked.is_worth_a_look()) return {};
  std::vector<std::string> notes;
  if (model.tells_tools() && request.tells_tools && marked.has_tools()) {
    notes.emplace_back(
        "tools: the model's template knows none; they, their calls and their results are told as "
        "texts, in a generic form");
  }
  try {
    for (std::string& note : marked.notes(model.chat(request.tells_tools).render(marked.text()))) {
      notes.push_back(std::move(note));
    }
  } catch (const tenon::Error&) {
    // The template refused the marks, though it accepted the conversation.
  }
  return notes;
}

}  // namespace tenon_http
