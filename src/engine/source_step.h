// The step of an encoder: from the tokens of a sequence's source to the rows that its decoder attends
// to. When one is due is the engine's business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/device_buffer.h"
#include "base/buffer.h"
#include "engine/sequence.h"
#include "kv/block_pool.h"
#include "model/model.h"
#include "tenon/backend.h"

namespace tenon {

/// Run again and again, by the thread that has the model's turn. What the encoder keeps while it runs,
/// keys and values of the source in its own layers, is memory of the step like activations, not of the
/// engine's budget.
class SourceStep {
 public:
  /// Of a model with an encoder.
  ///   pools  those of the decoder's groups, in their order
  SourceStep(const Model& model, std::span<const std::shared_ptr<BlockPool>> pools);
  ~SourceStep();
  SourceStep(const SourceStep&) = delete;
  SourceStep& operator=(const SourceStep&) = delete;

  /// Fills the blocks that the sequence's table of the source has. cancel: a flag of any thread's.
  /// Throws Cancelled, NoMemory, and what the backend reports.
  void run(const Sequence& sequence, const uint32_t* cancel);

 private:
  [[nodiscard]] tenon_cache_pool own_pool(uint32_t group, uint64_t blocks);

  const Model& model_;
  const tenon_program& program_;
  std::span<const tenon_cache_group> groups_;
  std::shared_ptr<BlockPool> source_pool_;          // of the rows
  std::vector<std::optional<DeviceBuffer>> cache_;  // [groups], of the encoder's own
  std::vector<uint64_t> held_;                      // [groups] blocks
  std::vector<tenon_buffer*> slabs_;                // [groups], of cache_
  std::vector<tenon_buffer*> source_slabs_;
  std::vector<tenon_cache_pool> pool_views_;  // [groups]
  std::vector<uint32_t> numbers_;             // of the encoder's own blocks: 0, 1, 2 and so on
  std::vector<const uint32_t*> tables_;       // [groups]
  std::vector<int32_t> positions_;            // [T, position_parts]
  Buffer row_;                                // the result, which nobody reads
};

}  // namespace tenon
