#include "model/device_placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/saturating.h"
#include "kv/cache_forecast.h"
#include "program/cut.h"
#include "program/ops.h"
#include "weights/layer_placement.h"

namespace tenon {
namespace {

constexpr std::string_view kCpu = "cpu";

/// Estimates miss what a backend adds to its weights; a few rounds move the surplus layers.
constexpr int kMostRounds = 24;
/// Divisor of the room that a device gives up after an allocation failed.
constexpr uint64_t kRoomStep = 16;

/// Memory that an opened device offers; its backend has reserved some for other users of a GPU.
uint64_t default_budget(const std::shared_ptr<Device>& device) {
  const tenon_device_info& info = device->info();
  if (!PlacedDevice{device}.has_own_memory() || info.memory_total == 0) return UINT64_MAX;
  return info.memory_available;
}

/// Memory of a program's layers on their devices.
struct LayerNeeds {
  ProgramLayers layers;
  std::vector<bool> experts;    // [ops] placed on the CPU
  std::vector<uint64_t> bytes;  // [layers] weights and cache of a session
};

LayerNeeds layer_needs(const BuiltProgram& built, const ModelOptions& options) {
  const tenon_program& program = built.program.view();
  LayerNeeds needs{find_layers(program), std::vector<bool>(program.num_ops, false), {}};
  if (options.experts_on == ExpertsOn::Cpu) needs.experts = find_expert_ops(program);
  std::vector<bool> counted = needs.experts;
  counted.flip();
  needs.bytes = layer_weight_bytes(program, needs.layers, counted);
  const LayerCache cache = layer_cache_bytes(program, needs.layers);
  const uint64_t positions = default_context(options, built.model);
  for (uint32_t layer = 0; layer < needs.layers.count; ++layer) {
    const uint64_t growing = saturating_mul(cache.position_bytes[layer], positions);
    needs.bytes[layer] =
        saturating_add(needs.bytes[layer], saturating_add(growing, cache.fixed_bytes[layer]));
  }
  return needs;
}

/// [layers] true if a device supports all operations of the layer.
std::vector<bool> runnable_layers(const Device& device, const tenon_program& program,
                                  const LayerNeeds& needs, const Log& log) {
  std::vector<bool> can_run(needs.layers.count, true);
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    if (needs.experts[op] || is_computed_anywhere(program, program.ops[op])) continue;
    const uint32_t layer = needs.layers.of_op[op];
    if (!can_run[layer]) continue;
    can_run[layer] = device.guarded("supports", [&] {
      return device.api().supports(device.get(), &program, op);
    }) != 0;
    if (!can_run[layer]) {
      log(LogLevel::Info, "device \"{}\" of backend \"{}\" cannot run {} of layer {}",
          device.info().name, device.name(), op_label(op, program.ops[op].kind), layer);
    }
  }
  return can_run;
}

std::string name_of_device(const Device& device) {
  return fmt::format("{}:{}", device.name(), device.info().name);
}

/// Repeats attempts to place and compile.
class ProgramPlacer {
 public:
  ProgramPlacer(BuiltProgram& built, std::span<const OpenDevice> devices,
                const ModelOptions& options, const BuildProgram& build)
      : built_(built),
        devices_(devices),
        options_(options),
        build_(build),
        needs_(layer_needs(built, options)),
        cpu_(0) {
    const tenon_program& program = built.program.view();
    for (uint32_t i = 0; i < devices.size(); ++i) {
      const OpenDevice& device = devices[i];
      LayerRoom& room = rooms_.emplace_back();
      room.name = name_of_device(*device.device);
      room.bytes = device.memory_bytes;
      if (room.bytes != UINT64_MAX) {
        room.bytes -= std::min(room.bytes, program.activation_bytes);
      }
      room.layers = device.layers;
      room.takes_rest = device.takes_rest;
      room.can_run = runnable_layers(*device.device, program, needs_, options.log);
      if (room.takes_rest) cpu_ = i;
    }
  }

  std::unique_ptr<PlacedExecutable> run() {
    for (int round = 0; round < kMostRounds; ++round) {
      place();
      try {
        auto executable = compile();
        if (shrink_to_fit(*executable)) {
          tell(*executable);
          return executable;
        }
      } catch (const Error& error) {
        if (error.code() != Code::NoMemory || !shrink_all()) throw;
      }
    }
    fail(Code::NoMemory, "devices: the model does not fit devices with room for {} bytes",
         total_room());
  }

 private:
  void place() {
    LayerRequest request{needs_.bytes, needs_.layers.may_begin, {}};
    if (options_.gpu_layers >= 0) {
      request.device_layers = static_cast<uint32_t>(options_.gpu_layers);
    }
    placed_ = place_layers(rooms_, request);
  }

