// Cache memory for callers without an engine's pools: an encoder, an embedder, a prediction block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/device_buffer.h"
#include "model/model_program.h"
#include "tenon/backend.h"

namespace tenon {

/// Blocks of a text with this many positions in a group; a state is one block.
uint64_t private_blocks(const tenon_cache_group& group, uint64_t positions);

/// Bytes of one text of private_positions, in a group and in all groups.
uint64_t private_cache_bytes(const ModelProgram& program, uint32_t group);
uint64_t private_cache_bytes(const ModelProgram& program);

/// Most output rows per step for callers that read all of them: the memory of more logits is worth
/// more than a longer step.
constexpr uint32_t kMostPrivateOutputs = 64;

/// Host memory for these rows in all results, in bytes; 0 without private_positions.
uint64_t private_row_bytes(const ModelProgram& program);

/// One buffer per group, sized by the longest step. Blocks are numbered from 0 in the order of
/// texts, so a text alone in its steps finds its cache in the next step. Use from one thread, which
/// holds the model's turn in make_room() and in the destructor.
class PrivateCache {
 public:
  explicit PrivateCache(const ModelProgram& program);

  /// Frees all blocks; keeps the memory and its contents.
  void clear();
  /// Allocates blocks for another text of the step.
  ///   is_new  the step begins the text: no earlier state is read
  void add(uint32_t group, uint64_t positions, bool is_new);
  /// Blocks of the texts added so far.
  [[nodiscard]] uint64_t num_blocks(uint32_t group) const { return groups_[group].num_blocks; }

  /// Allocates memory for the texts; growing loses the contents. Throws NoMemory.
  void make_room(uint32_t group);
  /// Block table of a text, in the order of add(); valid until the next add() or clear().
  [[nodiscard]] const uint32_t* table(uint32_t group, size_t text) const {
    return groups_[group].entries.data() + groups_[group].begins[text];
  }
  /// The pool's view; valid until the next make_room().
  [[nodiscard]] tenon_cache_pool pool(uint32_t group);

 private:
  struct Group {
    uint64_t num_blocks = 0;
    std::vector<uint32_t> entries;  // of all tables
    std::vector<size_t> begins;     // [texts] offsets in entries
    std::optional<DeviceBuffer> memory;
    uint64_t num_held = 0;  // blocks in memory
    tenon_buffer* slab = nullptr;
  };

  const ModelProgram& program_;
  std::vector<Group> groups_;
};

}  // namespace tenon
