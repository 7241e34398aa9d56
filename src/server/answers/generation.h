// Running answer: an engine's request, split into content, reasoning and calls piece by piece.
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

/// Drawn token with its logprobs.
struct DrawnToken {
  std::string text;  ///< its bytes; may be part of a character
  tenon::Token id = TENON_NO_TOKEN;
  float logprob = 0;
  std::vector<std::pair<tenon::Token, float>> top{};
};

/// Next part of an answer. Texts are valid during the callback.
struct AnswerDelta {
  int32_t kind = TENON_CHAT_CONTENT;  ///< TENON_CHAT_*
  uint64_t call = 0;
  std::string_view text{};
  std::string_view id{};
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;  ///< tokens of the prompt that were computed before
  /// Tokens drawn since the last delta, if the plan asks for logprobs.
  std::vector<DrawnToken> tokens{};
};

enum class Finish : uint8_t { End, StopText, Length };

/// Reuse of earlier computation for a prompt, and the reason for its end.
struct PromptReuse {
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;
  uint64_t miss_position = 0;          ///< first token not found, if any
  int32_t miss = TENON_REUSE_NO_MISS;  ///< TENON_REUSE_*
  size_t repaired_turns = 0;           ///< turns of the assistant in their drawn tokens
};

/// Result of an answer.
struct AnswerEnd {
  Finish finish = Finish::End;
  std::string stop_text{};  ///< the plan's stop text that ended the answer
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t generated_tokens = 0;
  uint64_t reasoning_tokens = 0;
  uint64_t accepted_prediction_tokens = 0;  ///< guesses of the client's prediction that came true
  uint64_t rejected_prediction_tokens = 0;
  std::vector<DrawnToken> tokens{};  ///< drawn after the last delta, as in AnswerDelta
  std::string message{};             ///< ChatReply::message() of a chat
  PromptReuse reuse{};
};

/// Used by one thread. The destructor cancels.
class Generation {
 public:
  using OnDelta = std::function<void(AnswerDelta)>;

  /// plan: outlives this object.
  Generation(const AnswerPlan& plan, ChoicePlan choice);

  /// Submits the request; the engine calls notify(user). Throws tenon::Error.
  void submit(double timeout_seconds, const Share& share, tenon_notify_callback notify, void* user);
  /// Asks the engine to end the request, so that destroying many waits for a single step.
  void cancel() noexcept;

  /// Passes the next piece to `on_delta`; false if none is available. Throws tenon::Error if the
  /// request failed.
  bool advance(const OnDelta& on_delta);
  /// Empty until the answer is complete.
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
  std::vector<DrawnToken> tokens_;  ///< not passed on yet
  Tokens drawn_;                    ///< all drawn tokens, if stops or the memory need them
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
