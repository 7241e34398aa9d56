// The meeting of an architecture's wish list with the tensors of a file: presence, shape and format
// of each are checked, and what was found is remembered for the loader.
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

/// What a tensor is for.
enum class TensorRole {
  Matrix,
  Embedding,
  Output,
  Router,
  Norm,
  Bias,
  RopeDivisors,
  Convolution,  ///< a filter for each column
  Decay,        ///< negative: what a state is multiplied with is exp of it
  Numbers,      ///< whole, of something that there are some of
};

/// A tensor that an architecture asked for.
struct WantedTensor {
  std::string name;
  std::vector<uint64_t> shape;  ///< outermost first
  TensorRole role;
  bool required;
  uint32_t below = 0;  ///< Numbers: how many there are of what they count
};

/// Whether `name` is `pattern`, in which each * stands for any text: "blk.*.nextn.*".
bool matches_pattern(std::string_view name, std::string_view pattern);

/// Asked by an architecture for one tensor after the other. A missing tensor gets a slot all the
/// same, so that `finish` can name several at once, and so that an empty file gives the whole wish
/// list: `wanted`.
class TensorBinder {
 public:
  /// ignored: patterns of tensors that the file may hold and nobody asks for.
  TensorBinder(const ModelFile& file, ProgramBuilder& builder,
               std::vector<std::string> ignored = {});

  /// The weight of this name and shape: a vector [columns], a matrix [rows, columns] or a matrix
  /// for each of several experts [experts, rows, columns]. Throws Format when its shape differs and
  /// Unsupported when its type is no weight format.
  RowSource tensor(std::string_view name, std::vector<uint64_t> shape, TensorRole role);
  /// The i32 values of a tensor in f32, numbers below `below`, which are not checked. Throws as
  /// tensor(), and Unsupported where they are of another type.
  RowSource numbers(std::string_view name, std::vector<uint64_t> shape, uint32_t below);
  /// Nothing where the file has no such tensor.
  std::optional<RowSource> optional_tensor(std::string_view name,
                                           const std::vector<uint64_t>& shape, TensorRole role);
  /// From now on a name that was bound before is the same slot: of layers with the same tensors.
  void share_slots() { shares_slots_ = true; }
  /// The slot `name` that the loader fills from `source`.
  Slot bind(std::string_view name, const RowSource& source);

  /// tensor() and bind() at once, under the tensor's name.
  Slot weight(std::string_view name, std::vector<uint64_t> shape, TensorRole role);
  /// kNoSlot where the file has no such tensor.
  Slot optional_weight(std::string_view name, std::vector<uint64_t> shape, TensorRole role);

  /// The values of a small tensor [columns] of f32 that becomes part of the program; empty when the
  /// file has none. Throws as tensor(), and Format for a value that is not finite and above 0.
  std::vector<float> optional_divisors(std::string_view name, uint64_t columns);

  /// Whether the file has a tensor of this name.
  [[nodiscard]] bool has(std::string_view name) const { return file_.find(name) != nullptr; }
  /// The rows of a tensor of this name; nothing where the file has none.
  [[nodiscard]] std::optional<uint64_t> rows_of(std::string_view name) const;
  /// The columns of a tensor of this name; nothing where the file has none.
  [[nodiscard]] std::optional<uint64_t> columns_of(std::string_view name) const;
  /// Throws Unsupported, saying why, where the file has a tensor of this name: a variant that the
  /// architecture does not compute.
  void refuse_tensor(std::string_view name, std::string_view why) const;

  /// All that was asked for, in that order.
  [[nodiscard]] const std::vector<WantedTensor>& wanted() const { return wanted_; }

  /// Bound weights. Throws Format naming the first three missing tensors and the first three unused
  /// ones.
  [[nodiscard]] std::vector<BoundWeight> finish() &&;

 private:
  void want(std::string_view name, const std::vector<uint64_t>& shape, TensorRole role,
            bool required);
  /// Tail of messages about tensors: the file itself is complete.
  [[nodiscard]] std::string variant_text() const;
  /// Names of tensors without a reader.
  [[nodiscard]] std::vector<std::string> unused() const;
  /// Marks the tensor as used and checks its shape.
  void use(const TensorInfo& tensor, const std::vector<uint64_t>& shape);
  /// The same, and that it is a weight.
  const TensorInfo& take(const TensorInfo& tensor, const std::vector<uint64_t>& shape);
  /// What a missing tensor's sources point to.
  const TensorInfo& stand_in(std::string_view name, const std::vector<uint64_t>& shape);

  const ModelFile& file_;
  ProgramBuilder& builder_;
  std::vector<std::string> ignored_;
  std::vector<BoundWeight> bound_;
  bool shares_slots_ = false;
  std::map<std::string, Slot, std::less<>> slots_;  // by name, where they are shared
  std::vector<bool> used_;                          // [tensors of the file]
  std::vector<WantedTensor> wanted_;
  std::vector<std::string> missing_;
  std::deque<TensorInfo> stand_ins_;  // for the missing ones; sources point to them
};

}  // namespace tenon
