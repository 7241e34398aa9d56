// Place outside the process where records of computed blocks survive a restart. A record is opaque
// bytes under a key. The engine checks all that it reads (engine/stored_block.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/hash.h"

namespace tenon {

/// One thread at a time. A failure is a missing record or a refused write, never an exception.
class BlockStore {
 public:
  BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  virtual ~BlockStore() = default;

  /// Number that all keys depend on: equal in every process that shares the records, and not known
  /// to those whose texts are in them.
  [[nodiscard]] virtual Hash128 secret() const = 0;
  /// Bytes of the record; nothing if there is none.
  virtual std::optional<uint64_t> find(Hash128 key) noexcept = 0;
  /// Copies the record to `out` if it has exactly that size, and counts as its use.
  virtual bool read(Hash128 key, std::span<std::byte> out) noexcept = 0;
  /// Stores a record that is not there yet. May refuse.
  ///   before  the record without which this one is useless; a store removes this one first
  virtual bool write(Hash128 key, Hash128 before, std::span<const std::byte> record) noexcept = 0;
  virtual void remove(Hash128 key) noexcept = 0;
  /// Notes that the record would have been read if its blocks were not in memory.
  virtual void note_use(Hash128 key) noexcept { (void)key; }
  /// Called once on the thread that makes the other calls, before them.
  virtual void begin() noexcept {}
};

}  // namespace tenon
