// A program on a device: weights, activations, stages, steps under way and their draws. The plugin
// provides copies and kernel launches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "abi/cancel_flag.h"
#include "abi/failure.h"
#include "abi/program_copy.h"
#include "abi/step_rules.h"
#include "abi/strided.h"
#include "backends/common/step_tickets.h"
#include "backends/gpu/activation_places.h"
#include "backends/gpu/cache_layout.h"
#include "backends/gpu/device_buffer.h"
#include "backends/gpu/draw_plan.h"
#include "backends/gpu/stage_builder.h"
#include "backends/gpu/stage_operations.h"
#include "backends/gpu/step_data.h"
#include "backends/gpu/weight_places.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// Steps that the host may have under way (tenon_device_info.steps_under_way).
inline constexpr uint32_t kStepsUnderWay = 2;
/// Stages between polls of the cancel flag in a long step: about two layers.
inline constexpr size_t kStagesOfSegment = 32;
/// Steps with more tokens are submitted in segments.
inline constexpr uint32_t kLongStep = 64;
/// Segments submitted ahead.
inline constexpr size_t kSegmentsAhead = 2;

/// True if the host cancels the step.
inline bool is_cancelled(const tenon_step& step) { return is_set(step.cancel); }

/// `Types` names a plugin's device and memory types:
///
///   class Context;   // host(), is_lost(), set_plans(), grids(), write(), read(), copy(),
///                    // finish_quietly(), Upload
///   class Memory;    // Memory(context, bytes, access, what), size(), address(), bytes()
///   kOfDevice, kUpload, kDownload   // accesses: device memory; written by the host; read by it
///   static void zero(Context&, const Memory&);       // clears a buffer unless it is made zeroed
///   static uint64_t largest_chunk(const Context&);   // most bytes per allocation
///   static uint64_t shared_bytes(const Context&);    // per group of threads
///   static StageLimits limits(const Context&);       // without families
///   static Families families(const Context&);        // with kernels for this device
///   static void prepare_kernels(Context&, std::span<const Stage>, bool draws);
///   class Commands;
///
/// Commands record lists for the device, which runs each list after the one before:
///
///   Commands(Context&, std::span<const Stage>, uint32_t num_lists)
///   void begin(uint32_t list);   // an ended list; later calls record into it until submit()
///   void send(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
///             uint64_t size);
///   void take(...);              // like send, to memory that the host reads
///   void barrier();              // later commands see the effects of earlier ones
///   void launch(const KernelKey&, Address parameters, uint32_t groups, uint32_t rows);
///   void run_stages(const tenon_step&);   // between two barriers; throws CANCELLED
///   void submit();
///   void wait(uint32_t list);    // for its end
///   bool has_ended(uint32_t list);
///   void finish();               // waits for all lists
///   uint64_t memory_bytes() const;
template <typename Types>
class DeviceExecutable {
  using Context = typename Types::Context;
  using Memory = typename Types::Memory;
  using Buffer = DeviceBuffer<Types>;

 public:
  /// Copies the program. Throws UNSUPPORTED that names an operation that does not fit. The context
  /// must outlive the executable.
  ///   families  of kernels that may be used
  DeviceExecutable(Context& context, const tenon_program& program, Families families)
      : context_(context),
        families_(families),
        program_(program),
        step_data_(program_),
        weights_(program_, Types::largest_chunk(context), Context::kStagingBytes, families),
        activations_(program_),
        draw_plan_(logits_columns(program_), program.max_outputs),
        tickets_(kStepsUnderWay) {
    check_program(program_, Types::shared_bytes(context));
    for (const tenon_cache_group& group : program_.groups()) {
      block_bytes_.push_back(gpu::block_bytes(group));
    }
    names_need_host_ =
        step_data_.ngram_rows_before(static_cast<uint32_t>(program_.ops().size())) > 0;
    allocate_activations();
    allocate_weights();
    build_stages();
    allocate_draws();
  }
  /// Finishes steps that no caller has waited for.
  ~DeviceExecutable() { context_.finish_quietly(); }
  DeviceExecutable(const DeviceExecutable&) = delete;
  DeviceExecutable& operator=(const DeviceExecutable&) = delete;

