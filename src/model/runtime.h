// What runs a model's program: a backend's device and executable, and the host services they use.
// Which model it is, and whose sequences are in a step, is not known here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/thread_team.h"
#include "program/program.h"
#include "tenon/backend.h"
#include "weights/loader.h"

namespace tenon {

struct ModelOptions;

/// One call at a time, whoever makes it, but for load_rows.
class Runtime : public WeightSink {
 public:
  /// Chooses the backend and compiles the program on it: "auto" takes the first whose device runs
  /// every operation, and never the reference. Throws Plugin, Unsupported, NoMemory, Argument.
  static std::unique_ptr<Runtime> create(const Program& program, const ModelOptions& options);
  ~Runtime() override = default;

  [[nodiscard]] virtual std::string_view backend_name() const = 0;
  /// What the device says about itself ("AMD EPYC, avx2 kernels"): what the bits of a result may depend on.
  [[nodiscard]] virtual std::string description() const = 0;
  /// The sizes that it likes, and what it promises.
  [[nodiscard]] virtual const tenon_device_info& device_info() const = 0;
  /// Bytes of weights that lie on 2 MiB pages of this machine's memory.
  [[nodiscard]] virtual uint64_t huge_page_bytes() = 0;
  /// The threads that steps run on; idle between steps.
  virtual ThreadTeam& team() = 0;
  /// All weights are loaded; steps may run.
  virtual void seal() = 0;
  /// Runs a step to its end. Throws Cancelled, NoMemory, State, ...
  virtual void run(const tenon_step& step) = 0;

  [[nodiscard]] virtual uint64_t block_bytes(uint32_t group) const = 0;
  /// Bytes held for a purpose: TENON_MEMORY_WEIGHTS or TENON_MEMORY_SCRATCH.
  [[nodiscard]] virtual uint64_t memory_bytes(uint32_t purpose) const = 0;
  virtual tenon_buffer* create_buffer(uint64_t size_bytes, uint32_t purpose) = 0;
  virtual void destroy_buffer(tenon_buffer* buffer) noexcept = 0;
  virtual void copy_buffer(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                           uint64_t from_offset, uint64_t size_bytes) = 0;
  virtual void read_buffer(tenon_buffer* buffer, uint64_t offset, void* out,
                           uint64_t size_bytes) = 0;
  virtual void write_buffer(tenon_buffer* buffer, uint64_t offset, const void* in,
                            uint64_t size_bytes) = 0;
};

}  // namespace tenon