  /// Rebuilds the program for the sizes that suit the devices in `placed_`.
  void build_anew() {
    std::set<uint32_t> used(placed_.begin(), placed_.end());
    if (std::ranges::find(needs_.experts, true) != needs_.experts.end()) used.insert(cpu_);
    std::vector<PlacedDevice> in_use;
    for (const uint32_t device : used) {
      // The first device that does not take the rest sets the step size.
      const auto at = devices_[device].takes_rest ? in_use.end() : in_use.begin();
      in_use.insert(at, {devices_[device].device, devices_[device].memory_bytes});
    }
    built_ = build_(sizes_of(in_use));
  }

  std::unique_ptr<PlacedExecutable> compile() {
    build_anew();
    const ProgramLayers layers = find_layers(built_.program.view());
    std::vector<uint32_t> of_op(built_.program.ops().size());
    const std::vector<bool> experts = options_.experts_on == ExpertsOn::Cpu
                                          ? find_expert_ops(built_.program.view())
                                          : std::vector<bool>(of_op.size(), false);
    std::set<uint32_t> used;
    for (uint32_t op = 0; op < of_op.size(); ++op) {
      of_op[op] = experts[op] ? cpu_ : placed_[layers.of_op[op]];
      if (!is_computed_anywhere(built_.program.view(), built_.program.ops()[op])) {
        used.insert(of_op[op]);
      }
    }
    std::vector<PlacedDevice> devices;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      const auto count = static_cast<uint32_t>(std::ranges::count(placed_, i));
      devices.push_back({devices_[i].device, devices_[i].memory_bytes, count});
    }
    if (used.size() == 1) {
      check_supported(devices[*used.begin()], built_.program);
      return std::make_unique<PlacedExecutable>(devices[*used.begin()], built_.program);
    }
    CutProgram cut = cut_program(std::move(built_.program), of_op);
    for (const ProgramPart& part : cut.parts) check_supported(devices[part.device], part.program);
    auto executable = std::make_unique<PlacedExecutable>(devices, cut, options_.system);
    built_.program = std::move(cut.whole);
    return executable;
  }

  static void check_supported(const PlacedDevice& device, const Program& program) {
    const uint32_t op = device.device->first_unsupported(program.view());
    if (op == program.view().num_ops) return;
    fail(Code::Unsupported, "devices: \"{}\" cannot run {} of the model",
         name_of_device(*device.device), op_label(op, program.ops()[op].kind));
  }

  /// True if each device has room for its part and the cache of a session. Shrinks the room of
  /// devices that do not.
  bool shrink_to_fit(const PlacedExecutable& executable) {
    const std::vector<uint64_t> needed = device_bytes(
        built_.program, executable,
        {default_context(options_, built_.model), built_.program.view().max_tokens, 1});
    bool fits = true;
    for (uint32_t i = 0; i < needed.size(); ++i) {
      const PlacedDevice& device = executable.devices()[i];
      if (needed[i] <= device.memory_bytes) continue;
      fits = false;
      LayerRoom& room = rooms_[number_of(device)];
      if (room.layers || options_.gpu_layers >= 0) {
        fail(Code::NoMemory,
             "{}: the layers on \"{}\" take {} bytes with a session of {} positions, "
             "but there are {}",
             room.layers ? "devices" : "gpu_layers", room.name, needed[i],
             default_context(options_, built_.model), device.memory_bytes);
      }
      room.bytes -= std::min(room.bytes, needed[i] - device.memory_bytes);
      if (room.takes_rest && executable.devices().size() == 1) {
        fail(Code::NoMemory,
             "devices: the model takes {} bytes with a session of {} positions, "
             "\"{}\" has {}",
             needed[i], default_context(options_, built_.model), room.name, device.memory_bytes);
      }
    }
    return fits;
  }

  [[nodiscard]] uint32_t number_of(const PlacedDevice& device) const {
    const auto found = std::ranges::find(devices_, device.device, &OpenDevice::device);
    return static_cast<uint32_t>(found - devices_.begin());
  }

  /// Shrinks all rooms after a device ran out of memory despite its report.
  bool shrink_all() {
    bool any = false;
    for (uint32_t i = 0; i < rooms_.size(); ++i) {
      LayerRoom& room = rooms_[i];
      if (!PlacedDevice{devices_[i].device}.has_own_memory() || room.layers ||
          options_.gpu_layers >= 0)
        continue;
      if (room.bytes == UINT64_MAX || room.bytes == 0) continue;
      room.bytes -= std::max<uint64_t>(1, room.bytes / kRoomStep);
      any = true;
    }
    return any;
  }

  [[nodiscard]] uint64_t total_room() const {
    uint64_t sum = 0;
    for (const OpenDevice& device : devices_) sum = saturating_add(sum, device.memory_bytes);
    return sum;
  }

