// Commands of an executable on the stream: lists of copies and kernels, each ended by an event.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cuda/cuda_context.h"
#include "backends/gpu/device_executable.h"
#include "backends/gpu/stage_builder.h"
#include "tenon/backend.h"

namespace tenon::cuda {

/// Implements Commands of gpu/device_executable.h. The stream keeps the order, so barriers are
/// empty. Use from one thread at a time.
class Commands {
 public:
  /// The stages must outlive the object.
  Commands(Context& context, std::span<const gpu::Stage> stages, uint32_t num_lists);
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  void begin(uint32_t list) { list_ = list; }
  void send(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
            uint64_t size) {
    context_.send(to.address() + to_offset, from.bytes() + from_offset, size);
  }
  void take(const Memory& to, uint64_t to_offset, const Memory& from, uint64_t from_offset,
            uint64_t size) {
    context_.take(to.bytes() + to_offset, from.address() + from_offset, size);
  }
  void barrier() {}
  void launch(const gpu::KernelKey& key, gpu::Address parameters, uint32_t groups, uint32_t rows) {
    context_.launch(key, parameters, groups, rows);
  }
  void run_stages(const tenon_step& step);
  void submit() { ends_[list_].record(); }
  void wait(uint32_t list) { ends_[list].wait(); }
  [[nodiscard]] bool has_ended(uint32_t list) { return ends_[list].has_come(); }
  void finish() { context_.finish(); }
  [[nodiscard]] uint64_t memory_bytes() const { return 0; }

 private:
  Context& context_;
  std::span<const gpu::Stage> stages_;
  std::vector<Event> ends_;  ///< by list
  std::array<Event, gpu::kSegmentsAhead>
      segments_;  ///< ends of the last segments of a long step, in rotation
  uint32_t list_ = 0;
};

}  // namespace tenon::cuda
