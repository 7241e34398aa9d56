// One answer under way: a request of the engine, read piece by piece into content, reasoning and calls.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/engine.hpp>
#include <utility>
#include <vector>

#include "server/answers/answer_plan.h"
#include "server/answers/cut_calls.h"

namespace tenon_http {

/// A token that was drawn, with its logprobs.
struct DrawnToken {
  std::string text;  ///< its bytes, maybe part of a character
  tenon::Token id = TENON_NO_TOKEN;
  float logprob = 0;
  std::vector<std::pair<tenon::Token, float>> top{};
};

/// More of an answer. Texts are valid during the call that hands it out.
struct AnswerDelta {
  int32_t kind = TENON_CHAT_CONTENT;  ///< TENON_CHAT_*
  uint64_t call = 0;
  std::string_view text{};
  std::string_view id{};
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  ///< of the prompt, computed before
  /// Those drawn since the last delta, where the plan asks for logprobs.
  std::vector<DrawnToken> tokens{};
};

enum class Finish : uint8_t { End, StopText, Length };

/// What of a prompt was computed before, and why not more.
struct PromptReuse {
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  uint64_t miss_position = 0;          ///< the first that was not there, if there is a miss
  int32_t miss = TENON_REUSE_NO_MISS;  ///< TENON_REUSE_*
  size_t repaired_turns = 0;           ///< of the assistant, that are there as they were drawn
};

/// What an answer has come to.
struct AnswerEnd {
  Finish finish = Finish::End;
  std::string stop_text{};  ///< which of the plan's stops it was
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t reasoning_tokens = 0;
  std::vector<DrawnToken> tokens{};  ///< as in a delta, of what came after the last one
  std::string message{};             ///< of a chat: ChatReply::message()
  PromptReuse reuse{};
};

/// Used by one thread. Cancels when destroyed.
class Generation {
 public:
  using OnDelta = std::function<void(AnswerDelta)>;

  /// plan: must outlive this.
  Generation(const AnswerPlan& plan, ChoicePlan choice);

  /// Submits it; notify(user) as in the engine. Throws tenon::Error.
  void submit(double timeout_seconds, const Share& share, tenon_notify_callback notify, void* user);
  /// Asks the engine to end it, so that destroying many waits for a single step.
  void cancel() noexcept;

  /// Hands out the next piece if it is there; whether it was. Throws tenon::Error when the request
  /// ended early.
  bool advance(const OnDelta& on_delta);
  /// Nothing until the answer is complete.
  [[nodiscard]] const std::optional<AnswerEnd>& end() const { return end_; }
  [[nodiscard]] uint64_t num_drawn() const { return num_drawn_; }
  [[nodiscard]] uint64_t cached_tokens() const { return cached_tokens_; }
  [[nodiscard]] uint64_t prompt_tokens() const { return choice_.prompt->size(); }

 private:
  tenon::Piece poll();
  void note_reuse();
  void note_token(const tenon::Piece& piece);
  void read(const tenon::Piece& piece, const OnDelta& on_delta);
  void finish(int32_t how, const OnDelta& on_delta);
  void hand_out(AnswerDelta delta, const OnDelta& on_delta);
  [[nodiscard]] std::string stop_text_found() const;

  const AnswerPlan& plan_;
  ChoicePlan choice_;
  std::optional<tenon::Session> session_;
  std::optional<tenon::Request> request_;
  std::vector<DrawnToken> tokens_;  ///< not handed out yet
  Tokens drawn_;                    ///< all, where there are stops or they are remembered
  uint64_t num_drawn_ = 0;
  uint64_t cached_tokens_ = 0;
  PromptReuse reuse_;
  bool reasons_ = false;  ///< the latest delta was reasoning
  uint64_t reasoning_tokens_ = 0;
  bool is_stopped_by_token_ = false;
  CutCalls cut_calls_;
  std::optional<AnswerEnd> end_;
};

}  // namespace tenon_http
