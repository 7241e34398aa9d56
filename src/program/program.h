// A program: the model's forward pass as plain data, an operation list over slots, verified and
// with a memory plan. Built once per model; what changes per step is in tenon_step. Nothing here
// computes.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/formats.h"
#include "tenon/backend.h"

namespace tenon {

/// Number of a slot in its program.
enum class Slot : uint32_t {};
inline constexpr Slot kNoSlot{TENON_NO_SLOT};

/// Sizes a step may have.
struct StepLimits {
  uint32_t max_tokens = 512;
  uint32_t max_outputs = 512;
};

/// A verified program. Immutable; owns everything its view points to.
class Program {
 public:
  /// The program as a backend receives it. Valid as long as this object.
  [[nodiscard]] const tenon_program& view() const { return view_; }
  [[nodiscard]] std::span<const tenon_slot> slots() const { return slots_; }
  [[nodiscard]] std::span<const tenon_op> ops() const { return ops_; }
  [[nodiscard]] std::span<const tenon_cache_group> groups() const { return groups_; }
  [[nodiscard]] std::span<const uint32_t> results() const { return results_; }

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

 private:
  friend class ProgramBuilder;
  friend class ProgramCutter;
  Program() = default;
  /// Fills the view from the vectors, verifies the whole and plans the memory.
  void complete(Slot logits, const StepLimits& limits, uint32_t position_parts,
                uint32_t token_history);
  std::vector<std::unique_ptr<const std::string>> names_;  // by slot; never move in memory
  std::vector<std::vector<double>> constants_;
  std::vector<std::vector<int64_t>> integers_;
  std::vector<tenon_slot> slots_;
  std::vector<tenon_op> ops_;
  std::vector<tenon_cache_group> groups_;
  std::vector<uint32_t> results_;
  tenon_program view_{};
};

/// A tenon_cache_group, of every position unless it says otherwise.
struct CacheGroup {
  uint32_t layers = 0;
  uint32_t kv_heads = 0;
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t type = TENON_TYPE_F16;
  uint32_t block_tokens = 32;
  uint32_t window = 0;               ///< positions that are kept; 0: all. Not of CROSS
  uint32_t kind = TENON_CACHE_FULL;  ///< with a window, FULL becomes WINDOW
  uint32_t stride = 0;               ///< LATENT: positions that a row stands for; 0: one
};

/// An operation without parameters, inputs and outputs.
tenon_op new_op(uint32_t kind);

/// Builds a program one operation at a time; every call checks the shapes it is given and throws
/// Error(Internal) naming the operation, since an architecture, not a file, calls it.
class ProgramBuilder {
 public:
  /// A weight tensor [rows, columns]; the same name gives the same slot (tied embeddings).
  Slot weight(std::string_view name, Format format, uint64_t rows, uint64_t columns);
  /// A constant row [1, n] of f64.
  Slot constant(std::string_view name, std::span<const double> values);
  /// A constant [rows, columns] of i64.
  Slot integers(std::string_view name, std::span<const int64_t> values, uint64_t columns);
  /// One constant [1, n] of i64 for all who share the values.
  Slot shared_integers(std::string_view name,
                       const std::shared_ptr<const std::vector<int64_t>>& values);
  /// An activation [T, R or S, columns] that each step brings.
  ///   row_class  TENON_ROWS_*
  Slot input(std::string_view name, uint32_t row_class, uint64_t columns);
  /// A cache group; returns its number.
  uint32_t cache_group(const CacheGroup& group);
  /// A cache group of kind STATE: `values` f32 values in each layer. Returns its number.
  uint32_t state_group(uint32_t layers, uint32_t values);

  /// Positions have this many parts: 1 (also unless called) or 3. Before the first operation.
  void position_parts(uint32_t parts);

  /// Steps of the program tell at least so many tokens before those of each sequence.
  void look_back(uint32_t tokens);

  using Outputs = std::array<Slot, TENON_MAX_OUTPUTS>;
  /// Checks an operation and appends it, with outputs of the shapes that its rule gives. Trailing
  /// inputs that are absent are not counted. Operations have functions of their own in operations.h.
  Outputs append(tenon_op op, std::initializer_list<Slot> inputs);
  /// append() for an operation with one output.
  Slot add(tenon_op op, std::initializer_list<Slot> inputs) { return append(op, inputs)[0]; }
  /// Columns of a slot; 0 where there is none.
  [[nodiscard]] uint64_t columns(Slot slot) const;

  /// The activation leaves the step, besides being read by operations.
  void result(Slot slot);
  /// Verifies the whole, plans the memory, and gives the program with `logits` [R, vocab] among its
  /// results; kNoSlot: there are none.
  [[nodiscard]] Program finish(Slot logits, const StepLimits& limits) &&;

 private:
  Slot add_slot(tenon_slot slot, std::string_view name);

  Program program_;
  std::map<const void*, Slot> shared_integers_;  // by their address
  uint32_t position_parts_ = 1;
  uint32_t token_history_ = 0;
};

/// Checks a program as a backend or a test may receive it (slot numbers, kinds, shapes, each
/// activation written once before it is read, cache layers written before attention reads them,
/// parts of a state that do not overlap, results, limits). Throws Error(Internal) naming the
/// operation by number and kind.
void verify_program(const tenon_program& program);

/// Fills plan_offset of the activations so that slots alive at the same time do not overlap, and
/// returns the bytes of the area. Offsets are multiples of 64.
///   results  [results] slots that live elsewhere
uint64_t plan_memory(std::span<tenon_slot> slots, std::span<const tenon_op> ops,
                     std::span<const uint32_t> results, const StepLimits& limits);

/// Checks a step against a verified program as far as numbers can tell: counts within the limits,
/// token ids within the embedding tables, sequences that cover the tokens without overlap, block
/// numbers within the pools, no block twice where it would be written, no state read that another
/// sequence writes. Throws Error(Internal). For tests and debugging builds; costs O(tokens + blocks).
void verify_step(const tenon_program& program, const tenon_step& step);

}  // namespace tenon
