// Collects an answer's content, reasoning and calls, and passes on each as it grows.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_formats/reply_stream.h"

namespace tenon {

struct ReplyCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< JSON
};

/// Parsed answer.
struct ReplyMessage {
  std::string content;
  std::string reasoning;
  std::vector<ReplyCall> calls;
};

/// Kinds of the tools' parameters. Every tool has an entry.
struct ToolTypes {
  std::map<std::string, std::map<std::string, JsonKinds, std::less<>>, std::less<>> kinds;
};

/// Place where an answer begins: after the prompt, or inside a part begun by the prompt.
enum class ReplyBegin : uint8_t { Fresh, InContent, InReasoning };

/// Numbering and format of generated ids.
struct CallIds {
  size_t first = 0;   ///< calls already in the conversation
  bool nine = false;  ///< nine letters and digits: "call00000" instead of "call_0"
};

class ReplyBuilder : public CallOutput {
 public:
  ReplyBuilder(ReplyInput& in, ToolTypes types, CallIds ids)
      : in_(in), types_(std::move(types)), ids_(ids) {}

  /// Receiver of deltas until the next call; may be null.
  void set_sink(const ReplySink* sink) { sink_ = sink; }
  [[nodiscard]] const ReplyMessage& message() const { return message_; }

  /// Holds back white space at the beginning of a part and before a call.
  void content(std::string_view text);
  void reasoning(std::string_view text);
  /// Ends the part; white space held back is dropped.
  void end_part() {
    space_.clear();
    resumes_ = false;
  }
  /// Continues a part that the prompt has begun: leading white space counts.
  void resume() { resumes_ = true; }
  /// Passes on held-back white space as content, except after a call.
  void finish();
  /// Marks the current call, if any, as broken.
  void retract();

  void begin_call(std::string_view name, std::string_view id) override;
  void arguments(std::string_view json) override;
  void end_call() override;
  [[nodiscard]] JsonKinds kinds_of(std::string_view tool,
                                   std::string_view parameter) const override;
  [[nodiscard]] bool offers(std::string_view tool) const override;

 private:
  void add(ReplyDelta::Kind kind, std::string& part, std::string_view text);
  void send(const ReplyDelta& delta) const;

  ReplyInput& in_;
  ToolTypes types_;
  CallIds ids_;
  const ReplySink* sink_ = nullptr;
  ReplyMessage message_;
  std::string space_;     // at the end of the part; passed on when text follows
  size_t num_calls_ = 0;  // includes retracted calls, so that numbers are never reused
  bool resumes_ = false;
  bool in_call_ = false;
  bool after_call_ = false;  // only white space has come since a call
};

/// Parser of a whole answer.
class ReplyLayout {
 public:
  virtual ~ReplyLayout() = default;
  /// prompt_end: end of the prompt, which may have begun the answer.
  virtual void start(std::string_view prompt_end) = 0;
  /// Call after start(), if the prompt ends inside reasoning or content.
  virtual void resume(bool reasons) = 0;
  /// Reads as far as possible; everything if the input has ended.
  virtual void read(ReplyInput& in, ReplyBuilder& out) = 0;
};

}  // namespace tenon
