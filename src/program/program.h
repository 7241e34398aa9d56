// A program: the model's forward pass as plain data, an operation list over slots, verified and
// with a memory plan. Built once per model; tenon_step holds the data of each step.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quant/formats.h"
#include "tenon/backend.h"

namespace tenon {

/// Index of a slot in its program.
enum class Slot : uint32_t {};
inline constexpr Slot kNoSlot{TENON_NO_SLOT};

/// Largest step.
struct StepLimits {
  uint32_t max_tokens = 512;
  uint32_t max_outputs = 512;
};

/// The input of a product with a weight, as statistics read it (ProgramBuilder::watch_products).
struct WatchedProduct {
  uint32_t weight;  ///< slot
  /// Result with the squares of the input's values: means over the tokens of each sequence, or rows.
  uint32_t squares;
  uint32_t experts = TENON_NO_SLOT;  ///< result [T, used] i32 with the experts of each row
};

/// A verified program. Immutable; owns everything its view points to.
class Program {
 public:
  /// The program as backends receive it. Valid as long as this object.
  [[nodiscard]] const tenon_program& view() const { return view_; }
  [[nodiscard]] std::span<const tenon_slot> slots() const { return slots_; }
  [[nodiscard]] std::span<const tenon_op> ops() const { return ops_; }
  [[nodiscard]] std::span<const tenon_cache_group> groups() const { return groups_; }
  [[nodiscard]] std::span<const uint32_t> results() const { return results_; }
  /// Empty unless the builder watched products.
  [[nodiscard]] std::span<const WatchedProduct> watched() const { return watched_; }

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

 private:
  friend class ProgramBuilder;
  friend class ProgramCutter;
  Program() = default;
  /// Fills the view from the vectors, verifies the program and plans its memory.
  void complete(Slot logits, const StepLimits& limits, uint32_t position_parts,
                uint32_t token_history);
  std::vector<std::unique_ptr<const std::string>> names_;  // by slot; stable addresses
  std::vector<std::vector<double>> constants_;
  std::vector<std::vector<int64_t>> integers_;
  std::vector<tenon_slot> slots_;
  std::vector<tenon_op> ops_;
  std::vector<tenon_cache_group> groups_;
  std::vector<uint32_t> results_;
  std::vector<WatchedProduct> watched_;
  tenon_program view_{};
};

/// A tenon_cache_group; keeps all positions by default.
struct CacheGroup {
  uint32_t layers = 0;
  uint32_t kv_heads = 0;
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t type = TENON_TYPE_F16;
  uint32_t block_tokens = 32;
  uint32_t window = 0;               ///< positions kept; 0 means all; unused by CROSS
  uint32_t kind = TENON_CACHE_FULL;  ///< FULL with a window becomes WINDOW
  uint32_t stride = 0;               ///< LATENT: positions per row; 0 means 1
};

/// An operation of a kind, otherwise empty.
tenon_op new_op(uint32_t kind);

/// Builds a program one operation at a time. Each call checks shapes and throws Error(Internal)
/// that names the operation: callers are architectures, not files.
class ProgramBuilder {
 public:
  /// A weight [rows, columns]; equal names give the same slot (tied embeddings).
  Slot weight(std::string_view name, Format format, uint64_t rows, uint64_t columns);
  /// A constant row [1, n] f64.
  Slot constant(std::string_view name, std::span<const double> values);
  /// A constant [rows, columns] i64.
  Slot integers(std::string_view name, std::span<const int64_t> values, uint64_t columns);
  /// A constant [1, n] i64, shared by all users of `values`.
  Slot shared_integers(std::string_view name,
                       const std::shared_ptr<const std::vector<int64_t>>& values);
  /// An activation [T, R or S, columns] bound by each step.
  ///   row_class  TENON_ROWS_*
  Slot input(std::string_view name, uint32_t row_class, uint64_t columns);
  /// Adds a cache group; returns its index.
  uint32_t cache_group(const CacheGroup& group);
  /// Adds a STATE cache group with `values` f32 values per layer; returns its index.
  uint32_t state_group(uint32_t layers, uint32_t values);

  /// Sets the parts per position: 1 (default) or 3. Call before the first operation.
  void position_parts(uint32_t parts);

  /// Requires steps to provide at least this many tokens before each sequence.
  void look_back(uint32_t tokens);

  /// Adds results with the squares of the inputs of all products with weights that follow
  /// (Program::watched), for statistics.
  void watch_products() { watches_ = true; }

  using Outputs = std::array<Slot, TENON_MAX_OUTPUTS>;
  /// Checks an operation and appends it, with outputs shaped by its rule. Trailing absent inputs
  /// are not counted. operations.h has a function per operation.
  Outputs append(tenon_op op, std::initializer_list<Slot> inputs);
  /// Calls append() for an operation with one output.
  Slot add(tenon_op op, std::initializer_list<Slot> inputs) { return append(op, inputs)[0]; }
  /// Called after each linear, whose readers get its result in place of `y`.
  using AfterLinear = std::function<Slot(Slot x, Slot weight, Slot y)>;
  void after_linear(AfterLinear call) { after_linear_ = std::move(call); }
  [[nodiscard]] Slot adapted(Slot x, Slot weight, Slot y) const {
    return after_linear_ ? after_linear_(x, weight, y) : y;
  }

  /// TENON_ROWS_* of an activation or input.
  [[nodiscard]] uint32_t row_class(Slot slot) const;
  [[nodiscard]] std::string_view name(Slot slot) const;
  /// Columns of a slot; 0 for kNoSlot.
  [[nodiscard]] uint64_t columns(Slot slot) const;

  /// Marks an activation as a result of the step; operations may read it, too.
  void result(Slot slot);
  /// Verifies the program, plans its memory and returns it, with `logits` [R, vocab] as a result.
  /// kNoSlot means no logits.
  [[nodiscard]] Program finish(Slot logits, const StepLimits& limits) &&;

 private:
  Slot add_slot(tenon_slot slot, std::string_view name);
  void watch(const tenon_op& product);
  /// The squares of `x` as a result: means over each sequence if `mean`.
  uint32_t squares_of(uint32_t x, bool mean);

  Program program_;
  bool watches_ = false;
  std::map<std::pair<uint32_t, bool>, uint32_t> squares_;  // by input and `mean`
  std::map<const void*, Slot> shared_integers_;            // by address of the values
  uint32_t position_parts_ = 1;
  uint32_t token_history_ = 0;
  AfterLinear after_linear_;
};

/// Checks a program as received by a backend or a test: slot numbers, kinds, shapes, activations
/// written once and before they are read, cache layers written before attention reads them, state
/// parts without overlap, results, limits. Throws Error(Internal) that names the operation by
/// number and kind.
void verify_program(const tenon_program& program);

/// Sets plan_offset of the activations so that slots alive at once do not overlap, and returns the
/// area's bytes. Offsets are multiples of 64.
///   results  [results] slots stored elsewhere
uint64_t plan_memory(std::span<tenon_slot> slots, std::span<const tenon_op> ops,
                     std::span<const uint32_t> results, const StepLimits& limits);

/// Checks a step against a verified program as far as numbers allow: counts within limits, token
/// ids within embedding tables, sequences that cover the tokens without overlap, block numbers
/// within pools, no block written twice, no state read that another sequence writes. Throws
/// Error(Internal). For tests and debug builds; O(tokens + blocks).
void verify_step(const tenon_program& program, const tenon_step& step);

}  // namespace tenon
