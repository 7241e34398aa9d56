// The text of an answer as it comes in, and what is made of it: the two ends that a call grammar
// works between. How an answer is laid out is known to the grammars and to reply_parser.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_formats/json_kinds.h"

namespace tenon {

/// What counts as space around the parts of an answer: that of ASCII.
constexpr bool is_reply_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Without the space at the begin, at the end, at both.
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

/// A piece of an answer.
struct ReplyDelta {
  enum class Kind : uint8_t {
    Content,
    Reasoning,
    CallBegin,      ///< text: the name; id: as the model wrote it, or made up
    CallArguments,  ///< text: more of the JSON
    CallEnd,
    CallRetract,  ///< the call turned out broken: forget it; its text follows as content
  };
  Kind kind;
  size_t call = 0;  ///< which one, of the Call kinds
  std::string_view text{};
  std::string_view id{};
};
using ReplySink = std::function<void(const ReplyDelta&)>;

/// The text that was not read yet. What is read is remembered until forget(), so that a broken call
/// can be given back as text.
class ReplyInput {
 public:
  void append(std::string_view text);
  [[nodiscard]] std::string_view rest() const { return std::string_view(text_).substr(at_); }
  void skip(size_t bytes) { at_ += bytes; }
  /// What was read since the last forget().
  [[nodiscard]] std::string_view read() const {
    return std::string_view(text_).substr(kept_, at_ - kept_);
  }
  void forget() { kept_ = at_; }
  void skip_space();

  bool at_end = false;  ///< no more text will come

  enum class Match : uint8_t { No, Partly, Yes };
  /// Whether the rest begins with `literal`; Partly: it may, when more comes.
  [[nodiscard]] Match match(std::string_view literal) const;

  struct Found {
    size_t at;     ///< where the first of the markers starts, or could start
    size_t which;  ///< of the markers; their number when none is whole
  };
  /// The first of the markers in the rest from byte `from` on; of several at one place the longest.
  [[nodiscard]] Found find(std::span<const std::string_view> markers, size_t from = 0) const;

 private:
  std::string text_;
  size_t at_ = 0;
  size_t kept_ = 0;
};

inline constexpr char kPathSeparator = '\x1F';

/// Where calls go.
class CallOutput {
 public:
  virtual ~CallOutput() = default;
  virtual void begin_call(std::string_view name, std::string_view id) = 0;
  virtual void arguments(std::string_view json) = 0;
  /// The call is whole: what was read for it is forgotten.
  virtual void end_call() = 0;
  /// What a parameter may be by the tools that the model was given; kAnyKind when they do not say.
  /// Within a parameter: a path of names with kPathSeparator between; of what is in a list "item".
  [[nodiscard]] virtual JsonKinds kinds_of(std::string_view tool,
                                           std::string_view parameter) const = 0;
  /// Whether the model was given a tool of that name; true when no tools are known.
  [[nodiscard]] virtual bool offers(std::string_view tool) const = 0;
};

/// Reads the calls after an opening marker.
class CallGrammar {
 public:
  enum class Step : uint8_t {
    More,    ///< needs more text
    Again,   ///< got on: call step() again
    Done,    ///< content follows
    Broken,  ///< this is no call
  };
  virtual ~CallGrammar() = default;
  /// opener: which of the format's markers was read.
  virtual void begin(size_t opener) = 0;
  virtual Step step(ReplyInput& in, CallOutput& out) = 0;
};

/// The longest name of a tool or parameter.
inline constexpr size_t kMaxCallName = 1024;

}  // namespace tenon
