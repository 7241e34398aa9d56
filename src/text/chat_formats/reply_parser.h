// Parses a streamed answer by the rules of a family (chat_format.h).
#pragma once

#include <memory>
#include <string_view>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/reply_builder.h"

namespace tenon {

/// Layout by marks: reasoning between its own, then content with calls.
class MarkedReply : public ReplyLayout {
 public:
  MarkedReply(const ChatFormat& format, bool reads_calls);
  void start(std::string_view prompt_end) override;
  void resume(bool reasons) override;
  void read(ReplyInput& in, ReplyBuilder& out) override;

 private:
  enum class State : uint8_t { Start, Reasoning, Content, Call };
  bool step(ReplyInput& in, ReplyBuilder& out);
  bool step_start(ReplyInput& in, ReplyBuilder& out);
  bool step_reasoning(ReplyInput& in, ReplyBuilder& out);
  bool step_content(ReplyInput& in, ReplyBuilder& out);
  bool step_call(ReplyInput& in, ReplyBuilder& out);

  const ChatFormat& format_;
  bool reads_calls_;
  State state_ = State::Start;
  bool any_content_ = false;
  bool is_reasoning_ = false;  // the current call began within reasoning
  std::unique_ptr<CallGrammar> calls_;
  std::vector<std::string_view> markers_;        // openers, then dropped marks
  std::vector<std::string_view> think_markers_;  // end of reasoning, then openers
  size_t num_openers_ = 0;
};

/// Incremental parser: the split into pieces does not change the message. Linear time and memory.
class ReplyParser {
 public:
  /// prompt_end: last part of the prompt, which may have opened the reasoning. reads_calls: false
  /// if the model has no tools; everything is then content. first_id: number of the first generated
  /// id.
  ReplyParser(const ChatFormat& format, std::string_view prompt_end, bool reads_calls,
              ToolTypes types = {}, size_t first_id = 0, ReplyBegin begin = ReplyBegin::Fresh);
  ReplyParser(const ReplyParser&) = delete;  // members point to each other
  ReplyParser& operator=(const ReplyParser&) = delete;

  void push(std::string_view text, const ReplySink& sink = {});
  /// Ends the answer. The rest of a call becomes content.
  void finish(const ReplySink& sink = {});
  [[nodiscard]] const ReplyMessage& message() const { return builder_.message(); }

 private:
  ReplyInput input_;
  ReplyBuilder builder_;
  std::unique_ptr<ReplyLayout> layout_;
};

}  // namespace tenon
