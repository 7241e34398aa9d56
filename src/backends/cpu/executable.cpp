#include "backends/cpu/executable.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "abi/host_buffer.h"
#include "abi/step_rules.h"
#include "backends/cpu/device.h"
#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/layouts/state_tiles.h"
#include "backends/cpu/operation.h"
#include "backends/cpu/phases/area_plan.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {
namespace {

/// Block addresses reserved in tables: 32 blocks of 32 positions for 64 sequences, or one sequence
/// of 65,536 positions.
constexpr size_t kReservedBlocks = 2048;

/// Context of a sequence for which part results are reserved.
constexpr uint64_t kReservedContext = 8192;

uint8_t* bytes_of(const HostMemory& memory) { return reinterpret_cast<uint8_t*>(memory.data()); }

QuantRows carve_quantised(Carver& carver, uint64_t rows, uint64_t columns, ActivationFormat formats,
                          bool reads_both) {
  QuantRows out{};
  make_quant_rows(out, rows, columns, formats, reads_both, [&](auto*& array, uint64_t count) {
    array = carver.take<std::remove_reference_t<decltype(*array)>>(count);
  });
  return out;
}

}  // namespace

Executable::Executable(const tenon_host& host, const Kernels& kernels, const tenon_program& program,
                       const OperationTable& operations)
    : host_(host),
      kernels_(kernels),
      program_(program),
      operations_(operations),
      plan_(build_phases(program_, kernels, operations)) {
  for (uint32_t g = 0; g < program_.groups().size(); ++g) {
    const tenon_cache_group& group = program_.groups()[g];
    if (operations_.is_plain_group(program_.view(), g)) {
      block_bytes_.push_back(plain_block_bytes(group));
      continue;
    }
    if (group.kind == TENON_CACHE_STATE) {
      const uint64_t layer_bytes = state_layer_values(group) * sizeof(float);
      block_bytes_.push_back(backends::multiply(group.layers, layer_bytes, "a state"));
      continue;
    }
    block_bytes_.push_back(CacheBlock(group).block_bytes(uint64_t{group.kv_heads} * group.layers));
  }
  weights_.resize(plan_.slots.size());
  activations_.resize(plan_.slots.size());
  next_item_ = std::make_unique<std::atomic<uint32_t>[]>(plan_.phases.size());
  allocate_weights();
  allocate_activations();
  make_attention_plans();
  allocate_scratch();
  allocate_missing_block();
  if (std::ranges::any_of(plan_.phases, &Phase::is_plain)) {
    plain_ = std::make_unique<PlainPhases>(*this);
  }
  state_.barriers.reserve(plan_.phases.size());
  state_.token_sequence.resize(program_.view().max_tokens);
  state_.token_position.resize(program_.view().max_tokens);
  state_.blocks.resize(program_.groups().size());
  state_.first_block.resize(program_.groups().size());
  for (auto& blocks : state_.blocks) blocks.reserve(kReservedBlocks);
  for (auto& first : state_.first_block) first.reserve(program_.view().max_tokens);
}

