// Blocks of reserved address space whose pages get memory when they are touched, by a handler of
// access violations. For measuring sizes only: if no memory is left, a touch ends the process.
#pragma once

#include <cstdint>

namespace tenon {

/// The process has one handler, which knows the blocks of all objects.
class CommitOnTouch {
 public:
  CommitOnTouch() = default;
  ~CommitOnTouch();
  CommitOnTouch(const CommitOnTouch&) = delete;
  CommitOnTouch& operator=(const CommitOnTouch&) = delete;

  /// False if there is no memory to remember the block.
  bool add(void* pages, uint64_t size_bytes) noexcept;
  void remove(void* pages) noexcept;
};

}  // namespace tenon
