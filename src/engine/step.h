// One step on a device: slices of requests, the arrays that the backend reads, the logits and the
// drawn tokens. The engine chooses slices and settles requests.
#pragma once

#include <array>
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

/// A request's part of a step.
struct Slice {
  Request* request = nullptr;  ///< null after the request left the running step
  uint64_t past = 0;           ///< positions before the slice
  uint64_t text_size = 0;      ///< tokens of the text, with the one that the step before draws
  uint32_t num_tokens = 0;     ///< without guesses
  /// Guessed tokens after the last one, [num_guesses]; their rows follow its row.
  std::span<const Token> guesses{};
  uint32_t num_right = 0;                         ///< guesses that were drawn
  std::array<uint8_t, kDraftSources> right_by{};  ///< num_right by DraftSource
  bool is_decode = false;
  uint32_t num_outputs = 0;
  uint32_t first_output = 0;            ///< row in the step
  bool completes = false;               ///< completes what the request waits for
  bool is_put_off = false;              ///< draw deferred because it takes too long
  const tenon_drawn* drawn = nullptr;   ///< token drawn by the device, or null
  const tenon_drawn* listed = nullptr;  ///< candidates listed by the device, or null
  size_t first_listed = 0;              ///< index of its candidates in the step
  bool has_row = false;                 ///< the host gets its whole row
  bool lacks_row = false;               ///< listed candidates did not determine the token
  std::exception_ptr failure;           ///< failure of the step: no token was computed
  std::exception_ptr draw_failure;

  [[nodiscard]] bool draws() const {
    return request != nullptr && request->loop != nullptr && num_outputs != 0;
  }
  /// True if the request takes the token drawn by the device, so that the following step computed
  /// the right token.
  [[nodiscard]] bool is_as_drawn() const {
    // After a failed or deferred draw, the loop still has the token of an earlier step.
    return draws() && drawn != nullptr && !is_put_off && !draw_failure &&
           request->loop->has_token() && request->loop->token() == drawn->token;
  }
};

/// Call clear(), add() per slice, start(), start_draws(), finish(); then settle the slices. Further
/// steps may start before this one ends if the device allows. Use from one thread at a time.
class Step {
 public:
  ///   is_alone  no other step starts before this one ends
  Step(const Model& model, std::span<const std::shared_ptr<BlockPool>> pools, bool is_alone);
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void clear() noexcept;
  /// Adds the next tokens of a request whose sequence is prepared for them. A token past the end of
  /// the text is drawn by the step before.
  ///   guesses  tokens after the text, prepared like the others; must outlive the step
  void add(Request& request, uint32_t num_tokens, std::span<const Token> guesses = {});

  /// Makes room for the logits of `num_rows` rows. Returns false if memory for them is refused.
  [[nodiscard]] bool make_rows(uint32_t num_rows) noexcept;

  /// Submits the step to the device.
  ///   after  ticket of the step before, if that is under way
  void start(uint64_t after) noexcept;
  /// Starts the device's draws, once. The requests know all earlier tokens.
  void start_draws() noexcept;
  /// Precomputes grammar masks while the device works.
  void prepare_masks() noexcept;
  /// True if finish() would not wait for the device, as far as the device tells.
  [[nodiscard]] bool has_ended() const;
  /// Waits for the end, hands out logits and draws the tokens that the device did not.
  ///   first_draw  index of the slice that draws first
  ///   is_latest   no step was started after this one
  void finish(size_t first_draw, bool is_latest) noexcept;

  /// Stops the step soon. Any thread and signal handlers.
  void stop() noexcept { stop_.set(); }
  /// True if stop() ended the step.
  [[nodiscard]] bool was_stopped() const { return was_stopped_; }
  /// Notes the end of the step before. A step built on device-drawn tokens that were rejected is
  /// dropped; its requests run again.
  void note_end_of(const Step& before) noexcept;
  [[nodiscard]] bool was_dropped() const { return was_dropped_; }

  [[nodiscard]] std::span<Slice> slices() { return slices_; }
  [[nodiscard]] std::span<const Slice> slices() const { return slices_; }
  [[nodiscard]] uint64_t ticket() const { return ticket_; }
  [[nodiscard]] uint64_t started_ns() const { return started_ns_; }
  [[nodiscard]] uint32_t max_tokens() const { return runner_.max_tokens(); }
  [[nodiscard]] uint32_t num_prompt_tokens() const;
  [[nodiscard]] uint32_t num_decodes() const;
  [[nodiscard]] uint32_t num_guesses() const;
  /// Rows of logits that the device returned to the host.
  [[nodiscard]] uint32_t num_rows() const { return num_rows_; }

  /// Keys of the blocks that its prompts compute.
  std::vector<Hash128> computing;

 private:
  void fail() noexcept;
  void note_failure() noexcept;
  void encode_sources();
  [[nodiscard]] bool binds_logits() const;
  void grow_rows(uint32_t num_rows);
  [[nodiscard]] float* rows_for(uint32_t num_rows);
  void plan_draws();
  void plan_draw(Slice& slice);
  void plan_row(Slice& slice);
  [[nodiscard]] bool plan_candidates(Slice& slice);
  void fix_places();
  void wait_for_device();
  void hand_out_logits();
  [[nodiscard]] std::span<const float> row_of(const Slice& slice, uint32_t row = 0) const;
  [[nodiscard]] bool wants_hidden() const;
  void bind_hidden() noexcept;
  void note_row(const Slice& slice, uint32_t row) const;
  void draw(Slice& slice) noexcept;
  [[nodiscard]] bool draw_round(Slice& slice, uint32_t row, WorkWatch& watch);
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
  std::unique_ptr<ProgramRunner> encoder_;  // may be null
  std::vector<const uint32_t*> tables_;     // scratch of a slice
  Buffer logits_;                           // [R, vocab] f32, grown on demand
  float* rows_ = nullptr;                   // [R, vocab] in logits_ or in a request's buffer
  uint32_t hidden_slot_ = TENON_NO_SLOT;    // rows for prediction blocks, if the model has them
  std::span<const float> hidden_;           // [R, width] these; empty if no request wants them
  bool has_logits_ = false;                 // all rows are bound; else draws return single rows
  uint64_t ticket_ = TENON_NO_TICKET;
  uint64_t draw_ticket_ = TENON_NO_TICKET;
  bool has_started_draws_ = false;
  bool has_failed_ = false;
  bool has_failed_draws_ = false;  // the device's draws failed
  bool was_stopped_ = false;
  bool was_dropped_ = false;
  uint64_t started_ns_ = 0;
  // State of the device's draws.
  std::vector<tenon_draw> draws_;
  std::vector<tenon_drawn> drawn_;       // capacity: three per token of a step
  std::vector<tenon_draw_bias> biases_;  // of all draws, concatenated
  // Candidates of all listing draws, concatenated.
  std::vector<int32_t> listed_tokens_;
  std::vector<float> listed_logits_;
  uint32_t num_rows_ = 0;
  LongDraws long_draws_;
  CancelFlag stop_;  // read by the backend
};

}  // namespace tenon