void Executable::allocate_weights() {
  std::vector<bool> linear(plan_.slots.size());
  std::vector<bool> vectors(plan_.slots.size());
  std::vector<uint32_t> matrices(plan_.slots.size(), 0);
  std::vector<bool> plain(plan_.slots.size());
  for (const tenon_op& op : program_.ops()) {
    const CpuOperation* entry = operations_.entry_of(program_.view(), op);
    for (uint32_t j = 0; j < op.num_inputs; ++j) {
      const uint32_t slot = op.inputs[j];
      if (slot == TENON_NO_SLOT) continue;
      if (entry == nullptr) {
        plain[slot] = true;
        continue;
      }
      const uint32_t seen = num_matrices(entry, op, j);
      matrices[slot] = std::max(matrices[slot], seen);
      if (seen == 0) vectors[slot] = true;
      if (seen != 0 && !entry->looks_up) linear[slot] = true;
    }
  }
  // Plain forms read rows in any packing.
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (plain[i] && matrices[i] == 0) matrices[i] = 1;
  }
  const auto carve = [&](Carver& carver) {
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const tenon_slot& slot = plan_.slots[i].slot;
      if (slot.kind != TENON_SLOT_WEIGHT) continue;
      Weight& weight = weights_[i];
      const FormatInfo* format = find_format(slot.type);
      if (matrices[i] == 0 || vectors[i]) {
        weight.vector = carver.take<float>(slot.rows * slot.columns);
      }
      if (matrices[i] == 0) {
        weight.matrix = {nullptr, format, slot.rows, slot.columns, nullptr};
        continue;
      }
      // Rows that are only looked up stay unpacked.
      const PanelFormat& layout = linear[i] ? panel_format(format->id, kernels_) : raw_panels();
      const uint64_t rows = slot.rows / matrices[i];
      weight.matrix = {&layout, format, rows, slot.columns, nullptr};
      weight.expert_bytes = packed_bytes(layout, *format, rows, slot.columns);
      weight.matrix.data = carver.take<uint8_t>(matrices[i] * weight.expert_bytes);
    }
  };
  Carver sizes(nullptr);
  carve(sizes);
  weight_memory_ = HostMemory(&host_, sizes.used(), TENON_MEMORY_WEIGHTS, "weights");
  Carver carver(bytes_of(weight_memory_));
  carve(carver);
}

template <typename Visit>
void Executable::visit_areas(const Visit& visit) {
  const auto floats = [&](int32_t first, int32_t last, Activation& to, uint64_t rows,
                          uint64_t columns) {
    visit(first, last, [&](Carver& carver) { to.f32 = carver.take<float>(rows * columns); });
  };
  const auto quantised = [&](const auto& life, Activation& to, uint64_t rows, uint64_t columns) {
    visit(life.first_phase, life.last_phase, [&](Carver& carver) {
      to.quantised = carve_quantised(carver, rows, columns, life.formats, kernels_.reads_both);
    });
  };
  std::vector<int32_t> last_f32(plan_.slots.size(), -1);
  for (uint32_t i = 0; i < plan_.slots.size(); ++i) {
    last_f32[owner(i)] = std::max(last_f32[owner(i)], plan_.slots[i].last_f32_phase);
  }
  for (uint32_t i = 0; i < plan_.slots.size(); ++i) {
    const SlotInfo& info = plan_.slots[i];
    const bool input = info.slot.kind == TENON_SLOT_INPUT;
    if (info.slot.kind != TENON_SLOT_ACTIVATION && !input) continue;
    const uint64_t rows = rows_of(i);
    if (info.stored && !info.bound && owner(i) == i) {
      floats(info.first_phase, last_f32[i], activations_[i], rows, info.slot.columns);
    }
    if (info.formats != 0) quantised(info, activations_[i], rows, info.slot.columns);
  }
  for (uint32_t i = 0; i < plan_.routes.size(); ++i) {
    const SlotInfo& info = plan_.slots[plan_.routes[i].ids];
    visit(info.first_phase, info.last_phase,
          [&](Carver& carver) { expert_plans_[i].carve(carver); });
  }
  for (uint32_t i = 0; i < plan_.gathered.size(); ++i) {
    const GatheredRows& rows = plan_.gathered[i];
    const uint64_t places = expert_plans_[rows.route].max_places();
    if (rows.floats) {
      floats(rows.first_phase, rows.last_phase, gathered_[i], places, rows.columns);
    }
    if (rows.formats != 0) quantised(rows, gathered_[i], places, rows.columns);
  }
}

void Executable::allocate_activations() {
  for (const RouteInfo& route : plan_.routes) {
    expert_plans_.emplace_back(route.experts, route.used, rows_of(route.ids));
  }
  gathered_.resize(plan_.gathered.size());
  std::vector<AreaBuffer> buffers;
  visit_areas([&](int32_t first, int32_t last, const auto& carve) {
    Carver size(nullptr);
    carve(size);
    buffers.push_back({size.used(), first, std::max(first, last)});
  });
  activation_memory_ =
      HostMemory(&host_, place_buffers(buffers), TENON_MEMORY_SCRATCH, "activations");
  auto buffer = buffers.begin();
  visit_areas([&](int32_t, int32_t, const auto& carve) {
    Carver carver(bytes_of(activation_memory_) + (buffer++)->offset);
    carve(carver);
  });
  for (uint32_t i = 0; i < plan_.slots.size(); ++i) {
    if (owner(i) != i) activations_[i].f32 = activations_[owner(i)].f32;
  }
}

