// Facts about a model's program that need no executable.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/architectures.h"
#include "arch/build_context.h"
#include "model/model.h"

namespace tenon {

/// Step and block sizes in tokens. The defaults suit `cpu`; devices may prefer others
/// (tenon_device_info).
struct StepSizes {
  uint32_t step_tokens = 256;  ///< default of the option `slice`
  uint32_t block_tokens = 32;
  bool decodes_packed = false;  ///< ProgramOptions::decodes_packed
};

/// Largest default context of a session.
inline constexpr uint32_t kMaxDefaultContext = 8192;
uint32_t default_context(const ModelOptions& options, const ModelSpec& spec);

/// Options for building a model's program; rows_on_demand "auto" counts as "off". Throws Argument
/// for an unknown cache type.
ProgramOptions program_options(const ModelOptions& options, const ModelSpec& spec,
                               const StepSizes& sizes = {});

/// Step limits of a program that computes texts whole: the longest text.
StepLimits whole_text_limits(const ModelSpec& spec, const ModelOptions& options, uint32_t slice);

/// Copies the options that program and backend depend on, with rows_on_demand "auto" resolved.
/// Without the log, because loading has reported already.
ModelOptions runtime_options(const Model& model);

StepWork step_work(const Program& program);

/// Whether a weight has a format of memory (quant/formats.h).
bool has_packed_weights(const Program& program);

/// Positions that attention sees.
struct SeenPositions {
  uint64_t past;  ///< positions before the token
  bool mean;  ///< mean over the tokens of a text of `past` positions, instead of the token after it
  /// Positions seen in a layer with this window; 0 means no window.
  [[nodiscard]] double positions(uint64_t window) const {
    const auto all = static_cast<double>(past);
    const double seen = window == 0 ? all : std::min(all, static_cast<double>(window));
    if (!mean || past == 0) return seen;
    return seen - seen * seen / (2 * all);  // early tokens see less
  }
};

/// Multiply-accumulates of attention per token, in all layers.
double attention_multiplications(const Program& program, SeenPositions seen);

/// Bytes per thread to read a chunk of the file while weights load.
uint64_t loading_bytes_per_thread();

}  // namespace tenon
