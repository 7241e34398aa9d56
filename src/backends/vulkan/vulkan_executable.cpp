#include "backends/vulkan/vulkan_executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/common/failure.h"
#include "backends/common/sizes.h"
#include "backends/common/step_rules.h"
#include "backends/gpu/cache_layout.h"
#include "backends/gpu/stage_operations.h"
#include "backends/vulkan/vulkan_buffer.h"

namespace tenon::vulkan {
namespace {

/// Stages that are submitted at once, and after which a long step looks at its cancel flag: about two
/// layers.
constexpr size_t kStagesOfSegment = 32;
/// Steps of more tokens are submitted segment by segment.
constexpr uint32_t kLongStep = 64;
/// Segments of a long step that are under way at once.
constexpr size_t kSegmentsAhead = 2;
/// Entries of block tables for which there is room at first.
constexpr uint64_t kTableEntries = 4096;

bool is_cancelled(const tenon_step& step) {
  return step.cancel != nullptr && __atomic_load_n(step.cancel, __ATOMIC_RELAXED) != 0;
}

}  // namespace

Executable::Executable(Context& context, const tenon_program& program)
    : context_(context),
      program_(program),
      step_data_(program_),
      weights_(context, program_),
      activations_(program_),
      draw_plan_(gpu::logits_columns(program_), program.max_outputs) {
  gpu::check_program(program_, context.physical().shared_bytes);
  for (const tenon_cache_group& group : program_.groups()) {
    block_bytes_.push_back(gpu::block_bytes(group));
  }
  place_slots();
  build_stages();
  try {
    record_stages();
    place_draws();
  } catch (...) {
    free_commands();
    throw;
  }
}

Executable::~Executable() {
  // A step may be under way that nobody waits for.
  context_.finish_quietly();
  free_commands();
}

void Executable::free_commands() noexcept {
  for (VkCommandBuffer commands : commands_) context_.free_commands(commands);
  if (draw_commands_ != VK_NULL_HANDLE) context_.free_commands(draw_commands_);
}

void Executable::place_slots() {
  area_ = Memory(context_, activations_.area_bytes, Access::Device, "activations");
  activations_.place(area_.address(), places_);
  weights_.place(places_);
  inputs_staging_ = Memory(context_, activations_.input_bytes, Access::Upload, "inputs");
  download_ = Memory(context_, activations_.result_bytes, Access::Download, "results");
  for (const auto& [slot, offset] : activations_.results) {
    results_.push_back({slot, offset, nullptr, 0});
  }
}

void Executable::place_draws() {
  if (draw_plan_.most_draws() == 0) return;
  const uint64_t results = draw_plan_.result_bytes();
  draws_ = Memory(context_, draw_plan_.upload_bytes(), Access::Device, "draws");
  draws_staging_ = Memory(context_, draw_plan_.upload_bytes(), Access::Upload, "draws");
  draw_rows_ = Memory(context_, draw_plan_.row_bytes(), Access::Device, "draws");
  draw_results_ = Memory(context_, results, Access::Device, "draws");
  draw_download_ = Memory(context_, results, Access::Download, "draws");
  draw_commands_ = context_.allocate_commands();
  context_.make_pipelines(std::span(&gpu::kDrawKernel, 1));
}

void Executable::build_stages() {
  const uint64_t capacity = gpu::ConstantImage::most_bytes(program_);
  const uint64_t most_stages = 2 * program_.ops().size();
  constants_ = Memory(context_, capacity, Access::Device, "parameters");
  const uint64_t step_bytes =
      sizeof(gpu::StepHeader) + most_stages * sizeof(VkDispatchIndirectCommand);
  step_ = Memory(context_, step_bytes, Access::Device, "the header of a step");
  step_staging_ = Memory(context_, step_bytes, Access::Upload, "the header of a step");
  reserve_arrays(step_data_.most_bytes(kTableEntries));
  const uint64_t scratch = gpu::StageBuilder::scratch_bytes(program_);
  scratch_ = Memory(context_, scratch, Access::Device, "scratch");

  gpu::ConstantImage image(constants_.address(), capacity);
  gpu::StageBuilder builder(program_, step_data_, places_,
                            {context_.group_threads(), context_.physical().subgroup_size},
                            {step_.address(), context_.grids(), scratch_.address()}, image);
  stages_ = builder.build();
  context_.write(constants_, 0, image.bytes().data(), image.bytes().size());
  std::vector<gpu::KernelKey> keys;
  for (const gpu::Stage& stage : stages_) keys.push_back(stage.kernel);
  context_.make_pipelines(keys);
}

/// The step that they compute is data: how many workgroups is read from step_.
void Executable::record_stages() {
  const DeviceFunctions& vk = context_.functions();
  const auto allocate = [this] { return commands_.emplace_back(context_.allocate_commands()); };
  before_ = allocate();
  for (size_t first = 0; first < stages_.size(); first += kStagesOfSegment) {
    const VkCommandBuffer commands = allocate();
    context_.begin(commands, false);
    const size_t end = std::min(first + kStagesOfSegment, stages_.size());
    for (size_t i = first; i < end; ++i) {
      const gpu::Stage& stage = stages_[i];
      if (stage.barrier || i == first) context_.barrier(commands);
      vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, context_.pipeline(stage.kernel));
      vk.CmdPushConstants(commands, context_.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          sizeof(stage.parameters), &stage.parameters);
      vk.CmdDispatchIndirect(commands, step_.buffer(),
                             sizeof(gpu::StepHeader) + i * sizeof(VkDispatchIndirectCommand));
    }
    context_.end(commands);
  }
  after_ = allocate();
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                           uint64_t size_bytes) {
  if (sealed_) backends::refuse(TENON_BACKEND_STATE, "load_rows after seal");
  weights_.load_rows(slot, first_row, num_rows, blocks, size_bytes);
}