uint64_t Executable::rows_of(uint32_t slot) const {
  return backends::max_rows(program_.view(), plan_.slots[slot].slot.row_class);
}

uint32_t Executable::owner(uint32_t slot) const {
  while (plan_.slots[slot].in_place_of != TENON_NO_SLOT) slot = plan_.slots[slot].in_place_of;
  return slot;
}

void Executable::make_attention_plans() {
  const uint32_t num_threads = host_.num_threads(host_.user);
  uint64_t partial_floats = 0;
  for (Phase& phase : plan_.phases) {
    const bool seen = phase.entry != nullptr && phase.op.kind == TENON_OP_ATTENTION &&
                      phase.op.inputs[3] == TENON_NO_SLOT;
    if (!seen) continue;
    const tenon_attention_params& params = phase.op.params.attention;
    const AttentionShape shape(params, program_.groups()[params.group]);
    const auto same =
        std::find_if(attention_plans_.begin(), attention_plans_.end(),
                     [&](const AttentionPlan& plan) { return plan.shape().same_work(shape); });
    phase.attention_plan = static_cast<uint32_t>(same - attention_plans_.begin());
    if (same != attention_plans_.end()) continue;
    attention_plans_.emplace_back(shape, program_.view().max_tokens, num_threads);
    if (num_threads == 1) continue;
    partial_floats = std::max(partial_floats,
                              attention_plans_.back().partial_floats_of_context(kReservedContext));
  }
  partial_floats = std::max(partial_floats, num_threads * thread_partials(kReservedContext));
  attention_partials_ =
      HostMemory(&host_, partial_floats * sizeof(float), TENON_MEMORY_SCRATCH, "attention");
}

uint64_t Executable::thread_partials(uint64_t end) const {
  const ScratchContext context{plan_, program_.groups(), attention_plans_};
  uint64_t floats = 0;
  for (const Phase& phase : plan_.phases) {
    if (phase.entry == nullptr || phase.entry->partials == nullptr) continue;
    floats = std::max(floats, phase.entry->partials(context, phase, end));
  }
  return floats;
}

/// Reserves part results, with half of the size again when growing.
void Executable::reserve_partials(uint64_t floats) {
  const uint64_t needed = floats * sizeof(float);
  if (needed <= attention_partials_.size()) return;
  attention_partials_ = HostMemory();
  attention_partials_ = HostMemory(&host_, needed + needed / 2, TENON_MEMORY_SCRATCH, "attention");
}

void Executable::prepare_attention(const tenon_step& step) {
  for (AttentionPlan& plan : attention_plans_) {
    plan.build(step, state_.token_position);
    reserve_partials(plan.total_partial_floats());
  }
  uint64_t longest = 0;
  for (const uint32_t position : std::span(state_.token_position).first(step.num_tokens)) {
    longest = std::max<uint64_t>(longest, position + 1);
  }
  thread_partial_floats_ = thread_partials(longest);
  reserve_partials(scratch_.size() * thread_partial_floats_);
}

