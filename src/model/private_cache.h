// Cache memory of callers without an engine's pools: an encoder, an embedder, a prediction block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/device_buffer.h"
#include "model/model_program.h"
#include "tenon/backend.h"

namespace tenon {

/// Blocks that a text of so many positions takes in a group; a state is one block.
uint64_t private_blocks(const tenon_cache_group& group, uint64_t positions);

/// Bytes that the program's private_positions take as one text, in a group and in all.
uint64_t private_cache_bytes(const ModelProgram& program, uint32_t group);
uint64_t private_cache_bytes(const ModelProgram& program);

/// Output rows of a step, at most, of callers that read all of them: the logits of more take more memory
/// than a longer step is worth.
constexpr uint32_t kMostPrivateOutputs = 64;

/// Bytes of the host's memory for those rows in all results, where the program has private_positions.
uint64_t private_row_bytes(const ModelProgram& program);

/// One buffer per group, which grows with the longest step. Blocks are numbered from 0 in the order of
/// texts, so a text that is alone in its steps finds its cache in the next step. For one thread, which
/// has the model's turn in make_room() and in the destructor.
class PrivateCache {
 public:
  explicit PrivateCache(const ModelProgram& program);

  /// Frees all blocks. The memory stays, and what is in it.
  void clear();
  /// Blocks for one more text of the step.
  ///   is_new  the step begins the text: a state has nothing to go on from
  void add(uint32_t group, uint64_t positions, bool is_new);
  /// Blocks of the texts so far.
  [[nodiscard]] uint64_t num_blocks(uint32_t group) const { return groups_[group].num_blocks; }

  /// Allocates what the texts need; growing loses the contents. Throws NoMemory.
  void make_room(uint32_t group);
  /// The block table of a text, by the order of add(); valid until the next add() or clear().
  [[nodiscard]] const uint32_t* table(uint32_t group, size_t text) const {
    return groups_[group].entries.data() + groups_[group].begins[text];
  }
  /// Valid until the next make_room().
  [[nodiscard]] tenon_cache_pool pool(uint32_t group);

 private:
  struct Group {
    uint64_t num_blocks = 0;
    std::vector<uint32_t> entries;  // of all tables
    std::vector<size_t> begins;     // [texts], in entries
    std::optional<DeviceBuffer> memory;
    uint64_t num_held = 0;  // blocks of the memory
    tenon_buffer* slab = nullptr;
  };

  const ModelProgram& program_;
  std::vector<Group> groups_;
};

}  // namespace tenon
