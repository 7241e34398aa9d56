#include "server/compat/echo_memory.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "server/api_error.h"
#include "server/compat/volatile_lines.h"

namespace tenon_http {
namespace {

std::string text_in(const Json& message, const char* member) {
  const auto found = message.find(member);
  return found == message.end() || !found->is_string() ? "" : found->get<std::string>();
}

std::string trimmed(const std::string& text) {
  static constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// Normalizes numbers for clients that parse each into a double (RFC 8259, section 6): 20.000
/// returns as 20.
void make_plain_numbers(SortedJsonTree& value) {
  if (value.is_structured()) {
    for (SortedJsonTree& part : value) make_plain_numbers(part);
  } else if (value.is_number()) {
    const double number = value.get<double>();
    constexpr double kExact = 9007199254740992;  // 2^53; a double represents every integer up to it
    if (std::abs(number) <= kExact && number == std::floor(number)) {
      value = static_cast<int64_t>(number);
    } else {
      value = number;
    }
  }
}

/// Canonical JSON: members sorted by name, no white space.
std::string arguments_meaning(const Json& arguments) {
  try {
    SortedJsonTree read =
        arguments.is_string() ? parse_json(arguments.get<std::string>()) : arguments;
    make_plain_numbers(read);
    return read.dump(-1, ' ', false, SortedJsonTree::error_handler_t::replace);
  } catch (const ApiError&) {
    return arguments.get<std::string>();
  }
}

}  // namespace

ConversationMeaning::ConversationMeaning(const Json& frame, const Json& messages)
    : text_(to_text(frame)) {
  for (const Json& message : messages) add(message);
}

void ConversationMeaning::add(const Json& message) {
  const std::string role = message.value("role", "");
  const DatedText content = without_dates(role, text_in(message, "content"));
  Json meaning{{"role", role}, {"content", trimmed(content.text)}};
  const auto calls = message.find("tool_calls");
  if (calls != message.end() && calls->is_array()) {
    for (const Json& call : *calls) {
      call_numbers_[call.value("id", "")] = call_numbers_.size();
      const Json& function = call["function"];
      meaning["calls"].push_back(
          {function.value("name", ""), arguments_meaning(function.value("arguments", Json("{}")))});
    }
  }
  const auto id = message.find("tool_call_id");
  if (id != message.end() && id->is_string()) {
    const auto number = call_numbers_.find(id->get<std::string>());
    meaning["call"] = number == call_numbers_.end() ? *id : Json(number->second);
  }
  if (message.contains("name")) meaning["name"] = message["name"];
  text_ += "\n" + to_text(meaning);
  ends_.push_back(text_.size());
  thoughts_.push_back(trimmed(text_in(message, "reasoning_content")));
  dates_ += content.dates;
  date_ends_.push_back(dates_.size());
}

void EchoMemory::remember(const ConversationMeaning& meaning, Tokens tokens) {
  std::string name(meaning.up_to(meaning.num_messages() - 1));
  uint64_t bytes = sizeof(Entry) + sizeof name + name.size() + tokens.size() * sizeof(tenon::Token);
  for (const std::string& thoughts : meaning.thoughts()) bytes += sizeof thoughts + thoughts.size();
  Known known{std::move(tokens), meaning.dates_up_to(meaning.num_messages() - 1)};
  bytes += known.dates.size();
  Entry entry{meaning.thoughts(), std::make_shared<const Known>(std::move(known))};
  const std::lock_guard lock(mutex_);
  entries_.add(std::move(name), std::move(entry), bytes);
}

std::shared_ptr<const EchoMemory::Known> EchoMemory::find(const ConversationMeaning& meaning,
                                                          size_t last) {
  const std::lock_guard lock(mutex_);
  const Entry* const found = entries_.find(meaning.up_to(last), [&](const Entry& entry) {
    for (size_t i = 0; i <= last; ++i) {
      const std::string& told = meaning.thoughts()[i];
      if (!told.empty() && told != entry.thoughts[i]) return false;
    }
    return true;
  });
  return found == nullptr ? nullptr : found->known;
}

void EchoTurn::remember(const EchoMemory::Tokens& prompt, const EchoMemory::Tokens& drawn,
                        const std::string& message) const {
  ConversationMeaning whole = meaning;
  whole.add(parse_json(message));
  EchoMemory::Tokens tokens;
  tokens.reserve(prompt.size() + drawn.size());
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  tokens.insert(tokens.end(), drawn.begin(), drawn.end());
  memory->remember(whole, std::move(tokens));
}

}  // namespace tenon_http
