// A program on a device: its weights, its activations, its stages as commands that are recorded once, and the
// step under way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/common/step_tickets.h"
#include "backends/common/strided.h"
#include "backends/gpu/activation_places.h"
#include "backends/gpu/draw_plan.h"
#include "backends/gpu/stage_builder.h"
#include "backends/gpu/step_data.h"
#include "backends/vulkan/vulkan_context.h"
#include "backends/vulkan/weight_store.h"
#include "tenon/backend.h"

namespace tenon::vulkan {

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

  void place_slots();
  void place_draws();
  void build_stages();
  void record_stages();
  void free_commands() noexcept;
  void check(const tenon_step& step) const;
  void reserve_arrays(uint64_t bytes);
  void upload_step(const tenon_step& step);
  void download_results(const tenon_step& step);
  void submit(const tenon_step& step);
  void submit_draws();
  /// Waits for the draws under way, and hands out what they came to.
  void settle_draws();

  Context& context_;
  backends::ProgramCopy program_;
  gpu::StepData step_data_;
  WeightStore weights_;
  std::vector<uint64_t> block_bytes_;  ///< [groups]
  gpu::ActivationPlaces activations_;
  gpu::SlotPlaces places_;
  std::vector<gpu::Stage> stages_;
  Memory area_;       ///< activations by the host's plan, and results and inputs after it
  Memory scratch_;    ///< of single operations
  Memory constants_;  ///< parameters of stages
  Memory step_;       ///< StepHeader, then a VkDispatchIndirectCommand for each stage
  Memory arrays_;     ///< what the header points to; grows with block tables alone
  Memory inputs_staging_;
  Memory step_staging_;
  Memory arrays_staging_;
  Memory download_;
  std::vector<Result> results_;
  /// Of a step, in order: its uploads, its stages in segments that are recorded once, its downloads.
  std::vector<VkCommandBuffer> commands_;
  VkCommandBuffer before_ = VK_NULL_HANDLE;  ///< the first
  VkCommandBuffer after_ = VK_NULL_HANDLE;   ///< the last
  gpu::DrawPlan draw_plan_;
  Memory draws_;  ///< as draw_plan_ has them, and what the device makes of them
  Memory draw_rows_;
  Memory draw_results_;
  Memory draws_staging_;
  Memory draw_download_;
  VkCommandBuffer draw_commands_ = VK_NULL_HANDLE;
  uint64_t draw_submission_ = 0;  ///< 0: no draws are under way
  bool sealed_ = false;
  uint64_t submission_ = 0;  ///< the last one of the step that was run last
  backends::StepTickets tickets_;
};

}  // namespace tenon::vulkan
