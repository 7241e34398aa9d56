// A program on a device: its weights, its activations, its stages, and the step under way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/common/step_tickets.h"
#include "backends/common/strided.h"
#include "backends/cuda/cuda_context.h"
#include "backends/gpu/activation_places.h"
#include "backends/gpu/draw_plan.h"
#include "backends/gpu/stage_builder.h"
#include "backends/gpu/step_data.h"
#include "backends/gpu/weight_places.h"
#include "tenon/backend.h"

namespace tenon::cuda {

class Executable {
 public:
  /// Copies the program; UNSUPPORTED naming an operation that does not fit. The context outlives this.
  Executable(Context& context, const tenon_program& program);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  [[nodiscard]] const tenon_host* host() const { return context_.host(); }
  [[nodiscard]] const tenon_program& program() const { return program_.view(); }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  /// Any rows may be loaded at once.
  [[nodiscard]] uint64_t row_granularity(uint32_t) const { return 1; }
  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes);
  void seal();
  uint64_t run(const tenon_step& step);
  uint64_t draw(uint64_t step, const Strided<tenon_draw>& draws);
  void wait(uint64_t ticket);
  [[nodiscard]] bool poll(uint64_t ticket);
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const;

 private:
  /// A result that is copied to the host after each step.
  struct Result {
    uint32_t slot;
    uint64_t offset;  ///< in download_
    void* bound;      ///< by the step under way; nullptr: nowhere
    uint64_t bytes;   ///< in it
  };

  void allocate_weights();
  void allocate_activations();
  void build_stages();
  void check(const tenon_step& step) const;
  void reserve_arrays(uint64_t bytes);
  void send_step(const tenon_step& step);
  void launch_stages(const tenon_step& step);
  void take_results(const tenon_step& step);
  void allocate_draws();
  void launch_draws();
  /// Waits for the draws under way, and hands out what they came to.
  void settle_draws();

  Context& context_;
  backends::ProgramCopy program_;
  gpu::StepData step_data_;
  gpu::WeightPlaces weights_;
  gpu::ActivationPlaces activations_;
  std::vector<Memory> chunks_;         ///< of weights
  std::vector<uint64_t> block_bytes_;  ///< [groups]
  gpu::SlotPlaces places_;
  std::vector<gpu::Stage> stages_;
  Memory area_;       ///< activations by the host's plan, and results and inputs after it
  Memory scratch_;    ///< of single operations
  Memory constants_;  ///< parameters of stages
  Memory step_;       ///< StepHeader
  Memory arrays_;     ///< what the header points to; grows with block tables alone
  Memory inputs_staging_;
  Memory step_staging_;
  Memory arrays_staging_;
  Memory download_;
  std::vector<Result> results_;
  std::array<Event, 2> segments_;  ///< ends of the last segments of a long step, in turns
  Event done_;                     ///< the end of the step that was run last
  gpu::DrawPlan draw_plan_;
  Memory draws_;  ///< as draw_plan_ has them, and what the device makes of them
  Memory draw_rows_;
  Memory draw_results_;
  Memory draws_staging_;
  Memory draw_download_;
  Event drawn_;              ///< the end of the draws under way
  bool is_drawing_ = false;  ///< there are such
  bool sealed_ = false;
  bool started_ = false;  ///< done_ means something
  backends::StepTickets tickets_;
};

}  // namespace tenon::cuda