void Executable::allocate_scratch() {
  uint64_t max_block = 0;
  ScratchSizes sizes_of_ops;
  const ScratchContext context{plan_, program_.groups(), attention_plans_};
  bool glu = false, floats = false;
  const auto count_linear = [&](uint32_t weight, uint32_t second, uint64_t width) {
    max_block = std::max(max_block, width);
    glu = glu || second != TENON_NO_SLOT;
    for (const uint32_t slot : {weight, second}) {
      if (slot == TENON_NO_SLOT) continue;
      floats = floats || weights_[slot].matrix.layout->panel_rows == kFloatPanelRows;
    }
  };
  for (const Phase& phase : plan_.phases) {
    for (const LinearTask& task : phase.tasks) {
      count_linear(task.weight, task.second, max_width(task));
    }
    for (const ExpertTask& task : phase.experts) {
      count_linear(task.weight, task.second, joined_width(task.block));
    }
    if (phase.entry == nullptr || phase.entry->scratch == nullptr) continue;
    phase.entry->scratch(context, phase, sizes_of_ops);
  }
  // Sized for the widest block of few rows (max_width) and the rest of its last panel.
  const uint64_t results = max_rows() * whole_panels(max_block + kFloatPanelRows - 1);
  scratch_.resize(std::max(1u, host_.num_threads(host_.user)));
  const auto carve = [&](Carver& carver) {
    for (ThreadScratch& s : scratch_) {
      s.y = carver.take<float>(results);
      s.y2 = carver.take<float>(glu ? results : 0);
      s.tile = carver.take<float>(static_cast<uint64_t>(kTileDepth) * kFloatPanelRows);
      s.chunk = carver.take<float>(floats ? kChunkFloats : 0);
      s.attention = carver.take<float>(sizes_of_ops.attention);
      s.index_scores = carver.take<float>(sizes_of_ops.candidates > 0 ? kAttentionSpan : 0);
      s.candidates = carver.take<Candidate>(sizes_of_ops.candidates);
      s.selected = carver.take<uint8_t>(sizes_of_ops.area_bytes);
      s.areas = carver.take<const uint8_t*>(sizes_of_ops.areas);
      s.scores = carver.take<double>(sizes_of_ops.scores);
      s.recurrence = carver.take<float>(sizes_of_ops.recurrence);
    }
  };
  Carver sizes(nullptr);
  carve(sizes);
  scratch_memory_ = HostMemory(&host_, sizes.used(), TENON_MEMORY_SCRATCH, "scratch");
  Carver carver(bytes_of(scratch_memory_));
  carve(carver);
}

uint64_t Executable::row_granularity(uint32_t slot) const {
  const Weight& weight = weights_[slot];
  if (weight.matrix.data == nullptr) return 1;
  // Each expert starts a new panel: rows come in whole panels or whole experts.
  const uint64_t panel_rows = weight.matrix.layout->panel_rows;
  const bool several = weight.matrix.rows != plan_.slots[slot].slot.rows;
  return several && weight.matrix.rows % panel_rows != 0 ? weight.matrix.rows : panel_rows;
}

void Executable::check_rows(const RowsToLoad& rows) const {
  const auto require = [](bool holds, const char* problem) {
    if (!holds) backends::refuse(TENON_BACKEND_ARGUMENT, "load_rows: {}", problem);
  };
  require(rows.slot < weights_.size(), "the slot does not exist");
  const tenon_slot& slot = plan_.slots[rows.slot].slot;
  require(slot.kind == TENON_SLOT_WEIGHT, "the slot is not a weight");
  require(rows.first_row <= slot.rows && rows.num_rows <= slot.rows - rows.first_row,
          "the rows are outside the weight");
  const FormatInfo* format = find_format(slot.type);
  require(rows.size_bytes ==
              rows.num_rows * (slot.columns / format->block_values * format->block_bytes),
          "the size does not fit the rows");
  if (rows.num_rows == 0) return;
  const uint64_t granularity = row_granularity(rows.slot);
  const bool to_the_end = rows.first_row + rows.num_rows == slot.rows;
  require(rows.first_row % granularity == 0 && (rows.num_rows % granularity == 0 || to_the_end),
          "the rows are no multiple of row_granularity");
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                           uint64_t size_bytes) {
  const RowsToLoad rows{slot, first_row, num_rows, static_cast<const uint8_t*>(blocks), size_bytes};
  check_rows(rows);
  if (rows.num_rows == 0) return;
  Weight& weight = weights_[rows.slot];
  const uint64_t depth = weight.matrix.depth;
  const uint64_t row_bytes = size_bytes / num_rows;
  for (uint64_t i = 0; weight.vector != nullptr && i < num_rows; ++i) {
    weight.matrix.format->decode_row(rows.blocks + i * row_bytes,
                                     weight.vector + (first_row + i) * depth, depth);
  }
  if (weight.matrix.data != nullptr) pack(weight, rows);
}

