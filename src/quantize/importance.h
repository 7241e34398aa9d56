// Importance matrices: mean squares of the inputs of products with weights, by which encoders weigh
// errors. Files are those of llama.cpp, in both forms.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "file/model_file.h"

namespace tenon {

/// Statistics of the inputs of one weight, or of a stack of weights of which each has its own.
struct WeightInputs {
  std::string weight;         ///< name of the weight's tensor
  std::vector<float> sums;    ///< [matrices, columns] sums of squares over the input rows
  std::vector<float> counts;  ///< [matrices] input rows; a single one counts for all matrices

  /// Adds a row of squares, or sums over `rows` rows. Both have equal sizes.
  void add(const WeightInputs& other);
};

class ImportanceMatrix {
 public:
  std::vector<WeightInputs> weights;  ///< no name twice
  std::vector<std::string> datasets;  ///< texts that were computed, by their names
  uint32_t chunks = 0;                ///< parts of the texts that were computed
  uint32_t chunk_tokens = 0;  ///< tokens per part; 0 if counts are of parts, as in old files

  /// Reads a GGUF file or its predecessor. Throws Io, Format for a damaged file, another kind of
  /// file and values that are negative or not finite, naming the weight.
  static ImportanceMatrix read(const std::shared_ptr<System>& system, const std::string& path);
  /// Writes a GGUF file, complete or not at all. Throws Io.
  void write(const std::shared_ptr<System>& system, const std::string& path) const;

  /// Adds another matrix of the same model. Throws Argument if sizes of a weight differ.
  void add(const ImportanceMatrix& other);

  /// Importance of each value of `tensor` [matrices, columns]: 1 on average within a matrix, none 0.
  /// Empty if nothing is known of the tensor. A gate takes what is known of the matrix beside it,
  /// whose input is the same. Throws Argument if the sizes differ.
  [[nodiscard]] std::vector<float> of(const TensorInfo& tensor) const;
  /// Throws what of() would.
  void expect_sizes_of(const TensorInfo& tensor) const;
  /// Whether of() has a result.
  [[nodiscard]] bool knows(std::string_view tensor) const { return find(tensor) != nullptr; }

 private:
  void count_tokens(uint32_t tokens);
  [[nodiscard]] const WeightInputs* find(std::string_view tensor) const;
};

}  // namespace tenon
