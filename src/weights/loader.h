// Carries weights from a model file to a backend: positioned reads by several threads, bounded
// memory, progress. Which layout the weights get is the backend's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/system.h"
#include "base/thread_team.h"
#include "file/model_file.h"
#include "weights/bound_weight.h"
#include "weights/tensor_samples.h"

namespace tenon {

/// Takes rows of weights: an executable of a backend, or a test's stand-in.
class WeightSink {
 public:
  virtual ~WeightSink() = default;
  /// load_rows takes first_row and num_rows (except at the end) in multiples of this; at least 1.
  virtual uint64_t row_granularity(Slot slot) = 0;
  /// Rows [first_row, first_row + num_rows) of a weight, as blocks of its format, row after row.
  /// Called from several threads at once, for disjoint rows.
  virtual void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                         std::span<const std::byte> blocks) = 0;
};

struct LoadOptions {
  ThreadTeam* team = nullptr;      ///< who reads; null: the calling thread alone
  std::shared_ptr<System> system;  ///< where the scratch memory comes from
  /// Read at once by each thread: large enough that the disk streams, small enough to stay in the
  /// second-level cache's neighbourhood. Exceeded only where a single granule of rows is larger.
  uint64_t chunk_bytes = uint64_t{4} << 20;
  /// Decode every weight and refuse NaN and infinities; reads no byte twice but costs the decoding.
  bool check_finite = false;
  /// Is told of each tensor that is loaded; null: no one is told.
  TensorSamples* samples = nullptr;
  /// Called with the loaded fraction, never falling, the last time with 1; false cancels.
  std::function<bool(double fraction)> progress;
};

/// Loads all of `weights`. The memory it takes is one chunk per thread. Progress is reported by the
/// calling thread, or on a host's executor by the task of index 0.
/// Throws Io as ModelFile::read, Format naming tensor and row for a value that is not finite,
/// Cancelled, NoMemory; after a failure the sink holds some rows and not others.
void load_weights(const ModelFile& file, std::span<const BoundWeight> weights, WeightSink& sink,
                  const LoadOptions& options);

}  // namespace tenon
