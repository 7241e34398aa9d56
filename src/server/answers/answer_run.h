// The answers to one request, from the engine's pieces to the writer of an interface, until they end or
// the client has gone.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "server/answers/generation.h"
#include "server/http/exchange.h"
#include "server/router.h"

namespace tenon_http {

/// Writes answers in the form of one interface. Called on the loop.
class AnswerWriter {
 public:
  AnswerWriter() = default;
  AnswerWriter(const AnswerWriter&) = delete;
  AnswerWriter& operator=(const AnswerWriter&) = delete;
  virtual ~AnswerWriter() = default;

  /// The answers are queued: a stream begins.
  virtual void begin(Exchange& exchange) = 0;
  virtual void delta(Exchange& exchange, size_t choice, AnswerDelta delta) = 0;
  virtual void end(Exchange& exchange, size_t choice, AnswerEnd end) = 0;
  /// All have ended.
  virtual void complete(Exchange& exchange) = 0;
  /// Estimated size of complete() in bytes. Large answers are printed alone on a worker; the
  /// exchange records them for the loop.
  [[nodiscard]] virtual size_t bytes_to_print() const { return 0; }
  /// Instead of what is missing, after begin().
  virtual void fail(Exchange& exchange, const ApiError& error) = 0;
};

/// Lives until its answers have ended; on the loop's thread alone.
class AnswerRun : public std::enable_shared_from_this<AnswerRun> {
 public:
  AnswerRun(AnswerPlan plan, std::shared_ptr<Exchange> exchange,
            std::unique_ptr<AnswerWriter> writer, ServerState& state);
  AnswerRun(const AnswerRun&) = delete;
  AnswerRun& operator=(const AnswerRun&) = delete;
  ~AnswerRun();

  /// Queues all answers. Throws tenon::Error when the engine takes one of them not.
  void start();

 private:
  static void notify(void* user);
  void begin();
  void submit_some();
  void go_on_submitting() noexcept;
  void pump() noexcept;
  void advance();
  void complete();
  void print() noexcept;
  void tell_printed() noexcept;
  void note_progress();
  void cancel() noexcept;
  void fail_with(const std::function<ApiError()>& error) noexcept;
  void end() noexcept;

  std::shared_ptr<Exchange> exchange_;  // first: its record keeps the plan's model
  AnswerPlan plan_;
  std::unique_ptr<AnswerWriter> writer_;
  ServerState& state_;
  size_t num_running_ = 0;
  bool has_begun_ = false;  ///< all answers are submitted
  /// Answer that a worker prints; null without one.
  std::unique_ptr<class PrintedAnswer> printed_;
  std::shared_ptr<AnswerRun> self_;     ///< while it runs
  std::shared_ptr<Task> wake_;          ///< pumps, if the run still exists; for the engine's thread
  std::shared_ptr<Task> submit_;        ///< submits more answers
  std::deque<Generation> generations_;  // last: what it notifies is destroyed after it
};

/// Begins answers where a handler has understood what is asked for.
Start start_answers(AnswerPlan plan, std::unique_ptr<AnswerWriter> writer, ServerState& state);

}  // namespace tenon_http
