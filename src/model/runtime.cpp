#include "model/runtime.h"

#include <utility>

#include "backend/device.h"
#include "backend/registry.h"
#include "base/error.h"
#include "model/model.h"
#include "program/ops.h"

namespace tenon {
namespace {

/// The runtime over a backend's executable.
class BackendRuntime : public Runtime {
 public:
  BackendRuntime(std::shared_ptr<Device> device, const tenon_program& program)
      : executable_(std::move(device), program) {}

  [[nodiscard]] std::string_view backend_name() const override {
    return executable_.device().api().name;
  }
  [[nodiscard]] std::string description() const override {
    return executable_.device().description();
  }
  uint64_t huge_page_bytes() override {
    return executable_.device().host().page_use(TENON_MEMORY_WEIGHTS).huge_bytes;
  }
  [[nodiscard]] const tenon_device_info& device_info() const override {
    return executable_.device().info();
  }
  ThreadTeam& team() override { return executable_.device().host().team(); }
  void seal() override { executable_.seal(); }
  void run(const tenon_step& step) override { executable_.run(step); }

  uint64_t row_granularity(Slot slot) override {
    return executable_.row_granularity(static_cast<uint32_t>(slot));
  }
  void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks) override {
    executable_.load_rows(static_cast<uint32_t>(slot), first_row, num_rows, blocks);
  }

  [[nodiscard]] uint64_t block_bytes(uint32_t group) const override {
    return executable_.block_bytes(group);
  }
  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const override {
    return executable_.memory_bytes(purpose);
  }
  tenon_buffer* create_buffer(uint64_t size_bytes, uint32_t purpose) override {
    return executable_.create_buffer(size_bytes, purpose);
  }
  void destroy_buffer(tenon_buffer* buffer) noexcept override {
    executable_.destroy_buffer(buffer);
  }
  void copy_buffer(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                   uint64_t from_offset, uint64_t size_bytes) override {
    executable_.copy_buffer(to, to_offset, from, from_offset, size_bytes);
  }
  void read_buffer(tenon_buffer* buffer, uint64_t offset, void* out, uint64_t size_bytes) override {
    executable_.read_buffer(buffer, offset, out, size_bytes);
  }
  void write_buffer(tenon_buffer* buffer, uint64_t offset, const void* in,
                    uint64_t size_bytes) override {
    executable_.write_buffer(buffer, offset, in, size_bytes);
  }

 private:
  Executable executable_;
};

std::unique_ptr<HostServices> make_services(const ModelOptions& options) {
  std::unique_ptr<ThreadTeam> team;
  if (options.executor) {
    team = std::make_unique<ThreadTeam>(*options.executor);
  } else {
    const uint32_t threads =
        options.threads > 0 ? options.threads : options.system->num_usable_cpus();
    team = std::make_unique<ThreadTeam>(threads, options.system);
  }
  return std::make_unique<HostServices>(options.system, options.log, std::move(team));
}

/// What only the CPU backend is told, where it differs from its defaults.
Device::Options cpu_options(const ModelOptions& options, const std::string& backend) {
  Device::Options chosen;
  if (!options.isa.empty()) chosen.emplace_back("isa", options.isa);
  if (options.bf16_activations != ModelOptions().bf16_activations) {
    chosen.emplace_back("bf16_activations", options.bf16_activations);
  }
  if (!chosen.empty() && backend != "cpu") {
    fail(Code::Argument, "option \"{}\": only the cpu backend has it, not \"{}\"",
         chosen.front().first, backend);
  }
  return chosen;
}

/// "operation 12 (linear)" where the device cannot run the program, else empty.
std::string unsupported_operation(const Device& device, const Program& program) {
  const uint32_t number = device.first_unsupported(program.view());
  if (number == program.view().num_ops) return {};
  return op_label(number, program.ops()[number].kind);
}

std::shared_ptr<Device> named_device(const BackendRegistry& registry, const Program& program,
                                     const ModelOptions& options) {
  const std::string& name = options.backend;
  auto device =
      Device::create(registry.find(name), make_services(options), cpu_options(options, name));
  const std::string operation = unsupported_operation(*device, program);
  if (operation.empty()) return device;
  fail(Code::Unsupported, "backend \"{}\" cannot run {} of the model", name, operation);
}

/// The first backend, fastest first, whose device runs the whole program. The reference is for
/// comparison: nothing but its name chooses it.
std::shared_ptr<Device> best_device(const BackendRegistry& registry, const Program& program,
                                    const ModelOptions& options) {
  // Only the CPU backend has them.
  const Device::Options device_options = cpu_options(options, "cpu");
  std::string reasons;
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.reason != PluginReason::None) continue;
    if (!device_options.empty() && entry.name != "cpu") continue;
    std::string reason;
    try {
      auto device = Device::create(entry.backend, make_services(options), device_options);
      if (device->info().kind == TENON_DEVICE_REFERENCE) continue;
      reason = unsupported_operation(*device, program);
      if (reason.empty()) return device;
      reason = "cannot run " + reason;
    } catch (const Error& error) {
      if (!device_options.empty()) throw;
      reason = error.what();
    }
    reasons += fmt::format("{}\"{}\": {}", reasons.empty() ? "" : "; ", entry.name, reason);
    options.log(LogLevel::Info, "backend \"{}\" is not used: {}", entry.name, reason);
  }
  fail(Code::Unsupported, "no device can run the model: {}", reasons);
}

}  // namespace

std::unique_ptr<Runtime> Runtime::create(const Program& program, const ModelOptions& options) {
  const BackendRegistry registry(options.plugin_paths, options.system);
  for (const BackendEntry& entry : registry.entries()) {
    if (entry.reason == PluginReason::None) continue;
    const bool taken = entry.reason == PluginReason::NameTaken;
    options.log(taken ? LogLevel::Info : LogLevel::Warning, "plugin {} is not used: {}",
                entry.origin, entry.text);
  }
  const std::shared_ptr<Device> device = options.backend == "auto"
                                             ? best_device(registry, program, options)
                                             : named_device(registry, program, options);
  options.log(LogLevel::Info, "backend \"{}\": {}", device->name(), device->description());
  return std::make_unique<BackendRuntime>(device, program.view());
}

}  // namespace tenon
