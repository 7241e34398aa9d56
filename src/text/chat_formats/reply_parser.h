// Takes an answer apart while it comes in, by the rules of a family (chat_format.h).
#pragma once

#include <memory>
#include <string_view>

#include "text/chat_formats/chat_format.h"
#include "text/chat_formats/reply_builder.h"

namespace tenon {

/// The answer laid out by marks: reasoning between its own, then content with calls in it.
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
  bool is_reasoning_ = false;  // a call under way began in the reasoning
  std::unique_ptr<CallGrammar> calls_;
  std::vector<std::string_view> markers_;        // openers, then dropped marks
  std::vector<std::string_view> think_markers_;  // of the reasoning: its end, then openers
  size_t num_openers_ = 0;
};

/// The same text in whatever pieces gives the same message. Work and memory are in proportion to
/// the text.
class ReplyParser {
 public:
  /// prompt_end: the last part of the prompt, which may have opened the reasoning. reads_calls:
  /// false when the model was given no tools; then everything is content. first_id: the number of
  /// the first id that is made up.
  ReplyParser(const ChatFormat& format, std::string_view prompt_end, bool reads_calls,
              ToolTypes types = {}, size_t first_id = 0, ReplyBegin begin = ReplyBegin::Fresh);
  ReplyParser(const ReplyParser&) = delete;  // its parts point to each other
  ReplyParser& operator=(const ReplyParser&) = delete;

  void push(std::string_view text, const ReplySink& sink = {});
  /// The answer is complete. What is left of a call becomes content.
  void finish(const ReplySink& sink = {});
  [[nodiscard]] const ReplyMessage& message() const { return builder_.message(); }

 private:
  ReplyInput input_;
  ReplyBuilder builder_;
  std::unique_ptr<ReplyLayout> layout_;
};

}  // namespace tenon
