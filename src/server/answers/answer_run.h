// Runs the answers to a request: passes the engine's pieces to an interface's writer, until the
// answers end or the client has gone.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "server/answers/generation.h"
#include "server/http/exchange.h"
#include "server/router.h"

namespace tenon_http {

/// Formats answers for one interface. Called on the loop.
class AnswerWriter {
 public:
  AnswerWriter() = default;
  AnswerWriter(const AnswerWriter&) = delete;
  AnswerWriter& operator=(const AnswerWriter&) = delete;
  virtual ~AnswerWriter() = default;

  /// Begins a stream; called when the answers are queued.
  virtual void begin(Exchange& exchange) = 0;
  virtual void delta(Exchange& exchange, size_t choice, AnswerDelta delta) = 0;
  virtual void end(Exchange& exchange, size_t choice, AnswerEnd end) = 0;
  /// Called after all answers have ended.
  virtual void complete(Exchange& exchange) = 0;
  /// Estimated size of complete() in bytes. Large answers are printed alone on a worker; the
  /// exchange records them for the loop.
  [[nodiscard]] virtual size_t bytes_to_print() const { return 0; }
  /// Ends an incomplete answer with an error, after begin().
  virtual void fail(Exchange& exchange, const ApiError& error) = 0;
};

/// Lives until its answers have ended. Used on the loop's thread only.
class AnswerRun : public std::enable_shared_from_this<AnswerRun> {
 public:
  AnswerRun(AnswerPlan plan, std::shared_ptr<Exchange> exchange,
            std::unique_ptr<AnswerWriter> writer, ServerState& state);
  AnswerRun(const AnswerRun&) = delete;
  AnswerRun& operator=(const AnswerRun&) = delete;
  ~AnswerRun();

  /// Queues all answers. Throws tenon::Error if the engine refuses an answer.
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

  std::shared_ptr<Exchange> exchange_;  // first member: its record keeps the plan's model alive
  AnswerPlan plan_;
  std::unique_ptr<AnswerWriter> writer_;
  ServerState& state_;
  size_t num_running_ = 0;
  bool has_begun_ = false;  ///< all answers are submitted
  /// Output of the printing worker; null if none prints.
  std::unique_ptr<class PrintedAnswer> printed_;
  std::shared_ptr<AnswerRun> self_;  ///< set while the run is active
  std::shared_ptr<Task> wake_;    ///< pumps if the run still exists; posted by the engine's thread
  std::shared_ptr<Task> submit_;  ///< submits more answers
  std::deque<Generation> generations_;  // last member: what it notifies is destroyed after it
};

/// Start of the planned answers; a handler returns it.
Start start_answers(AnswerPlan plan, std::unique_ptr<AnswerWriter> writer, ServerState& state);

}  // namespace tenon_http
