// Rows of weights that are groups of small codes with a scale each, and how they stay packed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weights/foreign/row_reader.h"

namespace tenon::foreign {

/// The number of a group beside its scale.
enum class GroupSecond : uint8_t {
  Zero,       ///< an integer from 0 to 255: W = (q - zero) * scale
  FloatZero,  ///< W = (q - zero) * scale
  Bias,       ///< W = q * scale + bias
};

struct CodeGroups {
  uint32_t bits;   ///< of a code, 1 to 8
  uint64_t size;   ///< columns of a group; the last of a row may have fewer
  uint64_t count;  ///< groups of a row
  GroupSecond second;
  ElementType scale_type;  ///< of the scales; 16-bit floats stay packed
};

/// A reader gives codes, scales and zeros or biases; this class makes values or blocks of them.
class GroupReader : public RowReader {
 public:
  [[nodiscard]] std::optional<Format> packed_format() const final { return format_; }

 protected:
  /// index  group of each column; empty: consecutive groups
  GroupReader(MatrixSize size, const CodeGroups& groups, std::vector<uint32_t> index = {});
  [[nodiscard]] const CodeGroups& groups() const { return groups_; }

 private:
  /// At most kGroupBand rows: codes [rows, columns], scales and seconds [rows, groups].
  virtual void read_groups(uint64_t first, uint64_t rows, uint8_t* codes, float* scales,
                           float* seconds) const = 0;
  void read_rows(uint64_t first, uint64_t count, float* out) const final;
  void read_blocks(uint64_t first, uint64_t count, std::byte* out) const final;
  template <typename Use>
  void each_row(uint64_t first, uint64_t count, Use use) const;

  CodeGroups groups_;
  std::vector<uint32_t> index_;
  std::optional<Format> format_;
};

/// Rows that are read at once: bounds memory, and makes the pieces read of each row of words of
/// weights packed along their inputs long enough.
inline constexpr uint64_t kGroupBand = 256;

}  // namespace tenon::foreign