/// Packs rows, possibly of several experts.
void Executable::pack(const Weight& weight, const RowsToLoad& rows) const noexcept {
  const uint64_t row_bytes = rows.size_bytes / rows.num_rows;
  for (uint64_t i = 0; i < rows.num_rows;) {
    const uint64_t first = (rows.first_row + i) % weight.matrix.rows;
    const uint64_t count = std::min(rows.num_rows - i, weight.matrix.rows - first);
    pack_rows(weight.expert((rows.first_row + i) / weight.matrix.rows), first, count,
              rows.blocks + i * row_bytes);
    i += count;
  }
}

void Executable::seal() {
  if (sealed_) return;
  std::vector<bool> transposed(weights_.size());
  for (const tenon_op& op : program_.ops()) {
    const uint32_t slot = state_table(operations_.entry_of(program_.view(), op), op);
    if (slot == TENON_NO_SLOT || transposed[slot]) continue;
    transposed[slot] = true;
    const uint64_t rows = plan_.slots[slot].slot.rows;
    const uint64_t columns = plan_.slots[slot].slot.columns;
    const std::vector<float> loaded(weights_[slot].vector, weights_[slot].vector + rows * columns);
    for (uint64_t i = 0; i < loaded.size(); ++i) {
      weights_[slot].vector[i % columns * rows + i / columns] = loaded[i];
    }
  }
  sealed_ = true;
}

void Executable::allocate_missing_block() {
  uint64_t largest = 0;
  for (uint32_t g = 0; g < program_.groups().size(); ++g) {
    if (program_.groups()[g].window > 0) largest = std::max(largest, block_bytes(g));
  }
  missing_block_ = HostMemory(&host_, largest, TENON_MEMORY_SCRATCH, "a missing block");
}

void Executable::bind(const tenon_step& step) {
  for (const uint32_t slot : program_.bound()) {
    activations_[slot].f32 = static_cast<float*>(backends::bound_memory(step, slot));
  }
  for (size_t slot = 0; slot < activations_.size(); ++slot) {
    const uint32_t row_class = plan_.slots[slot].slot.row_class;
    activations_[slot].quantised.num_rows = backends::num_rows(step, row_class);
  }
}

void Executable::prepare(const tenon_step& step) {
  state_.step = &step;
  bind(step);
  for (ExpertPlan& plan : expert_plans_) plan.clear();
  for (size_t g = 0; g < program_.groups().size(); ++g) {
    state_.blocks[g].clear();
    state_.first_block[g].clear();
  }
  const Strided<tenon_step_sequence> sequences = sequences_of(step);
  for (uint32_t s = 0; s < sequences.size(); ++s) {
    const tenon_step_sequence& sequence = sequences[s];
    for (uint32_t i = 0; i < sequence.num_tokens; ++i) {
      state_.token_sequence[sequence.first_token + i] = s;
      state_.token_position[sequence.first_token + i] = sequence.past + i;
    }
    for (uint32_t g = 0; g < program_.groups().size(); ++g) find_blocks(sequence, g);
  }
}

/// Finds the block addresses of a sequence in a group; in a STATE group, the block read (null means
/// zeros) and the block written.
void Executable::find_blocks(const tenon_step_sequence& sequence, uint32_t g) {
  const tenon_cache_group& group = program_.groups()[g];
  const tenon_cache_pool& pool = state_.step->pools[g];
  const uint64_t bytes = block_bytes(g);
  const auto address = [&](uint32_t block) -> const uint8_t* {
    const backends::HostBuffer* slab =
        backends::host_buffer(pool.slabs[block / pool.blocks_per_slab]);
    return bytes_of(slab->memory) + block % pool.blocks_per_slab * bytes;
  };
  state_.first_block[g].push_back(static_cast<uint32_t>(state_.blocks[g].size()));
  if (sequence.num_tokens == 0) return;  // skips tables that were not checked
  if (group.kind == TENON_CACHE_STATE) {
    const backends::StateBlocks blocks = backends::state_blocks(sequence, g);
    state_.blocks[g].push_back(blocks.read == TENON_NO_BLOCK ? nullptr : address(blocks.read));
    state_.blocks[g].push_back(address(blocks.write));
    return;
  }
  const uint64_t first = backends::first_block(sequence, group);
  const uint64_t end = backends::num_blocks(sequence, group);
  for (uint64_t b = 0; b < first; ++b) state_.blocks[g].push_back(bytes_of(missing_block_));
  for (uint64_t b = first; b < end; ++b) {
    state_.blocks[g].push_back(address(sequence.block_tables[g][b]));
  }
}

