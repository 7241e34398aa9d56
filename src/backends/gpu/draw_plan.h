// The device's part of draws, its inputs and its results. A device adds biases, applies masks, cuts
// by top-k, top-p and min-p and chooses the token, in integers (draw_arithmetic.h): kernel `draw`.
// The host provides the random number, sorts the candidates and takes the logarithms. Knows
// addresses but no driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "abi/program_copy.h"
#include "abi/strided.h"
#include "backends/gpu/kernel_key.h"
#include "backends/gpu/stage_parameters.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// A group of threads per draw.
constexpr KernelKey kDrawKernel{Kernel::draw, {kDrawThreads, 0, 0, 0, 0}};

/// Columns of the program's logits; 0 without logits.
[[nodiscard]] uint64_t logits_columns(const backends::ProgramCopy& program);

/// Draws computed at once; more draws take turns. A draw differs from backends/common/host_draw.h
/// only if a random number or a cut lies within about 2^-20 of the total mass (an estimate) of the
/// border between two tokens: weights are exp rounded to 2^-40 of the largest, and the host's exp
/// and sums round, too. Ties go to the lower token in both.
class DrawPlan {
 public:
  /// Throws UNSUPPORTED for a vocabulary whose sums would not fit 64 bits.
  ///   vocab  0: the program has no logits and draws nothing
  DrawPlan(uint64_t vocab, uint32_t most_outputs);

  [[nodiscard]] uint32_t most_draws() const { return most_draws_; }
  [[nodiscard]] uint64_t upload_bytes() const { return upload_bytes_; }  ///< to the device
  [[nodiscard]] uint64_t result_bytes() const;                           ///< from it
  [[nodiscard]] uint64_t row_bytes() const;                              ///< scratch of the device

  struct Places {
    Address upload;   ///< upload_bytes(), filled by write(); begins with the kernel's DrawStage
    Address results;  ///< result_bytes()
    Address rows;     ///< row_bytes()
    Address logits;   ///< [outputs, vocab] f32
    Address tokens;   ///< [outputs] int: token drawn per output row, for steps that name it
  };
  /// Takes checked draws from `first` on, as many as fit; returns their number.
  uint32_t write(const Strided<tenon_draw>& draws, uint32_t first, const Places& places,
                 std::byte* upload);
  [[nodiscard]] uint64_t written_bytes() const { return written_; }
  /// Draws that the kernel computes, and rows requested unchanged.
  [[nodiscard]] uint32_t num_computed() const { return num_computed_; }
  [[nodiscard]] std::span<const uint32_t> rows() const { return rows_; }

  /// Writes the results of the taken draws to their destinations.
  ///   results  result_bytes()
  ///   logits   [outputs, vocab], of which rows() are present
  void finish(const std::byte* results, const float* logits);
  /// The taken draws, until the next write().
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
