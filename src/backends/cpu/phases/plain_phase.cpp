#include "backends/cpu/phases/plain_phase.h"

#include <algorithm>
#include <vector>

#include "backends/common/plain/plain_operations.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/layouts/state_tiles.h"

namespace tenon::cpu {
namespace {

struct PlainMath {
  using Real = float;
};

}  // namespace

/// An executable in the interface of plain::LoadedProgram.
class PlainProgram {
 public:
  explicit PlainProgram(const Executable& executable)
      : x_(executable), numbers_(executable.program_.slots().size()) {
    for (const Phase& phase : x_.plan_.phases) {
      if (!phase.is_plain()) continue;
      for (const uint32_t slot : phase.op.inputs) reserve_numbers(slot);
      for (const uint32_t slot : phase.op.outputs) reserve_numbers(slot);
    }
  }

  [[nodiscard]] const tenon_host* host() const { return &x_.host_; }
  [[nodiscard]] static const plain::OperationTable<PlainMath>& operations();
  [[nodiscard]] const backends::ProgramCopy& copy() const { return x_.program_; }
  [[nodiscard]] const tenon_program& view() const { return x_.program_.view(); }
  [[nodiscard]] const tenon_slot& slot(uint32_t slot) const { return x_.program_.slots()[slot]; }
  [[nodiscard]] const tenon_cache_group& group(uint32_t group) const {
    return x_.program_.groups()[group];
  }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return x_.block_bytes(group); }
  [[nodiscard]] uint64_t state_layer_values(uint32_t number) const {
    return cpu::state_layer_values(group(number));
  }
  /// Slots bound by steps are ordinary activations.
  [[nodiscard]] bool is_bound(uint32_t) const { return false; }
  /// Activation memory; for i32 slots, the f32 copy made by read_numbers() and used by
  /// write_numbers().
  [[nodiscard]] float* activation(uint32_t slot) const {
    const HostMemory& numbers = numbers_[slot];
    return numbers.size() > 0 ? reinterpret_cast<float*>(numbers.data())
                              : x_.activations_[slot].f32;
  }
  void weight_row(uint32_t slot, uint64_t row, float* out) const noexcept {
    const Executable::Weight& weight = x_.weights_[slot];
    unpack_row(weight.expert(row / weight.matrix.rows), row % weight.matrix.rows, out);
  }

  /// Converts i32 slots to f32 for plain forms.
  void read_numbers(uint32_t slot, const tenon_step& step) const {
    if (!has_numbers(slot)) return;
    std::copy_n(reinterpret_cast<const int32_t*>(x_.activations_[slot].f32), values(slot, step),
                activation(slot));
  }
  void write_numbers(uint32_t slot, const tenon_step& step) const {
    if (!has_numbers(slot)) return;
    auto* numbers = reinterpret_cast<int32_t*>(x_.activations_[slot].f32);
    std::transform(activation(slot), activation(slot) + values(slot, step), numbers,
                   [](float value) { return static_cast<int32_t>(value); });
  }

  [[nodiscard]] uint64_t memory_bytes() const {
    uint64_t bytes = 0;
    for (const HostMemory& numbers : numbers_) bytes += numbers.size();
    return bytes;
  }

 private:
  [[nodiscard]] bool has_numbers(uint32_t slot) const {
    return slot != TENON_NO_SLOT && numbers_[slot].size() > 0;
  }
  [[nodiscard]] uint64_t values(uint32_t number, const tenon_step& step) const {
    return backends::num_rows(step, slot(number).row_class) * slot(number).columns;
  }
  void reserve_numbers(uint32_t number) {
    if (number == TENON_NO_SLOT || slot(number).type != TENON_TYPE_I32) return;
    const uint64_t rows = backends::max_rows(view(), slot(number).row_class);
    numbers_[number] = HostMemory(host(), rows * slot(number).columns * sizeof(float),
                                  TENON_MEMORY_SCRATCH, "numbers");
  }

  const Executable& x_;
  std::vector<HostMemory> numbers_;  // by slot
};

}  // namespace tenon::cpu

template <>
struct tenon::plain::ProgramOf<tenon::cpu::PlainMath> {
  using Type = tenon::cpu::PlainProgram;
};

namespace tenon::cpu {
namespace {

constexpr plain::OperationTable<PlainMath> kPlainOperations = plain::operations<PlainMath>();

}  // namespace

const plain::OperationTable<PlainMath>& PlainProgram::operations() { return kPlainOperations; }

struct PlainPhases::State {
  explicit State(const Executable& executable) : program(executable) {
    scratch.places.resize(program.view().max_tokens);
  }
  PlainProgram program;
  PlainMath math{};
  plain::StepScratch scratch{};
};

bool fits_plain(const tenon_program& program, uint32_t op) noexcept {
  return kPlainOperations.fits(program, op);
}

uint64_t plain_block_bytes(const tenon_cache_group& group) {
  return plain::cache_block_bytes(group);
}

PlainPhases::PlainPhases(const Executable& executable)
    : state_(std::make_unique<State>(executable)) {}
PlainPhases::~PlainPhases() = default;

void PlainPhases::run(const tenon_op& op, const tenon_step& step) {
  const PlainProgram& program = state_->program;
  plain::StepRun<PlainMath> run(program, state_->math, step, state_->scratch,
                                plain::StepRun<PlainMath>::Checked{});
  for (uint32_t i = 0; i < op.num_inputs; ++i) program.read_numbers(op.inputs[i], step);
  run.run(op);
  for (uint32_t o = 0; o < op.num_outputs; ++o) program.write_numbers(op.outputs[o], step);
}

uint64_t PlainPhases::memory_bytes() const {
  return state_->program.memory_bytes() + state_->scratch.memory_bytes(TENON_MEMORY_SCRATCH);
}

}  // namespace tenon::cpu
