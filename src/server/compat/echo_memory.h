// Answers that the server gave, remembered as tokens, and conversations that come back with them.
// Clients send a conversation back in words of their own (thoughts dropped, arguments written anew): the
// tokens of such a prompt would differ from those that were computed. How a prompt is repaired is
// echo_repair.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/tokenizer.hpp>
#include <unordered_map>
#include <vector>

#include "server/json/json.h"
#include "server/work/recent_entries.h"

namespace tenon_http {

/// What a conversation means: equal texts for equal meanings, message by message. White space around
/// contents, the order and the spelling of arguments, the ids of calls, thoughts, and dates where agents
/// tell them (volatile_lines.h) do not count.
class ConversationMeaning {
 public:
  /// frame: what stands before the messages: the client, the model, tools, variables.
  ConversationMeaning(const Json& frame, const Json& messages);

  void add(const Json& message);
  [[nodiscard]] size_t num_messages() const { return ends_.size(); }
  /// Of the messages up to number `last`, which is one of them.
  [[nodiscard]] std::string_view up_to(size_t last) const {
    return std::string_view(text_).substr(0, ends_[last]);
  }
  /// [messages] thoughts of the assistant, as far as they are there.
  [[nodiscard]] const std::vector<std::string>& thoughts() const { return thoughts_; }
  /// What the messages up to number `last` tell of the date.
  [[nodiscard]] std::string dates_up_to(size_t last) const {
    return dates_.substr(0, date_ends_[last]);
  }

 private:
  std::string text_;
  std::vector<size_t> ends_;
  std::vector<std::string> thoughts_;
  std::string dates_;
  std::vector<size_t> date_ends_;
  std::unordered_map<std::string, size_t> call_numbers_;
};

/// Any thread.
class EchoMemory {
 public:
  using Tokens = std::vector<tenon::Token>;
  struct Known {
    Tokens tokens;
    std::string dates;  ///< that they tell
  };

  explicit EchoMemory(uint64_t limit_bytes) : entries_(limit_bytes) {}

  /// The conversation, whose last message is the answer, was computed as these tokens.
  void remember(const ConversationMeaning& meaning, Tokens tokens);
  /// The tokens of the conversation up to message `last`; null when it is not known, or when thoughts
  /// are told that were others.
  [[nodiscard]] std::shared_ptr<const Known> find(const ConversationMeaning& meaning, size_t last);

 private:
  struct Entry {
    std::vector<std::string> thoughts;
    std::shared_ptr<const Known> known;
  };

  std::mutex mutex_;
  RecentEntries<Entry> entries_;  ///< by what the conversation means
};

/// An answer under way that is to be remembered.
struct EchoTurn {
  EchoMemory* memory = nullptr;
  ConversationMeaning meaning;  ///< of its prompt

  /// message: the answer, as ChatReply::message() tells it.
  void remember(const EchoMemory::Tokens& prompt, const EchoMemory::Tokens& drawn,
                const std::string& message) const;
};

}  // namespace tenon_http
