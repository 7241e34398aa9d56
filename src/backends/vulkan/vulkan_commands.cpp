#include "backends/vulkan/vulkan_commands.h"

#include <algorithm>
#include <cstring>

#include "abi/failure.h"
#include "abi/step_rules.h"
#include "backends/gpu/device_executable.h"
#include "backends/gpu/unit_products.h"

namespace tenon::vulkan {
namespace {

bool has_few_rows(const tenon_step& step) {
  return std::max({step.num_tokens, step.num_outputs, step.num_sequences}) <= gpu::kNarrowTokens;
}

}  // namespace

Commands::Commands(Context& context, std::span<const gpu::Stage> stages, uint32_t num_lists)
    : context_(context), stages_(stages) {
  const uint64_t bytes = stages.size() * sizeof(VkDispatchIndirectCommand);
  counts_ = Memory(context, bytes, Access::Device, "numbers of workgroups");
  try {
    for (uint32_t i = 0; i < num_lists; ++i) {
      List& list = lists_.emplace_back();
      list.counts = Memory(context, bytes, Access::Upload, "numbers of workgroups");
      list.before = context.allocate_commands();
      list.after = context.allocate_commands();
    }
    if (context.plans()) return;
    record(gpu::kNarrowTokens, few_);
    record(UINT32_MAX, all_);
  } catch (...) {
    free_all();
    throw;
  }
}

void Commands::free_all() noexcept {
  const auto free_one = [this](VkCommandBuffer commands) {
    if (commands != VK_NULL_HANDLE) context_.free_commands(commands);
  };
  for (const List& list : lists_) {
    free_one(list.before);
    free_one(list.after);
  }
  std::ranges::for_each(few_, free_one);
  std::ranges::for_each(all_, free_one);
}

void Commands::record(uint32_t most_rows, Recording& segments) {
  const DeviceFunctions& vk = context_.functions();
  VkCommandBuffer commands = VK_NULL_HANDLE;
  size_t recorded = 0;
  bool waits = false;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const gpu::Stage& stage = stages_[i];
    waits = waits || stage.barrier;
    if (stage.least_rows > most_rows) continue;
    if (recorded % gpu::kStagesOfSegment == 0) {
      if (commands != VK_NULL_HANDLE) context_.end(commands);
      commands = segments.emplace_back(context_.allocate_commands());
      context_.begin(commands, false);
      waits = true;
    }
    if (waits) context_.barrier(commands);
    waits = false;
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, context_.pipeline(stage.kernel));
    vk.CmdPushConstants(commands, context_.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof(stage.parameters), &stage.parameters);
    vk.CmdDispatchIndirect(commands, counts_.buffer(), i * sizeof(VkDispatchIndirectCommand));
    ++recorded;
  }
  if (commands != VK_NULL_HANDLE) context_.end(commands);
}

void Commands::begin(uint32_t list) {
  list_ = &lists_[list];
  ready_.clear();
  recording_ = list_->before;
  context_.begin(recording_, true);
  barrier();
}

void Commands::send(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
                    uint64_t size) {
  if (size == 0) return;
  const VkBufferCopy region{from_offset, to_offset, size};
  context_.functions().CmdCopyBuffer(recording_, from.buffer(), to.buffer(), 1, &region);
}

void Commands::launch(const gpu::KernelKey& key, gpu::Address parameters, uint32_t groups,
                      uint32_t rows) {
  const DeviceFunctions& vk = context_.functions();
  vk.CmdBindPipeline(recording_, VK_PIPELINE_BIND_POINT_COMPUTE, context_.pipeline(key));
  vk.CmdPushConstants(recording_, context_.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                      sizeof(parameters), &parameters);
  vk.CmdDispatch(recording_, groups, rows, 1);
}

void Commands::run_stages(const tenon_step& step) {
  auto* counts = reinterpret_cast<VkDispatchIndirectCommand*>(list_->counts.bytes());
  for (const gpu::Stage& stage : stages_) {
    *counts++ = {stage.groups, stage.row_groups(backends::num_rows(step, stage.row_class)), 1};
  }
  send(counts_, 0, list_->counts, 0, stages_.size() * sizeof(VkDispatchIndirectCommand));
  barrier();
  context_.end(recording_);
  ready_.push_back(recording_);
  const Recording& segments = has_few_rows(step) ? few_ : all_;
  if (step.num_tokens <= gpu::kLongStep) {
    ready_.insert(ready_.end(), segments.begin(), segments.end());
  } else {
    for (size_t i = 0; i < segments.size(); ++i) {
      if (gpu::is_cancelled(step)) backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
      // Submission numbers are consecutive.
      if (i >= gpu::kSegmentsAhead) context_.wait(list_->submission - gpu::kSegmentsAhead + 1);
      ready_.push_back(segments[i]);
      list_->submission = context_.submit(ready_);
      ready_.clear();
    }
  }
  recording_ = list_->after;
  context_.begin(recording_, true);
  barrier();
}

void Commands::submit() {
  barrier();
  context_.end(recording_);
  ready_.push_back(recording_);
  list_->submission = context_.submit(ready_);
}

}  // namespace tenon::vulkan
