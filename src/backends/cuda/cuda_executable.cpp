#include "backends/cuda/cuda_executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/common/failure.h"
#include "backends/common/sizes.h"
#include "backends/common/step_rules.h"
#include "backends/cuda/cuda_buffer.h"
#include "backends/cuda/kernels/constants.h"
#include "backends/gpu/cache_layout.h"
#include "backends/gpu/stage_operations.h"

namespace tenon::cuda {
namespace {

/// Stages after which a long step looks at its cancel flag: about two layers.
constexpr size_t kStagesOfSegment = 32;
/// Steps of more tokens are given to the device segment by segment, two ahead.
constexpr uint32_t kLongStep = 64;
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
      weights_(program_, UINT64_MAX, Context::kStagingBytes),
      activations_(program_),
      segments_{Event(context), Event(context)},
      done_(context),
      draw_plan_(gpu::logits_columns(program_), program.max_outputs),
      drawn_(context) {
  gpu::check_program(program_, context.facts().shared_bytes);
  for (const tenon_cache_group& group : program_.groups()) {
    block_bytes_.push_back(gpu::block_bytes(group));
  }
  allocate_activations();
  allocate_weights();
  build_stages();
  allocate_draws();
}

// A step may be under way that nobody waits for.
Executable::~Executable() { context_.finish_quietly(); }

void Executable::allocate_activations() {
  area_ = Memory(context_, activations_.area_bytes, Access::Device, "activations");
  activations_.place(area_.address(), places_);
  inputs_staging_ = Memory(context_, activations_.input_bytes, Access::Host, "inputs");
  download_ = Memory(context_, activations_.result_bytes, Access::Host, "results");
  for (const auto& [slot, offset] : activations_.results) {
    results_.push_back({slot, offset, nullptr, 0});
  }
}

void Executable::allocate_weights() {
  std::vector<gpu::Address> addresses;
  for (const uint64_t size : weights_.chunks()) {
    chunks_.emplace_back(context_, size, Access::Device, "weights");
    addresses.push_back(chunks_.back().address());
  }
  weights_.place(addresses, places_);
}

void Executable::allocate_draws() {
  if (draw_plan_.most_draws() == 0) return;
  const uint64_t results = draw_plan_.result_bytes();
  draws_ = Memory(context_, draw_plan_.upload_bytes(), Access::Device, "draws");
  draws_staging_ = Memory(context_, draw_plan_.upload_bytes(), Access::Host, "draws");
  draw_rows_ = Memory(context_, draw_plan_.row_bytes(), Access::Device, "draws");
  draw_results_ = Memory(context_, results, Access::Device, "draws");
  draw_download_ = Memory(context_, results, Access::Host, "draws");
}

void Executable::build_stages() {
  const uint64_t capacity = gpu::ConstantImage::most_bytes(program_);
  constants_ = Memory(context_, capacity, Access::Device, "parameters");
  step_ = Memory(context_, sizeof(gpu::StepHeader), Access::Device, "the header of a step");
  step_staging_ = Memory(context_, sizeof(gpu::StepHeader), Access::Host, "the header of a step");
  reserve_arrays(step_data_.most_bytes(kTableEntries));
  const uint64_t scratch = gpu::StageBuilder::scratch_bytes(program_);
  scratch_ = Memory(context_, scratch, Access::Device, "scratch");

  gpu::ConstantImage image(constants_.address(), capacity);
  gpu::StageBuilder builder(program_, step_data_, places_, {context_.group_threads(), kWarp},
                            {step_.address(), context_.grids(), scratch_.address()}, image);
  stages_ = builder.build();
  context_.write(constants_, 0, image.bytes().data(), image.bytes().size());
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                           uint64_t size_bytes) {
  if (sealed_) backends::refuse(TENON_BACKEND_STATE, "load_rows after seal");
  const auto send = [this](gpu::ChunkPlan::Place place, uint64_t bytes,
                           const gpu::WeightPlaces::Fill& fill) {
    Context::Upload upload(context_);
    fill(upload.bytes());
    upload.send(chunks_[place.chunk], place.offset, bytes);
  };
  weights_.load_rows(slot, first_row, num_rows, blocks, size_bytes, send);
}

void Executable::seal() {
  weights_.check_loaded();
  context_.finish();
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
    const Buffer* slab = cuda_buffer(pool.slabs[block / pool.blocks_per_slab]);
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
  Memory staging(context_, size, Access::Host, "block tables");
  arrays_ = std::move(arrays);
  arrays_staging_ = std::move(staging);
}

void Executable::send_step(const tenon_step& step) {
  const uint64_t bytes = step_data_.bytes(step);
  reserve_arrays(bytes);
  const auto block_address = [&](uint32_t group, uint32_t block) {
    const tenon_cache_pool& pool = step.pools[group];
    const Buffer* slab = cuda_buffer(pool.slabs[block / pool.blocks_per_slab]);
    return slab->address() + block % pool.blocks_per_slab * block_bytes_[group];
  };
  const gpu::StepHeader header =
      step_data_.write(step, block_address, arrays_staging_.bytes(), arrays_.address());
  std::memcpy(step_staging_.bytes(), &header, sizeof(header));
  context_.send(step_.address(), step_staging_.bytes(), sizeof(header));
  context_.send(arrays_.address(), arrays_staging_.bytes(), bytes);
  for (const gpu::ActivationPlaces::Staged& input : activations_.inputs) {
    const tenon_slot& slot = program_.slots()[input.slot];
    const uint64_t size =
        uint64_t{backends::num_rows(step, slot.row_class)} * slot.columns * sizeof(float);
    if (size == 0) continue;
    std::byte* staging = inputs_staging_.bytes() + input.offset;
    std::memcpy(staging, backends::bound_memory(step, input.slot), size);
    context_.send(places_.addresses[input.slot], staging, size);
  }
}

void Executable::launch_stages(const tenon_step& step) {
  const bool is_long = step.num_tokens > kLongStep;
  size_t segment = 0;
  for (size_t i = 0; i < stages_.size(); ++i) {
    const gpu::Stage& stage = stages_[i];
    if (is_long && i > 0 && i % kStagesOfSegment == 0) {
      Event& end = segments_[segment % segments_.size()];
      if (segment >= segments_.size()) end.wait();
      end.record();
      ++segment;
      if (is_cancelled(step)) {
        context_.finish();
        backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
      }
    }
    const uint32_t rows = backends::num_rows(step, stage.row_class);
    context_.launch(stage.kernel, stage.parameters, stage.groups,
                    (rows + stage.rows_of_group - 1) / stage.rows_of_group);
  }
}

void Executable::take_results(const tenon_step& step) {
  for (Result& result : results_) {
    const tenon_slot& slot = program_.slots()[result.slot];
    result.bound = backends::bound_memory(step, result.slot);
    result.bytes =
        uint64_t{backends::num_rows(step, slot.row_class)} * slot.columns * sizeof(float);
    if (result.bound == nullptr) continue;  // logits may stay for draw()
    context_.take(download_.bytes() + result.offset, places_.addresses[result.slot], result.bytes);
  }
}

uint64_t Executable::run(const tenon_step& step) {
  if (!sealed_) backends::refuse(TENON_BACKEND_STATE, "run before seal");
  settle_draws();
  const tenon_step known = tickets_.begin_run(step);
  check(known);
  if (is_cancelled(known)) backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
  // What the last step brought is overwritten; it was waited for, or failed while it was given.
  if (started_) done_.wait();
  send_step(known);
  launch_stages(known);
  take_results(known);
  done_.record();
  started_ = true;
  return tickets_.end_run(known.num_outputs);
}

uint64_t Executable::draw(uint64_t step, const Strided<tenon_draw>& draws) {
  tickets_.check_draws(step, program().logits, gpu::logits_columns(program_), draws);
  const gpu::DrawPlan::Places places{draws_.address(), draw_results_.address(),
                                     draw_rows_.address(), places_.addresses[program().logits]};
  for (uint32_t first = 0; first < draws.size();) {
    settle_draws();
    first += draw_plan_.write(draws, first, places, draws_staging_.bytes());
    launch_draws();
  }
  return tickets_.begin_draws();
}

void Executable::launch_draws() {
  const uint64_t row_bytes = gpu::logits_columns(program_) * sizeof(float);
  const uint32_t logits = program().logits;
  const auto& result = *std::ranges::find(results_, logits, &Result::slot);
  for (const uint32_t row : draw_plan_.rows()) {
    context_.take(download_.bytes() + result.offset + row * row_bytes,
                  places_.addresses[logits] + row * row_bytes, row_bytes);
  }
  if (draw_plan_.num_computed() > 0) {
    context_.send(draws_.address(), draws_staging_.bytes(), draw_plan_.written_bytes());
    context_.launch(gpu::kDrawKernel, draws_.address(), 1, draw_plan_.num_computed());
    context_.take(draw_download_.bytes(), draw_results_.address(), draw_plan_.result_bytes());
  }
  drawn_.record();
  is_drawing_ = true;
}

void Executable::settle_draws() {
  if (!std::exchange(is_drawing_, false)) return;
  drawn_.wait();
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
  done_.wait();
  for (const Result& result : results_) {
    if (result.bound == nullptr || result.bytes == 0) continue;
    std::memcpy(result.bound, download_.bytes() + result.offset, result.bytes);
  }
}

bool Executable::poll(uint64_t ticket) {
  if (tickets_.is_step(ticket)) return done_.has_come();
  return !is_drawing_ || drawn_.has_come();
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

}  // namespace tenon::cuda