uint64_t Executable::run(const tenon_step& step) {
  if (!sealed_) backends::refuse(TENON_BACKEND_STATE, "run: the executable is not sealed");
  if (under_way_) {
    backends::refuse(TENON_BACKEND_STATE, "run: the last step was not waited for");
  }
  backends::check_step(program_, step, block_bytes_);
  if (step.num_tokens > 0 || step.num_sequences > 0) {
    prepare(step);
    prepare_attention(step);
    run_phases();
  }
  under_way_ = true;
  return ++last_ticket_;
}

void Executable::wait(uint64_t ticket) {
  if (!under_way_ || ticket != last_ticket_) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "wait: no step has ticket {}", ticket);
  }
  under_way_ = false;
}

void Executable::run_phases() {
  for (size_t p = 0; p < plan_.phases.size(); ++p)
    next_item_[p].store(0, std::memory_order_relaxed);
  PhaseRunner runner(*this);
  const auto end = static_cast<uint32_t>(plan_.phases.size());
  for (uint32_t first = 0; first < end;) {
    uint32_t last = first;
    while (last < end && !plan_.phases[last].is_plain()) ++last;
    if (last > first) run_job(runner, first, last);
    if (last < end) run_plain(plan_.phases[last]);
    first = last + 1;
  }
  state_.step = nullptr;
}

void Executable::run_plain(const Phase& phase) {
  plain_->run(phase.op, *state_.step);
  if (phase.op.kind != TENON_OP_MOE_ROUTE) return;
  const auto* ids = reinterpret_cast<const int32_t*>(activations_[phase.op.outputs[0]].f32);
  expert_plans_[phase.route].sort(ids, backends::num_rows(*state_.step, phase.row_class));
}

void Executable::run_job(PhaseRunner& runner, uint32_t first, uint32_t end) {
  // The last phase always gets a barrier: a phase for one thread runs at the barrier after it.
  state_.barriers.clear();
  for (uint32_t p = first; p < end; ++p) {
    if (p + 1 == end || !runner.is_for_one(p)) state_.barriers.push_back(p);
  }
  struct Job {
    PhaseRunner& runner;
    const std::vector<uint32_t>& barriers;
    uint32_t first;
  } phases{runner, state_.barriers, first};
  tenon_parallel_job job{};
  job.struct_size = sizeof(job);
  job.num_phases = static_cast<uint32_t>(state_.barriers.size());
  job.arg = &phases;
  job.run = [](void* arg, uint32_t barrier, uint32_t thread, uint32_t num_threads) {
    const Job& self = *static_cast<const Job*>(arg);
    self.runner.run(self.barriers[barrier], thread, num_threads);
  };
  job.before_phase = [](void* arg, uint32_t barrier) {
    const Job& self = *static_cast<const Job*>(arg);
    uint32_t phase = barrier == 0 ? self.first : self.barriers[barrier - 1] + 1;
    for (; phase < self.barriers[barrier]; ++phase) self.runner.run(phase, 0, 1);
    return self.runner.cancelled() ? TENON_BACKEND_CANCELLED : 0;
  };
  const int32_t stopped = host_.parallel(host_.user, &job);
  const bool cancelled = stopped == TENON_BACKEND_CANCELLED || runner.cancelled();
  if (cancelled) backends::refuse(TENON_BACKEND_CANCELLED, "the step was cancelled");
  if (stopped != 0) backends::fail_as_host(stopped);
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  switch (purpose) {
    case TENON_MEMORY_WEIGHTS:
      return weight_memory_.size();
    case TENON_MEMORY_SCRATCH:
      return activation_memory_.size() + scratch_memory_.size() + attention_partials_.size() +
             missing_block_.size() + (plain_ ? plain_->memory_bytes() : 0);
    default:
      return 0;
  }
}

}  // namespace tenon::cpu
