// Rows of q and k, which GGUF files of some architectures keep in another order than folders: there
// are the first numbers of all pairs of a head, then the second ones; here pair comes after pair.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/model_spec.h"

namespace tenon {

class HeadRows {
 public:
  /// Reorders no tensor.
  HeadRows() = default;
  explicit HeadRows(const ModelSpec& model);

  /// Rows of each head of a tensor that is reordered, 0 for other tensors. Throws Format if `rows`
  /// are not whole heads of pairs.
  ///   file  its name, for messages
  [[nodiscard]] uint64_t per_head(const std::string& file, std::string_view tensor,
                                  uint64_t rows) const;

  /// Row of the folder's tensor that is row `row` of the GGUF file's.
  [[nodiscard]] static uint64_t in_folder(uint64_t row, uint64_t per_head) {
    const uint64_t in_head = row % per_head;
    return row - in_head + in_head % 2 * (per_head / 2) + in_head / 2;
  }

 private:
  std::vector<std::pair<uint64_t, uint64_t>> heads_;  // [layers] of q and of k
};

}  // namespace tenon
