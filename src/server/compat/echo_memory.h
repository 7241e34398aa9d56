// Remembers the tokens of answers, keyed by the meaning of their conversation. Clients return a
// conversation reworded (thoughts dropped, arguments rewritten), so the tokens of its prompt differ
// from the computed ones. echo_repair.h repairs such prompts.
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

/// Meaning of a conversation: equal texts for equal meanings, per message. Ignores white space
/// around contents, the order and spelling of arguments, ids of calls, thoughts, and dates that
/// agents state (volatile_lines.h).
class ConversationMeaning {
 public:
  /// frame: context of the messages: client, model, tools, variables.
  ConversationMeaning(const Json& frame, const Json& messages);

  void add(const Json& message);
  [[nodiscard]] size_t num_messages() const { return ends_.size(); }
  /// Meaning of the messages up to and including number `last`.
  [[nodiscard]] std::string_view up_to(size_t last) const {
    return std::string_view(text_).substr(0, ends_[last]);
  }
  /// [messages] thoughts of the assistant; "" if absent.
  [[nodiscard]] const std::vector<std::string>& thoughts() const { return thoughts_; }
  /// Date lines of the messages up to number `last`.
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

/// Thread-safe.
class EchoMemory {
 public:
  using Tokens = std::vector<tenon::Token>;
  struct Known {
    Tokens tokens;
    std::string dates;  ///< date lines of the messages
  };

  explicit EchoMemory(uint64_t limit_bytes) : entries_(limit_bytes) {}

  /// Stores the tokens of a conversation whose last message is the answer.
  void remember(const ConversationMeaning& meaning, Tokens tokens);
  /// Tokens of the conversation up to message `last`. Returns null if the conversation is unknown,
  /// or if its thoughts differ from the remembered ones.
  [[nodiscard]] std::shared_ptr<const Known> find(const ConversationMeaning& meaning, size_t last);

 private:
  struct Entry {
    std::vector<std::string> thoughts;
    std::shared_ptr<const Known> known;
  };

  std::mutex mutex_;
  RecentEntries<Entry> entries_;  ///< keyed by the conversation's meaning
};

/// Running answer that will be remembered.
struct EchoTurn {
  EchoMemory* memory = nullptr;
  ConversationMeaning meaning;  ///< meaning of its prompt

  /// message: the answer, as ChatReply::message() returns it.
  void remember(const EchoMemory::Tokens& prompt, const EchoMemory::Tokens& drawn,
                const std::string& message) const;
};

}  // namespace tenon_http
