// Matches an architecture's requests with the tensors of a file: checks presence, shape and format,
// and records bindings for the loader.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file/model_file.h"
#include "program/program.h"
#include "weights/bound_weight.h"

namespace tenon {

/// Purpose of a tensor.
enum class TensorRole {
  Matrix,
  Embedding,
  Output,
  Router,
  Norm,
  Bias,
  RopeDivisors,
  Convolution,  ///< a filter per column
  Decay,        ///< negative; a state is multiplied by its exp
  Numbers,      ///< integers below a bound, such as indices of experts
};

/// A tensor requested by an architecture.
struct WantedTensor {
  std::string name;
  std::vector<uint64_t> shape;  ///< outermost first
  TensorRole role;
  bool required;
  uint32_t below = 0;  ///< Numbers: exclusive upper bound
};

/// True if `name` matches `pattern`, in which each * matches any text: "blk.*.nextn.*".
bool matches_pattern(std::string_view name, std::string_view pattern);

/// Takes an architecture's requests for tensors. Missing tensors get slots, too, so that `finish`
/// can report several at once. For an empty file, `wanted` is the complete list of requests.
class TensorBinder {
 public:
  /// ignored: patterns of tensors that the file may hold without a request.
  TensorBinder(const ModelFile& file, ProgramBuilder& builder,
               std::vector<std::string> ignored = {});

  /// Requests a weight by name and shape: a vector [columns], a matrix [rows, columns] or a matrix
  /// per expert [experts, rows, columns]. Throws Format for another shape, Unsupported for a type
  /// that is no weight format.
  RowSource tensor(std::string_view name, std::vector<uint64_t> shape, TensorRole role);
  /// Requests a tensor of i32, converted to f32. Values should be below `below`; they are not
  /// checked. Throws like tensor(), and Unsupported for another type.
  RowSource numbers(std::string_view name, std::vector<uint64_t> shape, uint32_t below);
  /// Like tensor(), but nothing if the file lacks the tensor.
  std::optional<RowSource> optional_tensor(std::string_view name,
                                           const std::vector<uint64_t>& shape, TensorRole role);
  /// From now on, binding a bound name again returns its slot: for layers that share tensors.
  void share_slots() { shares_slots_ = true; }
  /// From now on, weights in formats of memory are bound decoded.
  void decode_packed() { decodes_packed_ = true; }
  /// Makes the slot `name`, which the loader fills from `source`.
  Slot bind(std::string_view name, const RowSource& source);

  /// Calls tensor() and bind() with the tensor's name.
  Slot weight(std::string_view name, std::vector<uint64_t> shape, TensorRole role);
  /// Like weight(), but kNoSlot if the file lacks the tensor.
  Slot optional_weight(std::string_view name, std::vector<uint64_t> shape, TensorRole role);

  /// Values of a small f32 tensor [columns], which become part of the program; empty if the file
  /// lacks it. Throws like tensor(), and Format for values that are not finite and positive.
  std::vector<float> optional_divisors(std::string_view name, uint64_t columns);

  [[nodiscard]] bool has(std::string_view name) const { return file_.find(name) != nullptr; }
  /// Rows of the tensor of this name; nothing if the file lacks it.
  [[nodiscard]] std::optional<uint64_t> rows_of(std::string_view name) const;
  /// Columns of the tensor of this name; nothing if the file lacks it.
  [[nodiscard]] std::optional<uint64_t> columns_of(std::string_view name) const;
  /// Throws Unsupported with the reason if the file has this tensor: the architecture does not
  /// support the variant.
  void refuse_tensor(std::string_view name, std::string_view why) const;

  /// Source of a bound slot; null for another slot. Valid until the next bind().
  [[nodiscard]] const RowSource* source_of(Slot slot) const;

  /// All requests, in order.
  [[nodiscard]] const std::vector<WantedTensor>& wanted() const { return wanted_; }

  /// Returns the bound weights. Throws Format naming the first three missing and the first three
  /// unused tensors.
  [[nodiscard]] std::vector<BoundWeight> finish() &&;

 private:
  void want(std::string_view name, const std::vector<uint64_t>& shape, TensorRole role,
            bool required);
  /// Tail of messages about missing or unused tensors: the file itself is complete.
  [[nodiscard]] std::string variant_text() const;
  /// Names of tensors without a request.
  [[nodiscard]] std::vector<std::string> unused() const;
  /// Marks the tensor as used and checks its shape.
  void use(const TensorInfo& tensor, const std::vector<uint64_t>& shape);
  /// Like use(), but also checks that the tensor is a weight.
  const TensorInfo& take(const TensorInfo& tensor, const std::vector<uint64_t>& shape);
  /// Placeholder of a missing tensor, for sources to point to.
  const TensorInfo& stand_in(std::string_view name, const std::vector<uint64_t>& shape);

  const ModelFile& file_;
  ProgramBuilder& builder_;
  std::vector<std::string> ignored_;
  std::vector<BoundWeight> bound_;
  bool shares_slots_ = false;
  bool decodes_packed_ = false;
  std::map<std::string, Slot, std::less<>> slots_;  // shared slots by name
  std::vector<bool> used_;                          // [tensors of the file]
  std::vector<WantedTensor> wanted_;
  std::vector<std::string> missing_;
  std::deque<TensorInfo> stand_ins_;  // placeholders of missing tensors; sources point to them
};

}  // namespace tenon
