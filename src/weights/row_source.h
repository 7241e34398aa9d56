// What a weight is filled from: rows or columns of a file's tensors, stacked, reordered, transposed
// or decoded. How fast they are read, and by how many threads, is the loader's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "file/model_file.h"

namespace tenon {

/// A matrix [rows, columns] of one format that is put together from tensors when it is read. A
/// value: every function gives a new source and leaves this one alone. Holds pointers to the
/// tensors, so it must not outlive their ModelFile.
///
///   RowSource qkv(tensor);                        // [6144, 2048], fused
///   RowSource key = qkv.rows(2048, 2048);         // its middle third
///   RowSource norm = RowSource(weight).plus(1);   // 1 + w, in f32
///
/// Ranges that do not lie inside are a mistake of the caller's and throw Internal.
class RowSource {
 public:
  /// All rows of a tensor as they are; leading dimensions count as rows.
  explicit RowSource(const TensorInfo& tensor);
  /// The rows of each after those of the one before. Internal unless columns and formats agree.
  static RowSource stacked(std::span<const RowSource> sources);

  /// Rows [first, first + count).
  [[nodiscard]] RowSource rows(uint64_t first, uint64_t count) const;
  /// Columns [first, first + count). Throws Unsupported unless both ends lie between blocks.
  [[nodiscard]] RowSource columns(uint64_t first, uint64_t count) const;
  /// Where rows of several kinds take turns, `size` of each, those of kind `kind`: of a fused tensor
  /// whose heads have a query and then a gate, the gates are in_turn(1, 2, head_dim).
  ///   kinds * size  divides the rows
  [[nodiscard]] RowSource in_turn(uint64_t kind, uint64_t kinds, uint64_t size) const;
  /// [columns, rows], as Conv1D layers store their weights. Of a whole tensor only; of blocks only
  /// once they are decoded(), else Unsupported.
  [[nodiscard]] RowSource transposed() const;
  /// [1, rows * columns]: the rows one after another. Of a whole tensor only.
  [[nodiscard]] RowSource as_row() const;
  /// The columns `step` apart, in f32, with zeros between them: a filter of a convolution as one that
  /// leaves out places. Of whole rows only.
  [[nodiscard]] RowSource spread(uint64_t step) const;
  /// As many rows, of `count` columns that are all `number`, in f32: a filter that takes the mean.
  ///   ratio  row i of the tensor has number * ratio^i
  [[nodiscard]] RowSource filled(uint64_t count, double number, double ratio = 1.0) const;
  /// The same values in f32; of i32 too, whose values are exact up to 2^24.
  [[nodiscard]] RowSource decoded() const;
  /// `number` more than each value, in f32.
  [[nodiscard]] RowSource plus(float number) const;

  [[nodiscard]] uint64_t num_rows() const { return num_rows_; }
  [[nodiscard]] uint64_t num_columns() const { return num_columns_; }
  [[nodiscard]] Format format() const { return format_; }
  /// Bytes of a row in format().
  [[nodiscard]] uint64_t row_bytes() const;

  /// Fills out [count * row_bytes()] with rows [first, first + count). Takes no memory beyond the
  /// stack. Any thread. Throws Io as ModelFile::read.
  void read(const ModelFile& file, uint64_t first, uint64_t count, std::span<std::byte> out) const;

  /// Where a value of this source stands in the file; of one that does not, some value of its row.
  struct Place {
    const TensorInfo* tensor;
    uint64_t row;
    uint64_t column;
  };
  [[nodiscard]] Place place(uint64_t row, uint64_t column) const;

  /// Bytes of a tensor as they stand in the file.
  struct Stored {
    const TensorInfo* tensor;
    uint64_t offset;  ///< in the tensor
  };
  /// Where rows [first, first + count) lie one after another, unchanged; nothing when they are made
  /// of several pieces or converted.
  [[nodiscard]] std::optional<Stored> stored(uint64_t first, uint64_t count) const;

 private:
  /// Consecutive rows of one tensor (of its transpose, where that is said).
  struct Part {
    const TensorInfo* tensor;
    uint64_t first_row;
    uint64_t num_rows;
    uint64_t first_column;
    bool transposed;
  };
  /// Rows that lie one after another in a part.
  struct Run {
    const Part* part;
    uint64_t row;  ///< in the part's tensor
    uint64_t count;
  };

  /// The longest run from `row` on, at most `most` rows.
  [[nodiscard]] bool is_whole_tensor() const;
  [[nodiscard]] Run run_at(uint64_t row, uint64_t most) const;
  void read_run(const ModelFile& file, const Run& run, std::byte* out) const;

  /// Runs of `size` rows, `step` apart: of these rows those from number `first` on.
  struct Turns {
    uint64_t size = 0;  ///< 0: all rows of the parts
    uint64_t step = 0;
    uint64_t offset = 0;  ///< of the first run
    uint64_t first = 0;
  };

  std::vector<Part> parts_;  // stacked
  Turns turns_;              // of the parts' rows
  uint64_t num_rows_ = 0;
  uint64_t num_columns_ = 0;
  Format format_ = Format::F32;
  float added_ = 0.0f;    // not 0: format_ is F32
  uint64_t spacing_ = 1;  // of the parts' columns in this source's; not 1: format_ is F32
  /// All values of row i: number * ratio^i.
  struct Fill {
    double number;
    double ratio;
    bool operator==(const Fill&) const = default;
  };
  std::optional<Fill> filled_;  // format_ is F32
};

}  // namespace tenon
