// Streams that a call grammar works between: the unread text of an answer, and the output of calls.
// The grammars and reply_parser.h know the layout of answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_formats/json_kinds.h"

namespace tenon {

/// White space around the parts of an answer: that of ASCII.
constexpr bool is_reply_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Strip space at the beginning, at the end, at both.
constexpr std::string_view without_space_before(std::string_view text) {
  while (!text.empty() && is_reply_space(text.front())) text.remove_prefix(1);
  return text;
}
constexpr std::string_view without_space_after(std::string_view text) {
  while (!text.empty() && is_reply_space(text.back())) text.remove_suffix(1);
  return text;
}
constexpr std::string_view trimmed(std::string_view text) {
  return without_space_after(without_space_before(text));
}

/// Piece of a parsed answer.
struct ReplyDelta {
  enum class Kind : uint8_t {
    Content,
    Reasoning,
    CallBegin,      ///< text: the name; id: as the model wrote it, or generated
    CallArguments,  ///< text: the next JSON
    CallEnd,
    CallRetract,  ///< the call is broken: forget it; its text follows as content
  };
  Kind kind;
  size_t call = 0;  ///< index of the call, for the Call kinds
  std::string_view text{};
  std::string_view id{};
};
using ReplySink = std::function<void(const ReplyDelta&)>;

/// Unread text. Keeps what was read until forget(), so that a broken call can be returned as text.
class ReplyInput {
 public:
  void append(std::string_view text);
  [[nodiscard]] std::string_view rest() const { return std::string_view(text_).substr(at_); }
  void skip(size_t bytes) { at_ += bytes; }
  /// Text read since the last forget().
  [[nodiscard]] std::string_view read() const {
    return std::string_view(text_).substr(kept_, at_ - kept_);
  }
  void forget() { kept_ = at_; }
  void skip_space();

  bool at_end = false;  ///< no more text will come

  enum class Match : uint8_t { No, Partly, Yes };
  /// Compares the rest with `literal`; Partly means that more text may complete it.
  [[nodiscard]] Match match(std::string_view literal) const;

  struct Found {
    size_t at;     ///< position at which the first marker starts, or could start
    size_t which;  ///< index of the marker; the number of markers if none is complete
  };
  /// First marker in the rest from byte `from` on; of several at one position the longest.
  [[nodiscard]] Found find(std::span<const std::string_view> markers, size_t from = 0) const;

 private:
  std::string text_;
  size_t at_ = 0;
  size_t kept_ = 0;
};

inline constexpr char kPathSeparator = '\x1F';

/// Output for calls.
class CallOutput {
 public:
  virtual ~CallOutput() = default;
  virtual void begin_call(std::string_view name, std::string_view id) = 0;
  virtual void arguments(std::string_view json) = 0;
  /// Ends the call and forgets the text read for it.
  virtual void end_call() = 0;
  /// Kinds that the given tools allow for a parameter; kAnyKind if unknown. A nested value has a
  /// path of names joined by kPathSeparator; a list's items are named "item".
  [[nodiscard]] virtual JsonKinds kinds_of(std::string_view tool,
                                           std::string_view parameter) const = 0;
  /// True if the model has a tool of that name, or if the tools are unknown.
  [[nodiscard]] virtual bool offers(std::string_view tool) const = 0;
};

/// Parser of the calls after an opening marker.
class CallGrammar {
 public:
  enum class Step : uint8_t {
    More,    ///< needs more text
    Again,   ///< made progress: call step() again
    Done,    ///< content follows
    Broken,  ///< the text is no call
  };
  virtual ~CallGrammar() = default;
  /// opener: index of the format's marker that was read.
  virtual void begin(size_t opener) = 0;
  virtual Step step(ReplyInput& in, CallOutput& out) = 0;
};

/// Maximum length of the name of a tool or parameter, in bytes.
inline constexpr size_t kMaxCallName = 1024;

}  // namespace tenon
