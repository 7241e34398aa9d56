// The meeting of an architecture's wish list with the tensors of a file: presence, shape and format
// of each are checked, and what was found is remembered for the loader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "file/model_file.h"
#include "program/program.h"
#include "weights/bound_weight.h"

namespace tenon {

/// Asked by an architecture for one tensor after the other. A missing tensor gets a slot all the
/// same, so that `finish` can name several at once.
class TensorBinder {
 public:
  TensorBinder(const ModelFile& file, ProgramBuilder& builder);

  /// The weight [rows, columns] of this name. Throws Format when its shape differs and Unsupported
  /// when its type is no weight format.
  Slot matrix(std::string_view name, uint64_t rows, uint64_t columns);
  /// The same for a vector [columns].
  Slot vector(std::string_view name, uint64_t columns) { return matrix(name, 1, columns); }
  /// A matrix for each of `experts`, [experts, rows, columns] in the file, as one weight
  /// [experts * rows, columns].
  Slot expert_matrices(std::string_view name, uint64_t experts, uint64_t rows, uint64_t columns);
  /// kNoSlot when the file has no such tensor.
  Slot optional_matrix(std::string_view name, uint64_t rows, uint64_t columns);
  Slot optional_vector(std::string_view name, uint64_t columns) {
    return optional_matrix(name, 1, columns);
  }
  /// The values of a small tensor [columns] of f32 that becomes part of the program; empty when the
  /// file has none. Throws as matrix() does, and Format for a value that is not finite and above 0.
  std::vector<float> optional_divisors(std::string_view name, uint64_t columns);

  /// What was bound. Throws Format naming the first three tensors that are missing, or that no one
  /// asked for.
  [[nodiscard]] std::vector<BoundWeight> finish() &&;

 private:
  /// Marks the tensor as used and checks it.
  const TensorInfo& take(const TensorInfo& tensor, uint64_t rows, uint64_t columns);

  const ModelFile& file_;
  ProgramBuilder& builder_;
  std::vector<BoundWeight> bound_;
  std::vector<bool> used_;  // [tensors of the file]
  std::vector<std::string> missing_;
};

}  // namespace tenon
