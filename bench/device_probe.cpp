// Measures a device through the plugin interface, for bench/gpu_check, which cannot reach devices
// otherwise.
//
//   device_probe rates  PLUGIN DEVICE [MIB]     bytes and multiplications per second, as JSON
//   device_probe create PLUGIN DEVICE COUNT     creates and destroys it, and prints the memory kept
//   device_probe hold   PLUGIN DEVICE MIB SECS  allocates memory and frees it after that time
//   device_probe cancel PLUGIN DEVICE MODEL TOKENS   latency of cancelling a prompt of TOKENS
//   device_probe beside PLUGIN DEVICE MODEL COUNT    compares an answer alone and in a batch
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "backend/device_buffer.h"
#include "backend/executable.h"
#include "backend/plugin.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "model/model.h"
#include "program/operations.h"
#include "random_tokens.h"

namespace tenon {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
/// Rounds per figure; the best counts, since disturbances only slow.
constexpr int kRounds = 5;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_seconds(const auto& work) {
  double best = seconds_of(work);  // the first round also warms up
  for (int round = 1; round < kRounds; ++round) best = std::min(best, seconds_of(work));
  return best;
}

std::shared_ptr<Device> open_device(const Backend& backend, uint32_t index) {
  auto services =
      std::make_unique<HostServices>(System::real(), Log{}, std::make_shared<ThreadTeam>(2));
  return Device::create(backend, std::move(services), {}, index);
}

/// Random bytes: a link or a device may be faster with zeros.
std::vector<std::byte> random_bytes(uint64_t size) {
  std::vector<std::byte> bytes(size);
  uint64_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

// ---- Matrix product -----------------------------------------------------------------------------

/// `layers` products of f16 matrices [width, width] with all tokens of a step.
struct Products {
  uint64_t width;
  uint32_t layers;
  uint32_t tokens;
};

Program products_program(const Products& sizes) {
  ProgramBuilder b;
  Slot x = op::embed(b, b.weight("table", Format::F32, 64, sizes.width));
  for (uint32_t i = 0; i < sizes.layers; ++i) {
    x = op::linear(b, x, b.weight(fmt::format("w{}", i), Format::F16, sizes.width, sizes.width));
  }
  return std::move(b).finish(op::gather_rows(b, x), {.max_tokens = sizes.tokens, .max_outputs = 1});
}

/// Values of either sign: f16 around 2^-7, f32 below 2.
std::vector<std::byte> values_of(const tenon_slot& slot) {
  const uint64_t count = slot.rows * slot.columns;
  const bool is_half = slot.type == TENON_TYPE_F16;
  std::vector<std::byte> bytes = random_bytes(count * (is_half ? 2 : 4));
  for (uint64_t i = 0; i < count; ++i) {
    std::byte& high = bytes[is_half ? 2 * i + 1 : 4 * i + 3];
    high = (high & std::byte{0x80}) | std::byte{is_half ? uint8_t{0x20} : uint8_t{0x3f}};
  }
  return bytes;
}

/// Multiply-accumulates per second of the backend's own product: the kernels' rate, not the chip's
/// peak.
double product_rate(const std::shared_ptr<Device>& device, const Products& sizes) {
  const Program program = products_program(sizes);
  Executable executable(device, program.view());
  for (uint32_t i = 0; i < program.slots().size(); ++i) {
    const tenon_slot& slot = program.slots()[i];
    if (slot.kind != TENON_SLOT_WEIGHT) continue;
    executable.load_rows(i, 0, slot.rows, values_of(slot));
  }
  executable.seal();
  std::vector<int32_t> tokens(sizes.tokens);
  std::vector<int32_t> positions(sizes.tokens);
  for (uint32_t t = 0; t < sizes.tokens; ++t) {
    tokens[t] = static_cast<int32_t>(t % 64);
    positions[t] = static_cast<int32_t>(t);
  }
  tenon_step_sequence sequence{};
  sequence.num_tokens = sizes.tokens;
  const uint32_t row = 0;
  std::vector<float> result(sizes.width);
  const tenon_binding binding{program.view().results[0], 0, result.data()};
  tenon_step step{};
  step.struct_size = sizeof(step);
  step.num_tokens = sizes.tokens;
  step.num_outputs = 1;
  step.num_sequences = 1;
  step.sequence_size = sizeof(sequence);
  step.num_bindings = 1;
  step.binding_size = sizeof(binding);
  step.tokens = tokens.data();
  step.positions = positions.data();
  step.sequences = &sequence;
  step.output_rows = &row;
  step.bindings = &binding;
  const double seconds = best_seconds([&] { executable.run(step); });
  const double work = static_cast<double>(sizes.layers) * static_cast<double>(sizes.tokens) *
                      static_cast<double>(sizes.width) * static_cast<double>(sizes.width);
  return work / seconds;
}

// ---- Commands -----------------------------------------------------------------------------------

void print_rates(const Backend& backend, uint32_t index, uint64_t size) {
  const auto device = open_device(backend, index);
  const auto bytes = static_cast<double>(size);
  DeviceBuffer from(device, size, TENON_MEMORY_CACHE);
  DeviceBuffer to(device, size, TENON_MEMORY_CACHE);
  std::vector<std::byte> host = random_bytes(size);
  const double up = best_seconds([&] { from.write(0, host.data(), size); });
  const double copy = best_seconds([&] { to.copy(0, from, 0, size); });
  const double down = best_seconds([&] { to.read(0, host.data(), size); });
  // Use less memory if a processor emulates the GPU.
  const bool is_gpu = device->info().kind == TENON_DEVICE_GPU;
  const Products sizes = is_gpu ? Products{8192, 4, std::min(device->info().step_tokens, 2048u)}
                                : Products{256, 2, 16};
  const double product = product_rate(device, sizes);
  fmt::print(
      "{{\"device\": \"{}\", \"copy_bytes_per_second\": {:.4g}, \"link_up_bytes_per_second\": "
      "{:.4g}, "
      "\"link_down_bytes_per_second\": {:.4g}, \"product_multiplications_per_second\": {:.4g}}}\n",
      device->info().name, 2 * bytes / copy, bytes / up, bytes / down, product);
}

void print_creations(const Backend& backend, uint32_t index, uint64_t count) {
  // Ignore the memory that a driver keeps after its first use.
  const uint64_t before = open_device(backend, index)->info().memory_available;
  const double seconds = seconds_of([&] {
    for (uint64_t i = 0; i < count; ++i) (void)open_device(backend, index);
  });
  const uint64_t after = open_device(backend, index)->info().memory_available;
  fmt::print("{{\"seconds_each\": {:.4g}, \"bytes_lost\": {}}}\n",
             seconds / static_cast<double>(count), before - std::min(before, after));
}

void hold(const Backend& backend, uint32_t index, uint64_t size, uint64_t seconds) {
  const auto device = open_device(backend, index);
  std::vector<DeviceBuffer> held;
  constexpr uint64_t kPart = 256 * kMiB;
  for (uint64_t done = 0; done < size; done += kPart) {
    held.emplace_back(device, std::min(kPart, size - done), TENON_MEMORY_CACHE);
  }
  fmt::print("{{\"held_bytes\": {}}}\n", size);
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
}

// ---- Through the engine -------------------------------------------------------------------------

std::shared_ptr<const Model> load_model(const char* plugin, const Backend& backend, uint32_t index,
                                        const char* path, uint32_t context) {
  ModelOptions options;
  options.plugin_paths = {plugin};
  options.devices = fmt::format("{}:{}", backend.api->name, index);
  options.context = context;
  return Model::load(path, std::move(options));
}

/// Cancels a prompt at five points. Cancels after the prompt's end are not counted.
void print_cancels(const std::shared_ptr<const Model>& model, uint64_t num_tokens) {
  using Clock = std::chrono::steady_clock;
  const auto engine = Engine::create(model);
  const auto context = static_cast<uint32_t>(num_tokens + 1);
  std::vector<double> delays;
  for (uint32_t i = 0; i < 5; ++i) {
    Session session(engine, SessionOptions{context});
    session.append(make_tokens(*model, num_tokens, i));
    std::atomic<bool> was_cancelled = false;
    Clock::time_point returned;
    const auto start = Clock::now();
    std::thread prompt([&] {
      try {
        session.prefill();
      } catch (const Error&) {
        was_cancelled = true;
      }
      returned = Clock::now();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 60 * i));
    const auto asked = Clock::now();
    session.cancel();
    prompt.join();
    if (was_cancelled && asked > start) {
      delays.push_back(std::chrono::duration<double>(returned - asked).count());
    }
  }
  const double most = delays.empty() ? 0 : *std::max_element(delays.begin(), delays.end());
  fmt::print("{{\"cancelled\": {}, \"most_seconds\": {:.4g}}}\n", delays.size(), most);
}

/// Answers to `count` prompts computed together.
std::vector<std::vector<Token>> answers(const std::shared_ptr<Engine>& engine, uint64_t first,
                                        uint64_t count) {
  GenerationOptions limits;
  limits.max_tokens = 12;
  limits.ends.ignore_end = true;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (uint64_t i = first; i < first + count; ++i) {
    Sampler sampler;
    sampler.set("seed", static_cast<int64_t>(i));
    sessions.push_back(std::make_unique<Session>(engine, SessionOptions{128}));
    sessions.back()->append(make_tokens(engine->model(), 5 + i * 7 % 40, static_cast<uint32_t>(i)));
    generations.push_back(sessions.back()->submit(sampler, limits));
  }
  std::vector<std::vector<Token>> all(count);
  for (uint64_t i = 0; i < count; ++i) {
    for (;;) {
      (void)engine->wait(*generations[i], UINT64_MAX);
      const Engine::Fetched fetched = engine->fetch(*generations[i]);
      if (fetched.failure) std::rethrow_exception(fetched.failure);
      if (fetched.has_token) all[i].push_back(fetched.token);
      if (fetched.ended) break;
    }
  }
  return all;
}

void print_answers_beside(const std::shared_ptr<const Model>& model, uint64_t count) {
  const auto engine = Engine::create(model);
  const auto together = answers(engine, 0, count + 1);
  uint64_t other = 0;
  const uint64_t alone = std::min<uint64_t>(count + 1, 4);
  for (uint64_t i = 0; i < alone; ++i) {
    other += answers(engine, i, 1).front() != together[i] ? 1 : 0;
  }
  fmt::print("{{\"others\": {}, \"compared\": {}, \"different\": {}}}\n", count, alone, other);
}

int run(int argc, char** argv) {
  const auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const std::string_view command = argc > 3 ? argv[1] : "";
  const bool takes_model = command == "cancel" || command == "beside";
  if ((command != "rates" && command != "create" && command != "hold" && !takes_model) ||
      (takes_model && argc < 6)) {
    fmt::print(stderr, "device_probe rates|create|hold|cancel|beside PLUGIN DEVICE ...\n");
    return 2;
  }
  const Plugin plugin = load_plugin(argv[2]);
  if (plugin.reason != PluginReason::None) fail(Code::Plugin, "{}: {}", argv[2], plugin.text);
  const auto index = static_cast<uint32_t>(number(3, 0));
  if (command == "rates") print_rates(plugin.backend, index, number(4, 256) * kMiB);
  if (command == "create") print_creations(plugin.backend, index, number(4, 50));
  if (command == "hold") hold(plugin.backend, index, number(4, 256) * kMiB, number(5, 10));
  if (!takes_model) return 0;
  const uint64_t count = number(5, 0);
  const auto context = static_cast<uint32_t>(command == "cancel" ? count + 1 : 128);
  const auto model = load_model(argv[2], plugin.backend, index, argv[4], context);
  command == "cancel" ? print_cancels(model, count) : print_answers_beside(model, count);
  return 0;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  try {
    return tenon::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "device_probe: {}\n", error.what());
    return 1;
  }
}
