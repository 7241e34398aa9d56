// What is known of a model's program before anything runs it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/architectures.h"
#include "arch/build_context.h"
#include "model/model.h"

namespace tenon {

/// How large steps and blocks of the cache are, in tokens. Unless a device says otherwise
/// (tenon_device_info), those that suit `cpu`.
struct StepSizes {
  uint32_t step_tokens = 256;  ///< where the option `slice` says nothing
  uint32_t block_tokens = 32;
};

/// Positions of a session by default are no more than this where the options say nothing.
inline constexpr uint32_t kMaxDefaultContext = 8192;
uint32_t default_context(const ModelOptions& options, const ModelSpec& spec);

/// What the program of a model opened so looks like; rows_on_demand "auto" counts as "off". Throws
/// Argument for an unknown cache type.
ProgramOptions program_options(const ModelOptions& options, const ModelSpec& spec,
                               const StepSizes& sizes = {});

/// The steps of a program that computes a text whole: as long as a text may be.
StepLimits whole_text_limits(const ModelSpec& spec, const ModelOptions& options, uint32_t slice);

/// A copy of what program and backend of a model depend on, with "auto" decided for rows_on_demand;
/// silent, as the load of the model tells of it.
ModelOptions runtime_options(const Model& model);

StepWork step_work(const Program& program);

/// How many positions attention looks at.
struct SeenPositions {
  uint64_t past;  ///< before the token
  bool mean;      ///< of the tokens of a text that has `past`, not of the one after it
  /// In a layer with this window; 0: it has none.
  [[nodiscard]] double positions(uint64_t window) const {
    const auto all = static_cast<double>(past);
    const double seen = window == 0 ? all : std::min(all, static_cast<double>(window));
    if (!mean || past == 0) return seen;
    return seen - seen * seen / (2 * all);  // the first of them see less
  }
};

/// Multiply-accumulates of attention for one token, in all layers.
double attention_multiplications(const Program& program, SeenPositions seen);

/// Bytes that reading a chunk of the file takes for each thread while weights are loaded.
uint64_t loading_bytes_per_thread();

}  // namespace tenon