void Executable::seal() {
  weights_.check_loaded();
  sealed_ = true;
}

// ---- Steps --------------------------------------------------------------------------------------

void Executable::check(const tenon_step& step) const {
  backends::check_step_counts(program_.view(), step);
  backends::check_step_tokens(program_, step);
  backends::check_step_bindings(program_, step, true);
  backends::check_step_masks(program_, step);
  backends::check_step_sequences(program_.view(), step, [&](uint32_t group, uint32_t block) {
    const tenon_cache_pool& pool = step.pools[group];
    const Buffer* slab = vulkan_buffer(pool.slabs[block / pool.blocks_per_slab]);
    const uint64_t end = uint64_t{block} % pool.blocks_per_slab + 1;
    return slab != nullptr && slab->size() / block_bytes_[group] >= end;
  });
}

/// Block tables alone may need more than was allocated when the program was compiled. Where there is no memory for
/// more, what was there stays.
void Executable::reserve_arrays(uint64_t bytes) {
  if (bytes <= arrays_.size()) return;
  const uint64_t size = std::max(bytes, 2 * arrays_.size());
  Memory arrays(context_, size, Access::Device, "block tables");
  Memory staging(context_, size, Access::Upload, "block tables");
  arrays_ = std::move(arrays);
  arrays_staging_ = std::move(staging);
}

void Executable::upload_step(const tenon_step& step) {
  const uint64_t bytes = step_data_.bytes(step);
  reserve_arrays(bytes);
  const auto block_address = [&](uint32_t group, uint32_t block) {
    const tenon_cache_pool& pool = step.pools[group];
    const Buffer* slab = vulkan_buffer(pool.slabs[block / pool.blocks_per_slab]);
    return slab->address() + block % pool.blocks_per_slab * block_bytes_[group];
  };
  const gpu::StepHeader header =
      step_data_.write(step, block_address, arrays_staging_.bytes(), arrays_.address());
  std::memcpy(step_staging_.bytes(), &header, sizeof(header));
  auto* dispatches =
      reinterpret_cast<VkDispatchIndirectCommand*>(step_staging_.bytes() + sizeof(header));
  for (const gpu::Stage& stage : stages_) {
    const uint32_t rows = backends::num_rows(step, stage.row_class);
    *dispatches++ = {stage.groups, (rows + stage.rows_of_group - 1) / stage.rows_of_group, 1};
  }

  const auto copy = [&](const Memory& from, uint64_t offset, const Memory& to, uint64_t to_offset,
                        uint64_t size) {
    if (size == 0) return;
    const VkBufferCopy region{offset, to_offset, size};
    context_.functions().CmdCopyBuffer(before_, from.buffer(), to.buffer(), 1, &region);
  };
  context_.begin(before_, true);
  context_.barrier(before_);
  copy(step_staging_, 0, step_, 0,
       sizeof(header) + stages_.size() * sizeof(VkDispatchIndirectCommand));
  copy(arrays_staging_, 0, arrays_, 0, bytes);
  for (const gpu::ActivationPlaces::Staged& input : activations_.inputs) {
    const tenon_slot& slot = program_.slots()[input.slot];
    const uint64_t size =
        uint64_t{backends::num_rows(step, slot.row_class)} * slot.columns * sizeof(float);
    if (size == 0) continue;
    std::memcpy(inputs_staging_.bytes() + input.offset, backends::bound_memory(step, input.slot),
                size);
    copy(inputs_staging_, input.offset, area_, activations_.offsets[input.slot], size);
  }
  context_.barrier(before_);
  context_.end(before_);
}

void Executable::download_results(const tenon_step& step) {
  context_.begin(after_, true);
  context_.barrier(after_);
  for (Result& result : results_) {
    const tenon_slot& slot = program_.slots()[result.slot];
    result.bound = backends::bound_memory(step, result.slot);
    result.bytes =
        uint64_t{backends::num_rows(step, slot.row_class)} * slot.columns * sizeof(float);
    if (result.bound == nullptr || result.bytes == 0) continue;  // logits may stay for draw()
    const VkBufferCopy region{activations_.offsets[result.slot], result.offset, result.bytes};
    context_.functions().CmdCopyBuffer(after_, area_.buffer(), download_.buffer(), 1, &region);
  }
  context_.barrier(after_);
  context_.end(after_);
}

