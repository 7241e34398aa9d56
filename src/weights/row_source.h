// Source of a weight: rows or columns of a file's tensors, stacked, reordered, transposed or
// decoded. The loader reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "file/model_file.h"

namespace tenon {

/// A matrix [rows, columns] of one format, assembled from tensors when it is read. Immutable: each
/// function returns a new source. Holds pointers to the tensors, so it must not outlive their
/// ModelFile.
///   RowSource qkv(tensor);                        // [6144, 2048], fused
///   RowSource key = qkv.rows(2048, 2048);         // its middle third
///   RowSource norm = RowSource(weight).plus(1);   // 1 + w, in f32
/// Ranges outside the matrix are a caller's defect and throw Internal.
class RowSource {
 public:
  /// All rows of a tensor, unchanged; leading dimensions count as rows.
  explicit RowSource(const TensorInfo& tensor);
  /// Rows of all sources, concatenated. Throws Internal unless columns and formats agree.
  static RowSource stacked(std::span<const RowSource> sources);

  /// Rows [first, first + count).
  [[nodiscard]] RowSource rows(uint64_t first, uint64_t count) const;
  /// Columns [first, first + count). Throws Unsupported unless both ends are block borders.
  [[nodiscard]] RowSource columns(uint64_t first, uint64_t count) const;
  /// One of several interleaved kinds of rows, which alternate in runs of `size` rows. For example,
  /// a fused tensor has a query and a gate per head; in_turn(1, 2, head_dim) selects the gates.
  ///   kind, kinds  index and number of kinds; kinds * size divides the rows
  [[nodiscard]] RowSource in_turn(uint64_t kind, uint64_t kinds, uint64_t size) const;
  /// Transpose [columns, rows], as stored by Conv1D layers. For whole tensors only. Throws
  /// Unsupported for block formats that are not decoded().
  [[nodiscard]] RowSource transposed() const;
  /// All rows concatenated, [1, rows * columns]. For whole tensors only.
  [[nodiscard]] RowSource as_row() const;
  /// Dilated columns, in f32: `step` apart with zeros between, as the filter of a dilated
  /// convolution. For whole rows only.
  [[nodiscard]] RowSource spread(uint64_t step) const;
  /// Constant rows of `count` columns, in f32: all values are `number`, as in a mean filter.
  ///   ratio  values of row i are number * ratio^i
  [[nodiscard]] RowSource filled(uint64_t count, double number, double ratio = 1.0) const;
  /// All values in f32. Accepts i32, which is exact up to 2^24.
  [[nodiscard]] RowSource decoded() const;
  /// All values plus `number`, in f32.
  [[nodiscard]] RowSource plus(float number) const;

  [[nodiscard]] uint64_t num_rows() const { return num_rows_; }
  [[nodiscard]] uint64_t num_columns() const { return num_columns_; }
  [[nodiscard]] Format format() const { return format_; }
  /// Bytes of a row in format().
  [[nodiscard]] uint64_t row_bytes() const;

  /// Fills out [count * row_bytes()] with rows [first, first + count). Uses only stack memory,
  /// except to decode rows of a folder. Any thread. Throws Io like ModelFile::read.
  void read(const ModelFile& file, uint64_t first, uint64_t count, std::span<std::byte> out) const;

  /// File position of a value; for derived values, of some value in its row.
  struct Place {
    const TensorInfo* tensor;
    uint64_t row;
    uint64_t column;
  };
  [[nodiscard]] Place place(uint64_t row, uint64_t column) const;

  /// Bytes of a tensor, as stored.
  struct Stored {
    const TensorInfo* tensor;
    uint64_t offset;  ///< relative to the tensor
  };
  /// Stored bytes of rows [first, first + count), if they are contiguous and unchanged; else
  /// nothing.
  [[nodiscard]] std::optional<Stored> stored(uint64_t first, uint64_t count) const;

 private:
  /// Consecutive rows of one tensor, or of its transpose.
  struct Part {
    const TensorInfo* tensor;
    uint64_t first_row;
    uint64_t num_rows;
    uint64_t first_column;
    bool transposed;
  };
  /// Consecutive rows of a part.
  struct Run {
    const Part* part;
    uint64_t row;  ///< row in the part's tensor
    uint64_t count;
  };

  [[nodiscard]] bool is_whole_tensor() const;
  /// The longest contiguous run from `row` on, at most `most` rows.
  [[nodiscard]] Run run_at(uint64_t row, uint64_t most) const;
  void read_run(const ModelFile& file, const Run& run, std::byte* out) const;
  /// Decodes whole rows of a folder, which computes them: it is asked once for all of them.
  void decode_rows(const ModelFile& file, const Run& run, std::byte* out) const;

  /// Selection of interleaved rows: runs of `size` rows, `step` apart, from selected row `first`
  /// on.
  struct Turns {
    uint64_t size = 0;  ///< 0 means all rows of the parts
    uint64_t step = 0;
    uint64_t offset = 0;  ///< start of the first run
    uint64_t first = 0;
  };

  std::vector<Part> parts_;  // stacked
  Turns turns_;              // selects among the parts' rows
  uint64_t num_rows_ = 0;
  uint64_t num_columns_ = 0;
  Format format_ = Format::F32;
  float added_ = 0.0f;    // added to each value; F32 only if not 0
  uint64_t spacing_ = 1;  // distance of the parts' columns in this source; F32 only if not 1
  /// Values of row i are number * ratio^i.
  struct Fill {
    double number;
    double ratio;
    bool operator==(const Fill&) const = default;
  };
  std::optional<Fill> filled_;  // format_ is F32
};

}  // namespace tenon
