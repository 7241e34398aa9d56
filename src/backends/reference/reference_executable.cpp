#include "backends/reference/reference_executable.h"

#include <algorithm>
#include <cstring>

#include "backends/common/sizes.h"
#include "backends/common/step_rules.h"
#include "backends/reference/reference_cache.h"
#include "backends/reference/reference_ops.h"
#include "backends/reference/reference_step.h"
#include "quant/formats.h"

namespace tenon::reference {

using backends::add;
using backends::multiply;
using backends::refuse;

namespace {

constexpr uint64_t kAlignment = 64;
/// In the list of drawn tokens: the row has none.
constexpr int32_t kNotDrawn = INT32_MIN;

}  // namespace

void StepScratch::reserve_values(const tenon_host* host, uint64_t num_values) {
  const uint64_t bytes = multiply(num_values, sizeof(double), "scratch");
  if (bytes <= thread_values.size()) return;
  thread_values = HostMemory();
  thread_values = HostMemory(host, bytes, TENON_MEMORY_SCRATCH, "scratch");
}

Executable::Executable(const tenon_host* host, const tenon_program& program)
    : host_(host), program_(program) {
  check_operations();
  for (uint32_t i = 0; i < program.num_groups; ++i) block_bytes_.push_back(bytes_of_block(i));
  weights_.resize(num_slots());
  row_bytes_.assign(num_slots(), 0);
  offsets_.assign(num_slots(), 0);
  rows_loaded_ = std::make_unique<std::atomic<uint64_t>[]>(num_slots());
  for (uint32_t i = 0; i < num_slots(); ++i) {
    if (slot(i).kind == TENON_SLOT_WEIGHT) allocate_weight(i);
  }
  place_activations();
  scratch_.places.resize(program_.view().max_tokens);
  scratch_.bound_values.resize(num_slots());
}

Executable::~Executable() = default;

void Executable::check_operations() const {
  for (uint32_t i = 0; i < ops().size(); ++i) {
    const auto shape = find_shape(program(), i);
    if (shape && fits(*shape)) continue;
    const Operation* operation = find_operation(ops()[i].kind);
    refuse(TENON_BACKEND_UNSUPPORTED, "operation {} ({}) is not supported as given", i,
           operation == nullptr ? "unknown" : operation->name);
  }
  for (const uint32_t result : results()) {
    if (result < num_slots() && slot(result).kind == TENON_SLOT_ACTIVATION) continue;
    refuse(TENON_BACKEND_ARGUMENT, "program: a result is no activation");
  }
}

bool Executable::is_bound(uint32_t number) const {
  return std::find(program_.bound().begin(), program_.bound().end(), number) !=
         program_.bound().end();
}

void Executable::allocate_weight(uint32_t slot) {
  const tenon_slot& info = this->slot(slot);
  const FormatInfo* format = find_format(info.type);
  const auto bytes = format == nullptr ? std::nullopt : row_bytes(*format, info.columns);
  if (!bytes) {
    refuse(TENON_BACKEND_UNSUPPORTED, "weight \"{}\" has type {} and {} columns",
           info.name, info.type, info.columns);
  }
  row_bytes_[slot] = *bytes;
  weights_[slot] =
      HostMemory(host_, multiply(*bytes, info.rows, info.name), TENON_MEMORY_WEIGHTS, info.name);
}

// The host's plan is for f32; the same plan with every offset doubled is one for f64. Slots without
// a plan get their own place after it.
void Executable::place_activations() {
  uint64_t area = multiply(program().activation_bytes, 2, "activations");
  const uint64_t planned = area;
  for (uint32_t i = 0; i < num_slots(); ++i) {
    const tenon_slot& info = slot(i);
    if (info.kind != TENON_SLOT_ACTIVATION || is_bound(i)) continue;
    const uint64_t values =
        multiply(backends::max_rows(program(), info.row_class), info.columns, info.name);
    const uint64_t bytes = multiply(values, sizeof(double), info.name);
    const bool has_plan = info.plan_offset != TENON_NO_PLAN;
    offsets_[i] = has_plan ? multiply(info.plan_offset, 2, info.name) : area;
    const uint64_t end = add(offsets_[i], bytes, info.name);
    if (has_plan && (end > planned || offsets_[i] % alignof(double) != 0)) {
      refuse(TENON_BACKEND_ARGUMENT, "slot \"{}\" leaves the planned area", info.name);
    }
    if (!has_plan) area = add(end, kAlignment - 1, info.name) / kAlignment * kAlignment;
  }
  area_ = HostMemory(host_, area, TENON_MEMORY_SCRATCH, "activations");
}

double* Executable::activation(uint32_t slot) const {
  return reinterpret_cast<double*>(area_.data() + offsets_[slot]);
}

uint64_t Executable::bytes_of_block(uint32_t group) const {
  const tenon_cache_group& info = this->group(group);
  if (info.kind == TENON_CACHE_STATE) {
    const uint64_t values = multiply(info.layers, info.state_values, "cache block");
    return multiply(values, sizeof(float), "cache block");
  }
  const uint64_t key = cache_head_bytes(info.type, info.key_dim);
  const uint64_t value =
      info.kind == TENON_CACHE_LATENT ? 0 : cache_head_bytes(info.type, info.value_dim);
  const uint64_t head = key + value;
  const uint64_t rows = multiply(info.layers, info.block_tokens, "cache block");
  return multiply(multiply(info.kv_heads, head, "cache block"), rows, "cache block");
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                           uint64_t size_bytes) {
  if (sealed_) refuse(TENON_BACKEND_STATE, "load_rows after seal");
  if (slot >= num_slots() || this->slot(slot).kind != TENON_SLOT_WEIGHT) {
    refuse(TENON_BACKEND_ARGUMENT, "slot {} is no weight", slot);
  }
  const tenon_slot& info = this->slot(slot);
  if (first_row > info.rows || num_rows > info.rows - first_row) {
    refuse(TENON_BACKEND_ARGUMENT, "weight \"{}\": {} rows from {} of {}", info.name,
           num_rows, first_row, info.rows);
  }
  if (size_bytes != num_rows * row_bytes_[slot] || (size_bytes > 0 && blocks == nullptr)) {
    refuse(TENON_BACKEND_ARGUMENT, "weight \"{}\": {} bytes for {} rows of {}",
           info.name, size_bytes, num_rows, row_bytes_[slot]);
  }
  if (size_bytes == 0) return;
  std::memcpy(weights_[slot].data() + first_row * row_bytes_[slot], blocks, size_bytes);
  rows_loaded_[slot].fetch_add(num_rows, std::memory_order_relaxed);
}

void Executable::seal() {
  for (uint32_t slot = 0; slot < num_slots(); ++slot) {
    if (this->slot(slot).kind != TENON_SLOT_WEIGHT) continue;
    const uint64_t loaded = rows_loaded_[slot].load(std::memory_order_relaxed);
    if (loaded < this->slot(slot).rows) {
      refuse(TENON_BACKEND_STATE, "weight \"{}\": {} of {} rows are loaded",
             this->slot(slot).name, loaded, this->slot(slot).rows);
    }
  }
  sealed_ = true;
}

uint64_t Executable::run(const tenon_step& step) {
  if (!sealed_) refuse(TENON_BACKEND_STATE, "run before seal");
  if (step_ticket_ > waited_ticket_) {
    refuse(TENON_BACKEND_STATE, "run before the last step was waited for");
  }
  const tenon_step known = with_drawn_tokens(step);
  step_ticket_ = TENON_NO_TICKET;
  StepRun(*this, known, scratch_).run();
  num_rows_ = step.num_outputs;
  drawn_.assign(num_rows_, kNotDrawn);
  return step_ticket_ = ++last_ticket_;
}

/// The step with the tokens that it names by their rows.
tenon_step Executable::with_drawn_tokens(const tenon_step& step) {
  tenon_step known = step;
  if (step.after == TENON_NO_TICKET || step.tokens == nullptr) return known;
  if (step.after != step_ticket_) {
    refuse(TENON_BACKEND_ARGUMENT, "step: after {}, not the last one", step.after);
  }
  tokens_.assign(step.tokens, step.tokens + step.num_tokens);
  for (int32_t& token : tokens_) {
    if (token >= 0) continue;
    const auto row = static_cast<uint32_t>(-1 - token);
    if (row >= num_rows_ || drawn_[row] == kNotDrawn) {
      refuse(TENON_BACKEND_ARGUMENT, "step: nothing was drawn for output row {} of {}", row,
             num_rows_);
    }
    token = std::max(drawn_[row], 0);
  }
  known.tokens = tokens_.data();
  return known;
}

uint64_t Executable::draw(uint64_t step, const Strided<tenon_draw>& draws) {
  const uint32_t logits = program().logits;
  if (step == TENON_NO_TICKET || step != step_ticket_ || logits == TENON_NO_SLOT) {
    refuse(TENON_BACKEND_ARGUMENT, "draw: {} is not the last step, or it has no logits", step);
  }
  const uint64_t vocab = slot(logits).columns;
  for (uint32_t i = 0; i < draws.size(); ++i) backends::check_draw(draws[i], num_rows_, vocab);
  const auto* values = reinterpret_cast<const double*>(scratch_.bound_values[logits].data());
  for (uint32_t i = 0; i < draws.size(); ++i) {
    const tenon_draw& draw = draws[i];
    row_.assign(values + draw.row * vocab, values + (draw.row + 1) * vocab);
    host_draw_.run(draw, row_);
    const bool is_token = draw.kind == TENON_DRAW_GREEDY || draw.kind == TENON_DRAW_DRAWN;
    if (is_token) drawn_[draw.row] = draw.drawn->token;
  }
  return ++last_ticket_;
}

void Executable::wait(uint64_t ticket) {
  if (waited_ticket_ == last_ticket_ || ticket != waited_ticket_ + 1) {
    refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not the next to be waited for", ticket);
  }
  ++waited_ticket_;
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  uint64_t bytes = 0;
  for (const HostMemory& weight : weights_) {
    if (weight.purpose() == purpose) bytes += weight.size();
  }
  for (const HostMemory& bound : scratch_.bound_values) {
    if (bound.purpose() == purpose) bytes += bound.size();
  }
  for (const HostMemory* scratch : {&area_, &scratch_.thread_values}) {
    if (scratch->purpose() == purpose) bytes += scratch->size();
  }
  return bytes;
}

}  // namespace tenon::reference