  void tell(const PlacedExecutable& executable) const {
    if (executable.num_parts() == 1) return;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      const auto count = std::ranges::count(placed_, i);
      if (count == 0) continue;
      options_.log(LogLevel::Info, "{} of {} layers are on \"{}\"", count, placed_.size(),
                   rooms_[i].name);
    }
  }

  BuiltProgram& built_;
  std::span<const OpenDevice> devices_;
  const ModelOptions& options_;
  const BuildProgram& build_;
  LayerNeeds needs_;
  uint32_t cpu_;
  std::vector<LayerRoom> rooms_;  // [devices]
  std::vector<uint32_t> placed_;  // [layers]
};

void add_cpu(std::vector<OpenDevice>& devices, const DeviceChoice& choice) {
  // Prefers the last CPU device listed.
  for (size_t i = devices.size(); i-- > 0;) {
    if (devices[i].device->info().kind != TENON_DEVICE_CPU) continue;
    devices[i].takes_rest = true;
    return;
  }
  // Clears the options: this CPU device may not have those of the backend chosen.
  DeviceChoice plain = choice;
  plain.options.clear();
  const DeviceName cpu{std::string(kCpu), ""};
  devices.push_back({open_devices({&cpu, 1}, plain).front(), UINT64_MAX, {}, true});
}

}  // namespace

std::vector<uint64_t> device_bytes(const Program& program, const PlacedExecutable& executable,
                                   const TextSizes& sizes) {
  const std::vector<uint64_t> cache = device_cache_bytes(program, executable, sizes);
  std::vector<uint64_t> bytes;
  for (uint32_t device = 0; device < executable.devices().size(); ++device) {
    const uint64_t held = executable.memory_bytes(TENON_MEMORY_WEIGHTS, device) +
                          executable.memory_bytes(TENON_MEMORY_SCRATCH, device);
    bytes.push_back(saturating_add(held, cache[device]));
  }
  return bytes;
}

std::vector<OpenDevice> open_model_devices(const ModelOptions& options,
                                           const DeviceChoice& choice) {
  std::vector<WantedDevice> wanted = parse_devices(options);
  if (wanted.empty()) {
    if (choice.backend != "auto") {
      for (const DeviceName& name : find_accelerators(choice)) wanted.push_back({name});
      if (wanted.empty()) wanted.push_back({{choice.backend, ""}});
    } else {
      for (const DeviceName& name : find_accelerators(choice)) wanted.push_back({name});
      if (wanted.empty() && options.gpu_layers > 0) {
        fail(Code::Unsupported,
             "gpu_layers is {}, but no backend has a device besides the CPU that can be used",
             options.gpu_layers);
      }
      if (wanted.empty()) wanted.push_back({{std::string(kCpu), ""}});
    }
  }
  std::vector<DeviceName> names;
  for (const WantedDevice& device : wanted) names.push_back(device.name);
  const std::vector<std::shared_ptr<Device>> opened = open_devices(names, choice);
  std::vector<OpenDevice> devices;
  for (size_t i = 0; i < opened.size(); ++i) {
    const uint64_t budget = wanted[i].memory_bytes.value_or(default_budget(opened[i]));
    devices.push_back({opened[i], budget, wanted[i].layers});
  }
  add_cpu(devices, choice);
  return devices;
}

std::vector<OpenDevice> devices_beside(const std::shared_ptr<Device>& device,
                                       const BuiltProgram& built, const ModelOptions& options,
                                       const DeviceChoice& choice) {
  std::vector<OpenDevice> devices{{device, default_budget(device), {}}};
  const uint64_t budget = devices[0].memory_bytes;
  if (budget == UINT64_MAX || !built.model.encoder_layers.empty()) return devices;
  uint64_t needed = built.program.view().activation_bytes;
  for (const uint64_t bytes : layer_needs(built, options).bytes) {
    needed = saturating_add(needed, bytes);
  }
  if (needed <= budget) return devices;
  options.log(LogLevel::Info, "device \"{}\" has room for {} bytes of {}", name_of_device(*device),
              budget, needed);
  DeviceChoice same_backend = choice;
  same_backend.backend = device->name();
  const std::vector<DeviceName> names = find_accelerators(same_backend);
  for (const std::shared_ptr<Device>& other : open_devices(names, same_backend)) {
    if (std::string_view(other->info().name) == device->info().name) continue;
    devices.push_back({other, default_budget(other), {}});
  }
  add_cpu(devices, choice);
  return devices;
}

StepSizes sizes_of(std::span<const PlacedDevice> devices) {
  StepSizes sizes{devices[0].device->info().step_tokens, 0};
  for (const PlacedDevice& device : devices) {
    sizes.block_tokens = std::max(sizes.block_tokens, device.device->info().block_tokens);
  }
  return sizes;
}

std::unique_ptr<PlacedExecutable> place_program(BuiltProgram& built,
                                                std::span<const OpenDevice> devices,
                                                const ModelOptions& options,
                                                const BuildProgram& build) {
  return ProgramPlacer(built, devices, options, build).run();
}

}  // namespace tenon
