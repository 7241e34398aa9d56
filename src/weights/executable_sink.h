// Passes weights from the loader to an executable.
#pragma once

#include <span>

#include "backend/executable.h"
#include "weights/loader.h"

namespace tenon {

/// Does not own the executable, which must outlive it.
class ExecutableSink : public WeightSink {
 public:
  explicit ExecutableSink(Executable& executable) : executable_(executable) {}
  uint64_t row_granularity(Slot slot) override {
    return executable_.row_granularity(static_cast<uint32_t>(slot));
  }
  void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks) override {
    executable_.load_rows(static_cast<uint32_t>(slot), first_row, num_rows, blocks);
  }

 private:
  Executable& executable_;
};

}  // namespace tenon
