// What of draws a device computes, what it is sent and what comes back. A device adds biases, applies masks, cuts by
// top-k, top-p and min-p and chooses the token, in whole numbers (draw_arithmetic.h): kernel `draw`. The host gives
// the random number, sorts the candidates and takes the logarithms. Knows addresses, and no driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/common/program_copy.h"
#include "backends/common/strided.h"
#include "backends/gpu/kernel_key.h"
#include "backends/gpu/stage_parameters.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// A group of threads for each draw.
constexpr KernelKey kDrawKernel{Kernel::draw, {kDrawThreads, 0, 0, 0, 0}};

/// Values of a row of the program's logits; 0: it has none.
[[nodiscard]] uint64_t logits_columns(const backends::ProgramCopy& program);

/// Draws that are computed at once; more are taken in turns. A draw differs from that of backends/common/host_draw.h
/// only where a random number or a cut lies near the border between two tokens, by about 2^-20 of the whole mass (an
/// estimate): weights are exp rounded to 2^-40 of the largest, and the host's exp and sums round, too. Ties are decided
/// alike: the lower token.
class DrawPlan {
 public:
  /// UNSUPPORTED for a vocabulary whose sums would not fit 64 bits.
  ///   vocab  0: the program has no logits, and nothing is drawn
  DrawPlan(uint64_t vocab, uint32_t most_outputs);

  [[nodiscard]] uint32_t most_draws() const { return most_draws_; }
  [[nodiscard]] uint64_t upload_bytes() const { return upload_bytes_; }  ///< to the device
  [[nodiscard]] uint64_t result_bytes() const;                           ///< from it
  [[nodiscard]] uint64_t row_bytes() const;                              ///< scratch of the device

  struct Places {
    Address upload;   ///< upload_bytes(), as write() fills them; begins with the kernel's DrawStage
    Address results;  ///< result_bytes()
    Address rows;     ///< row_bytes()
    Address logits;   ///< [outputs, vocab] f32
    Address tokens;  ///< [outputs] int: what is drawn for each output row, for a step that names it
  };
  /// Takes draws from `first` on, which were checked, as many as there is room for; returns how many.
  uint32_t write(const Strided<tenon_draw>& draws, uint32_t first, const Places& places,
                 std::byte* upload);
  [[nodiscard]] uint64_t written_bytes() const { return written_; }
  /// Of those taken: how many the kernel computes, and the rows that are wanted as they are.
  [[nodiscard]] uint32_t num_computed() const { return num_computed_; }
  [[nodiscard]] std::span<const uint32_t> rows() const { return rows_; }

  /// Where the draws taken want it.
  ///   results  result_bytes()
  ///   logits   [outputs, vocab], of which rows() are there
  void finish(const std::byte* results, const float* logits);
  /// Those taken, until the next write().
  [[nodiscard]] std::span<const tenon_draw> taken() const { return taken_; }

 private:
  void finish_computed(const tenon_draw& draw, const std::byte* results, uint32_t number);

  uint64_t vocab_;
  uint32_t most_draws_ = 0;
  uint64_t most_biases_ = 0;
  uint64_t mask_bytes_ = 0;
  uint64_t upload_bytes_ = 0;
  uint64_t written_ = 0;
  uint32_t num_computed_ = 0;
  std::vector<tenon_draw> taken_;
  std::vector<uint32_t> rows_;
  std::vector<DrawCandidate> candidates_;
};

}  // namespace tenon::gpu