  [[nodiscard]] const tenon_host* host() const { return context_.host(); }
  [[nodiscard]] const tenon_program& program() const { return program_.view(); }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return block_bytes_[group]; }
  [[nodiscard]] uint64_t row_granularity(uint32_t slot) const {
    return weights_.row_granularity(slot);
  }

  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes) {
    if (sealed_) backends::refuse(TENON_BACKEND_STATE, "load_rows after seal");
    const auto send = [this](ChunkPlan::Place place, uint64_t bytes,
                             const WeightPlaces::Fill& fill) {
      typename Context::Upload upload(context_);
      fill(upload.bytes());
      upload.send(chunks_[place.chunk], place.offset, bytes);
    };
    weights_.load_rows(slot, first_row, num_rows, blocks, size_bytes, send);
  }
  void seal() {
    weights_.check_loaded();
    commands_->finish();
    sealed_ = true;
  }

  uint64_t run(const tenon_step& step) {
    if (!sealed_) backends::refuse(TENON_BACKEND_STATE, "run before seal");
    if (names_need_host_ && step.after != TENON_NO_TICKET) settle_draws();
    const tenon_step known = tickets_.begin_run(step);
    check(known);
    if (is_cancelled(known)) backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
    // The list that was waited for or failed to submit.
    const uint32_t list = next_list_;
    UnderWay& under_way = under_way_[list];
    const uint64_t bytes = step_data_.bytes(known);
    reserve_arrays(bytes);
    try {
      commands_->begin(list);
      send_step(known, names_need_host_ ? known.tokens : step.tokens, bytes, under_way);
      commands_->run_stages(known);
      take_results(known, under_way);
      commands_->submit();
    } catch (...) {
      context_.finish_quietly();  // after an error, callers may free the cache's memory
      throw;
    }
    next_list_ = (list + 1) % kStepsUnderWay;
    latest_list_ = list;
    return under_way.ticket = tickets_.end_run(known.num_outputs);
  }

  uint64_t draw(uint64_t step, const Strided<tenon_draw>& draws) {
    tickets_.check_draws(step, program().logits, logits_columns(program_), draws);
    const DrawPlan::Places places{draws_.address(), draw_results_.address(), draw_rows_.address(),
                                  places_.addresses[program().logits], drawn_tokens_.address()};
    for (uint32_t first = 0; first < draws.size();) {
      settle_draws();
      first += draw_plan_.write(draws, first, places, draws_staging_.bytes());
      submit_draws(step);
    }
    return drawing_ticket_ = tickets_.begin_draws(draws);
  }

  void wait(uint64_t ticket) {
    if (!tickets_.wait(ticket)) return settle_draws();
    const uint32_t list = list_of(ticket);
    commands_->wait(list);
    const UnderWay& ended = under_way_[list];
    for (size_t i = 0; i < activations_.results.size(); ++i) {
      const Bound& bound = ended.results[i];
      if (bound.to == nullptr || bound.bytes == 0) continue;
      std::memcpy(bound.to, ended.download.bytes() + activations_.results[i].offset, bound.bytes);
    }
  }

  [[nodiscard]] bool poll(uint64_t ticket) {
    if (tickets_.is_step(ticket)) return commands_->has_ended(list_of(ticket));
    return !is_drawing_ || ticket != drawing_ticket_ || commands_->has_ended(kDrawList);
  }

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const {
    if (purpose == TENON_MEMORY_WEIGHTS) return weights_.memory_bytes();
    if (purpose != TENON_MEMORY_SCRATCH) return 0;
    uint64_t bytes = commands_->memory_bytes();
    // Device memory only: staging buffers are the host's.
    for (const Memory* memory : {&area_, &scratch_, &work_, &constants_, &header_, &arrays_,
                                 &draws_, &draw_rows_, &draw_results_, &drawn_tokens_}) {
      bytes += memory->size();
    }
    return bytes;
  }

 private:
  /// Entries of block tables reserved at first.
  static constexpr uint64_t kTableEntries = 4096;
  static constexpr uint32_t kDrawList = kStepsUnderWay;

  /// Destination of a result.
  struct Bound {
    void* to = nullptr;  ///< null: unbound
    uint64_t bytes = 0;
  };
  /// The host's staging memory of a step. Memory on the device is shared by the steps in turn.
  struct UnderWay {
    uint64_t ticket = TENON_NO_TICKET;
    Memory inputs;
    Memory header;
    Memory arrays;
    Memory download;
    std::vector<Bound> results;  ///< in the order of activations_.results
  };

  void allocate_activations() {
    area_ = Memory(context_, activations_.area_bytes, Types::kOfDevice, "activations");
    activations_.place(area_.address(), places_);
    for (UnderWay& one : under_way_) {
      one.inputs = Memory(context_, activations_.input_bytes, Types::kUpload, "inputs");
      one.download = Memory(context_, activations_.result_bytes, Types::kDownload, "results");
      one.results.resize(activations_.results.size());
    }
  }

  void allocate_weights() {
    std::vector<Address> addresses;
    for (const uint64_t size : weights_.chunks()) {
      chunks_.emplace_back(context_, size, Types::kOfDevice, "weights");
      addresses.push_back(chunks_.back().address());
    }
    weights_.place(addresses, places_);
  }

  void build_stages() {
    const uint64_t capacity = ConstantImage::most_bytes(program_);
    constants_ = Memory(context_, capacity, Types::kOfDevice, "parameters");
    header_ = Memory(context_, sizeof(StepHeader), Types::kOfDevice, "the header of a step");
    for (UnderWay& one : under_way_) {
      one.header = Memory(context_, sizeof(StepHeader), Types::kUpload, "the header of a step");
    }
    reserve_arrays(step_data_.most_bytes(kTableEntries));
    const uint64_t scratch = StageBuilder::scratch_bytes(program_);
    scratch_ = Memory(context_, scratch, Types::kOfDevice, "scratch");

    StageLimits limits = Types::limits(context_);
    limits.families = families_;
    const WorkMemory work(program_, places_, limits.multiprocessors, families_);
    work_ = Memory(context_, work.bytes, Types::kOfDevice, "work of kernels");

    ConstantImage image(constants_.address(), capacity);
    StageBuilder builder(program_, step_data_, places_, limits,
                         {header_.address(), context_.grids(), scratch_.address(), work_.address()},
                         image);
    stages_ = builder.build();
    context_.write(constants_, 0, image.bytes().data(), image.bytes().size());
    Types::prepare_kernels(context_, stages_, draw_plan_.most_draws() > 0);
    commands_.emplace(context_, stages_, kStepsUnderWay + 1);
  }

  void allocate_draws() {
    const uint64_t outputs = std::max<uint64_t>(program().max_outputs, 1);
    drawn_tokens_ = Memory(context_, outputs * sizeof(int32_t), Types::kOfDevice, "drawn tokens");
    if (draw_plan_.most_draws() == 0) return;
    const uint64_t results = draw_plan_.result_bytes();
    draws_ = Memory(context_, draw_plan_.upload_bytes(), Types::kOfDevice, "draws");
    draws_staging_ = Memory(context_, draw_plan_.upload_bytes(), Types::kUpload, "draws");
    draw_rows_ = Memory(context_, draw_plan_.row_bytes(), Types::kOfDevice, "draws");
    draw_results_ = Memory(context_, results, Types::kOfDevice, "draws");
    draw_download_ = Memory(context_, results, Types::kDownload, "draws");
  }

  // ---- Steps ------------------------------------------------------------------------------------

  void check(const tenon_step& step) const {
    backends::check_step_counts(program_.view(), step);
    backends::check_step_tokens(program_, step);
    backends::check_step_bindings(program_, step, true);
    backends::check_step_masks(program_, step);
    backends::check_step_sequences(program_.view(), step, [&](uint32_t group, uint32_t block) {
      const tenon_cache_pool& pool = step.pools[group];
      const Buffer* slab = Buffer::of(pool.slabs[block / pool.blocks_per_slab]);
      const uint64_t end = uint64_t{block} % pool.blocks_per_slab + 1;
      return slab != nullptr && slab->size() / block_bytes_[group] >= end;
    });
  }

  /// Grows the arrays for block tables beyond the compile-time size. If memory is short, the old
  /// arrays stay.
  void reserve_arrays(uint64_t bytes) {
    if (bytes <= arrays_.size()) return;
    const uint64_t size = std::max(bytes, 2 * arrays_.size());
    Memory arrays(context_, size, Types::kOfDevice, "block tables");
    std::array<Memory, kStepsUnderWay> staging;
    for (Memory& one : staging) one = Memory(context_, size, Types::kUpload, "block tables");
    if (commands_) commands_->finish();  // a step under way reads the old arrays
    arrays_ = std::move(arrays);
    for (uint32_t i = 0; i < kStepsUnderWay; ++i) under_way_[i].arrays = std::move(staging[i]);
  }

  ///   tokens  tokens of the step, as the device sees them
  ///   bytes   size of the arrays
  void send_step(const tenon_step& step, const int32_t* tokens, uint64_t bytes,
                 UnderWay& under_way) {
    const auto block_address = [&](uint32_t group, uint32_t block) {
      const tenon_cache_pool& pool = step.pools[group];
      const Buffer* slab = Buffer::of(pool.slabs[block / pool.blocks_per_slab]);
      return slab->address() + block % pool.blocks_per_slab * block_bytes_[group];
    };
    tenon_step seen = step;
    seen.tokens = tokens;
    StepHeader header =
        step_data_.write(seen, block_address, under_way.arrays.bytes(), arrays_.address());
    header.drawn_tokens = drawn_tokens_.address();
    std::memcpy(under_way.header.bytes(), &header, sizeof(header));
    commands_->send(header_, 0, under_way.header, 0, sizeof(header));
    commands_->send(arrays_, 0, under_way.arrays, 0, bytes);
    for (const ActivationPlaces::Staged& input : activations_.inputs) {
      const uint64_t size = bytes_of(step, input.slot);
      if (size == 0) continue;
      std::memcpy(under_way.inputs.bytes() + input.offset, backends::bound_memory(step, input.slot),
                  size);
      commands_->send(area_, activations_.offsets[input.slot], under_way.inputs, input.offset,
                      size);
    }
  }

  void take_results(const tenon_step& step, UnderWay& under_way) {
    for (size_t i = 0; i < activations_.results.size(); ++i) {
      const ActivationPlaces::Staged& result = activations_.results[i];
      const Bound bound{backends::bound_memory(step, result.slot), bytes_of(step, result.slot)};
      under_way.results[i] = bound;
      if (bound.to == nullptr) continue;  // logits may stay for draw()
      commands_->take(under_way.download, result.offset, area_, activations_.offsets[result.slot],
                      bound.bytes);
    }
  }

  /// Bytes of an input or result in a step.
  [[nodiscard]] uint64_t bytes_of(const tenon_step& step, uint32_t number) const {
    const tenon_slot& slot = program_.slots()[number];
    return uint64_t{backends::num_rows(step, slot.row_class)} * slot.columns * sizeof(float);
  }

  [[nodiscard]] uint32_t list_of(uint64_t ticket) const {
    return under_way_[0].ticket == ticket ? 0 : 1;
  }

  // ---- Draws ------------------------------------------------------------------------------------

  [[nodiscard]] uint64_t offset_of_logits() const {
    return std::ranges::find(activations_.results, program().logits,
                             &ActivationPlaces::Staged::slot)
        ->offset;
  }

  /// Submits the draws in draw_plan_, from the logits of the latest step.
  void submit_draws(uint64_t step) {
    drawing_step_ = step;
    drawing_list_ = latest_list_;
    commands_->begin(kDrawList);
    commands_->send(draws_, 0, draws_staging_, 0, draw_plan_.written_bytes());
    const uint64_t row_bytes = logits_columns(program_) * sizeof(float);
    for (const uint32_t row : draw_plan_.rows()) {
      commands_->take(under_way_[drawing_list_].download, offset_of_logits() + row * row_bytes,
                      area_, activations_.offsets[program().logits] + row * row_bytes, row_bytes);
    }
    if (draw_plan_.num_computed() > 0) {
      commands_->barrier();
      commands_->launch(kDrawKernel, draws_.address(), 1, draw_plan_.num_computed());
      commands_->barrier();
      commands_->take(draw_download_, 0, draw_results_, 0, draw_plan_.result_bytes());
    }
    commands_->submit();
    is_drawing_ = true;
  }

  /// Waits for the draws under way and stores their results.
  void settle_draws() {
    if (!std::exchange(is_drawing_, false)) return;
    commands_->wait(kDrawList);
    const std::byte* rows = under_way_[drawing_list_].download.bytes() + offset_of_logits();
    draw_plan_.finish(draw_download_.bytes(), reinterpret_cast<const float*>(rows));
    for (const tenon_draw& draw : draw_plan_.taken()) tickets_.set_drawn(drawing_step_, draw);
  }

  Context& context_;
  Families families_;
  backends::ProgramCopy program_;
  StepData step_data_;
  WeightPlaces weights_;
  ActivationPlaces activations_;
  std::vector<Memory> chunks_;         ///< of weights
  std::vector<uint64_t> block_bytes_;  ///< [groups]
  SlotPlaces places_;
  std::vector<Stage> stages_;
  bool names_need_host_ = false;  ///< the host computes with tokens named by a step
  Memory area_;                   ///< activations by the host's plan, then results and inputs
  Memory scratch_;                ///< scratch of single operations
  Memory work_;                   ///< WorkMemory
  Memory constants_;              ///< parameters of stages
  Memory header_;                 ///< StepHeader
  Memory arrays_;                 ///< arrays of the header; grow with block tables
  std::array<UnderWay, kStepsUnderWay> under_way_;  ///< by command list
  uint32_t next_list_ = 0;
  uint32_t latest_list_ = 0;  ///< of the latest step
  DrawPlan draw_plan_;
  Memory draws_;  ///< draws in draw_plan_ and their results
  Memory draw_rows_;
  Memory draw_results_;
  Memory draws_staging_;
  Memory draw_download_;
  Memory drawn_tokens_;      ///< [R] int: by output row of the latest step
  bool is_drawing_ = false;  ///< draws are under way
  uint64_t drawing_ticket_ = TENON_NO_TICKET;
  uint64_t drawing_step_ = TENON_NO_TICKET;  ///< their step
  uint32_t drawing_list_ = 0;                ///< list of that step
  bool sealed_ = false;
  backends::StepTickets tickets_;
  std::optional<typename Types::Commands> commands_;  ///< destroyed first: nothing runs after it
};

}  // namespace tenon::gpu