void Executable::submit(const tenon_step& step) {
  if (step.num_tokens <= kLongStep) {
    submission_ = context_.submit(commands_);
    return;
  }
  for (size_t i = 0; i < commands_.size(); ++i) {
    // Submissions are numbered one after another.
    if (i > kSegmentsAhead) context_.wait(submission_ - kSegmentsAhead);
    if (i > 0 && is_cancelled(step)) {
      context_.wait(submission_);
      backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
    }
    submission_ = context_.submit(std::span(&commands_[i], 1));
  }
}

uint64_t Executable::run(const tenon_step& step) {
  if (!sealed_) backends::refuse(TENON_BACKEND_STATE, "run before seal");
  settle_draws();
  const tenon_step known = tickets_.begin_run(step);
  check(known);
  if (is_cancelled(known)) backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
  try {
    upload_step(known);
    download_results(known);
    submit(known);
  } catch (...) {
    context_.finish_quietly();  // who is told of a failure may give the cache's memory back
    throw;
  }
  return tickets_.end_run(known.num_outputs);
}

uint64_t Executable::draw(uint64_t step, const Strided<tenon_draw>& draws) {
  tickets_.check_draws(step, program().logits, gpu::logits_columns(program_), draws);
  const gpu::DrawPlan::Places places{draws_.address(), draw_results_.address(),
                                     draw_rows_.address(), places_.addresses[program().logits]};
  for (uint32_t first = 0; first < draws.size();) {
    settle_draws();
    first += draw_plan_.write(draws, first, places, draws_staging_.bytes());
    submit_draws();
  }
  return tickets_.begin_draws();
}

void Executable::submit_draws() {
  const DeviceFunctions& vk = context_.functions();
  const auto copy = [&](const Memory& from, uint64_t offset, const Memory& to, uint64_t to_offset,
                        uint64_t size) {
    const VkBufferCopy region{offset, to_offset, size};
    vk.CmdCopyBuffer(draw_commands_, from.buffer(), to.buffer(), 1, &region);
  };
  context_.begin(draw_commands_, true);
  context_.barrier(draw_commands_);
  copy(draws_staging_, 0, draws_, 0, draw_plan_.written_bytes());
  const uint64_t row_bytes = gpu::logits_columns(program_) * sizeof(float);
  const uint32_t logits = program().logits;
  const auto& result = *std::ranges::find(results_, logits, &Result::slot);
  for (const uint32_t row : draw_plan_.rows()) {
    copy(area_, activations_.offsets[logits] + row * row_bytes, download_,
         result.offset + row * row_bytes, row_bytes);
  }
  context_.barrier(draw_commands_);
  if (draw_plan_.num_computed() > 0) {
    vk.CmdBindPipeline(draw_commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                       context_.pipeline(gpu::kDrawKernel));
    const gpu::Address parameters = draws_.address();
    vk.CmdPushConstants(draw_commands_, context_.pipeline_layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof(parameters), &parameters);
    vk.CmdDispatch(draw_commands_, 1, draw_plan_.num_computed(), 1);
    context_.barrier(draw_commands_);
    copy(draw_results_, 0, draw_download_, 0, draw_plan_.result_bytes());
    context_.barrier(draw_commands_);
  }
  context_.end(draw_commands_);
  draw_submission_ = context_.submit(std::span(&draw_commands_, 1));
}

void Executable::settle_draws() {
  if (draw_submission_ == 0) return;
  context_.wait(std::exchange(draw_submission_, 0));
  const auto& result = *std::ranges::find(results_, program().logits, &Result::slot);
  draw_plan_.finish(draw_download_.bytes(),
                    reinterpret_cast<const float*>(download_.bytes() + result.offset));
  for (const tenon_draw& draw : draw_plan_.taken()) tickets_.set_drawn(draw);
}

void Executable::wait(uint64_t ticket) {
  if (!tickets_.wait(ticket)) {
    settle_draws();
    return;
  }
  context_.wait(submission_);
  for (const Result& result : results_) {
    if (result.bound == nullptr || result.bytes == 0) continue;
    std::memcpy(result.bound, download_.bytes() + result.offset, result.bytes);
  }
}

bool Executable::poll(uint64_t ticket) {
  const uint64_t submission = tickets_.is_step(ticket) ? submission_ : draw_submission_;
  return submission == 0 || context_.has_ended(submission);
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  if (purpose == TENON_MEMORY_WEIGHTS) return weights_.memory_bytes();
  if (purpose != TENON_MEMORY_SCRATCH) return 0;
  uint64_t bytes = 0;
  // Of the device's memory: staging buffers are the host's.
  for (const Memory* memory :
       {&area_, &scratch_, &constants_, &step_, &arrays_, &draws_, &draw_rows_, &draw_results_}) {
    bytes += memory->size();
  }
  return bytes;
}

}  // namespace tenon::vulkan
