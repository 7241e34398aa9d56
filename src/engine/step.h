// One step on its way through the device: slices of requests, the arrays that the backend reads, and
// what comes back of it, logits and drawn tokens. Which slices go in, and what becomes of their requests,
// is the engine's business.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "engine/draw_watch.h"
#include "engine/request.h"
#include "model/model.h"
#include "model/program_runner.h"

namespace tenon {

/// The part of a request that is in a step.
struct Slice {
  Request* request = nullptr;  ///< null: it has let go of the step while that was under way
  uint64_t past = 0;           ///< its positions before these
  uint32_t num_tokens = 0;
  uint32_t num_outputs = 0;
  uint32_t first_output = 0;            ///< in the step
  bool completes = false;               ///< with these tokens there is what the request waits for
  bool is_put_off = false;              ///< not drawn: it takes too long for this step
  const tenon_drawn* drawn = nullptr;   ///< what the device draws; null: it does not
  const tenon_drawn* listed = nullptr;  ///< of the largest logits; null: they are not listed
  size_t first_listed = 0;              ///< of them in the step
  bool has_row = false;                 ///< the host gets its row alone
  bool lacks_row = false;               ///< it has to: what is listed does not tell the token
  std::exception_ptr failure;           ///< of the step: nothing of it was computed
  std::exception_ptr draw_failure;

  [[nodiscard]] bool draws() const {
    return request != nullptr && request->loop != nullptr && num_outputs != 0;
  }
  /// Whether the request takes the token that the device drew, so that a step after this one has
  /// computed what it should.
  [[nodiscard]] bool is_as_drawn() const {
    // After a draw that failed or was put off, the loop still has the token of an earlier step.
    return draws() && drawn != nullptr && !is_put_off && !draw_failure &&
           request->loop->has_token() && request->loop->token() == drawn->token;
  }
};

/// clear(), add() for each slice, start(), start_draws(), finish(); then its slices are settled. On a
/// device that takes several steps, others are started before it has ended. One thread at a time.
class Step {
 public:
  ///   is_alone  no other step is started before this one has ended
  Step(const Model& model, std::span<const std::shared_ptr<BlockPool>> pools, bool is_alone);
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void clear() noexcept;
  /// The next tokens of a request whose sequence is prepared for them. A token that is not there yet
  /// is the one that the step before this draws for it.
  void add(Request& request, uint32_t num_tokens);
  /// Adding failed: it is not started, and its slices fail with what is being handled.
  void fail() noexcept;

  /// Hands it to the device.
  ///   after  ticket of the step before, if that is under way
  void start(uint64_t after) noexcept;
  /// Has the device draw what it can, once. The requests know all tokens before by now.
  void start_draws() noexcept;
  /// While the device works: masks of grammars that are likely to be needed.
  void prepare_masks() noexcept;
  /// Whether finish() would not have to wait for the device, as far as that can be told.
  [[nodiscard]] bool has_ended() const;
  /// Waits for its end, hands out logits and draws what the device did not.
  ///   first_draw  number of the slice that draws first
  ///   is_latest   no step was started after it
  void finish(size_t first_draw, bool is_latest) noexcept;

  /// Ends it soon. Any thread, and signal handlers.
  void stop() noexcept { __atomic_store_n(&stop_, 1, __ATOMIC_SEQ_CST); }
  /// It ended for that.
  [[nodiscard]] bool was_stopped() const { return was_stopped_; }
  /// The step before has ended. Where this one names tokens that were then not drawn it is dropped:
  /// nothing comes of it, and no request fails by it.
  void note_end_of(const Step& before) noexcept;
  [[nodiscard]] bool was_dropped() const { return was_dropped_; }

  [[nodiscard]] std::span<Slice> slices() { return slices_; }
  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }
  [[nodiscard]] uint64_t ticket() const { return ticket_; }
  [[nodiscard]] uint64_t started_ns() const { return started_ns_; }
  [[nodiscard]] uint32_t max_tokens() const { return runner_.max_tokens(); }
  [[nodiscard]] uint32_t num_prompt_tokens() const;
  [[nodiscard]] uint32_t num_decodes() const;
  /// Rows of logits that the device handed to the host.
  [[nodiscard]] uint32_t num_rows() const { return num_rows_; }

  /// Of the blocks that its prompts are about.
  std::vector<Hash128> computing;

 private:
  void note_failure() noexcept;
  void encode_sources();
  [[nodiscard]] bool binds_logits() const;
  [[nodiscard]] float* rows_for(uint32_t num_rows);
  void plan_draws();
  void plan_draw(Slice& slice);
  void plan_row(Slice& slice);
  [[nodiscard]] bool plan_candidates(Slice& slice);
  void fix_places();
  void wait_for_device();
  void hand_out_logits();
  [[nodiscard]] std::span<const float> row_of(const Slice& slice) const;
  void draw(Slice& slice) noexcept;
  void check_drawn(const tenon_drawn& drawn) const;
  [[nodiscard]] bool take_drawn(Slice& slice, WorkWatch& watch);
  [[nodiscard]] bool draw_listed(Slice& slice, WorkWatch& watch);
  void draw_tokens(size_t first_draw) noexcept;
  void fetch_rows_lacking(bool is_latest) noexcept;

  const Model& model_;
  System& system_;
  uint64_t vocab_;
  bool is_alone_;
  std::vector<Slice> slices_;  // capacity: tokens of a step
  ProgramRunner runner_;
  std::unique_ptr<ProgramRunner> encoder_;  // or null
  std::vector<const uint32_t*> tables_;     // of a slice
  Buffer logits_;                           // [R, vocab] f32, grown on demand
  float* rows_ = nullptr;    // [R, vocab] of this step, here or where a request wants them
  bool has_logits_ = false;  // all rows are bound; else some are drawn as rows
  uint64_t ticket_ = TENON_NO_TICKET;
  uint64_t draw_ticket_ = TENON_NO_TICKET;
  bool has_started_draws_ = false;
  bool has_failed_ = false;
  bool has_failed_draws_ = false;  // of the device
  bool was_stopped_ = false;
  bool was_dropped_ = false;
  uint64_t started_ns_ = 0;
  // Of the device's draws.
  std::vector<tenon_draw> draws_;
  std::vector<tenon_drawn> drawn_;       // capacity: three for each token of a step
  std::vector<tenon_draw_bias> biases_;  // of all draws, one after another
  // Of the draws that list candidates, one after another.
  std::vector<int32_t> listed_tokens_;
  std::vector<float> listed_logits_;
  uint32_t num_rows_ = 0;
  LongDraws long_draws_;
  uint32_t stop_ = 0;  // read by the backend; only touched by atomic operations
};

}  // namespace tenon
