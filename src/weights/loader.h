// Loads weights from a model file into a backend: positioned reads by several threads, bounded
// memory, progress. Backends choose the layout.
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

/// Receives rows of weights: an executable of a backend, or a test's stand-in.
class WeightSink {
 public:
  virtual ~WeightSink() = default;
  /// Granularity of load_rows: first_row and num_rows (except at the end) are multiples; at least
  /// 1.
  virtual uint64_t row_granularity(Slot slot) = 0;
  /// Takes rows [first_row, first_row + num_rows) of a weight, as blocks of its format in row
  /// order. Called from several threads at once, for disjoint rows.
  virtual void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                         std::span<const std::byte> blocks) = 0;
};

struct LoadOptions {
  ThreadTeam* team = nullptr;      ///< reads; null means the calling thread alone
  std::shared_ptr<System> system;  ///< source of scratch memory
  /// Bytes read at once by each thread: enough for the disk to stream, few enough to stay near the
  /// second-level cache. Exceeded only by a larger granule of rows.
  uint64_t chunk_bytes = uint64_t{4} << 20;
  /// Decode every weight and refuse NaN and infinities. Reads no byte twice but costs the decoding.
  bool check_finite = false;
  /// Takes samples of the loaded tensors; may be null.
  TensorSamples* samples = nullptr;
  /// Called with the loaded fraction, which never falls and ends at 1; returning false cancels.
  std::function<bool(double fraction)> progress;
};

/// Loads all of `weights`. Takes one chunk of memory per thread. The calling thread reports
/// progress; on a host's executor, task 0 does. Throws Io like ModelFile::read, Format naming
/// tensor and row of a value that is not finite, Cancelled, NoMemory. After a failure, the sink has
/// only some of the rows.
void load_weights(const ModelFile& file, std::span<const BoundWeight> weights, WeightSink& sink,
                  const LoadOptions& options);

}  // namespace tenon
