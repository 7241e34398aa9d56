// Rows of a weight, however its folder stores them: as f32, or packed in a format of memory where
// there is one. The schemes stand in scheme_list.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "file/tensor_folder.h"
#include "quant/formats.h"
#include "weights/foreign/quant_config.h"

namespace tenon {

/// Rows (outputs) and columns (inputs) of a weight; the matrices of a stack follow one another.
struct MatrixSize {
  uint64_t rows = 0;
  uint64_t columns = 0;
  bool operator==(const MatrixSize&) const = default;
};

/// One weight. Immutable; reads from any thread. Holds the tensors' places, not their bytes.
class RowReader {
 public:
  virtual ~RowReader() = default;
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  [[nodiscard]] const MatrixSize& size() const { return size_; }
  /// Rows [first, first + count) into out [count * columns]. Throws Argument for rows that are not
  /// there, Io as TensorFolder::read, Format for indices that point outside a tensor.
  void read(uint64_t first, uint64_t count, std::span<float> out) const;

  /// The format that holds the rows bit for bit in about the bytes of the file; nothing for weights
  /// that are decoded.
  [[nodiscard]] virtual std::optional<Format> packed_format() const { return std::nullopt; }
  /// Rows [first, first + count) as blocks of packed_format(), which must be one. Throws as read().
  void read_packed(uint64_t first, uint64_t count, std::span<std::byte> out) const;

 protected:
  explicit RowReader(MatrixSize size) : size_(size) {}
  /// The rows exist; out has room for them.
  virtual void read_rows(uint64_t first, uint64_t count, float* out) const = 0;
  /// As read_rows, in packed_format().
  virtual void read_blocks(uint64_t first, uint64_t count, std::byte* out) const;

 private:
  void check_rows(uint64_t first, uint64_t count) const;
  MatrixSize size_;
};

/// The reader of a weight, chosen by the tensors that exist under its name.
///   weight  as in a plain checkpoint: "model.layers.0.mlp.up_proj.weight", or without ".weight"
///           for a stack of experts that has none
///   config  says what tensors cannot
///   wanted  size that the model expects, or 0 x 0: padding of schemes that pad is cut off
/// Throws Format naming the tensor for a missing weight, for parts that do not fit each other and
/// for another size than wanted; Unsupported for an unknown scheme.
std::unique_ptr<const RowReader> open_rows(std::shared_ptr<const TensorFolder> folder,
                                           std::string_view weight, const QuantConfig& config,
                                           MatrixSize wanted = {});

/// The name of the scheme that open_rows would choose; empty for an unknown one.
std::string_view scheme_of(const std::shared_ptr<const TensorFolder>& folder,
                           std::string_view weight, const QuantConfig& config);

}  // namespace tenon
