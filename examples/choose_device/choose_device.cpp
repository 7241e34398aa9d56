// Lets the user choose a model's device: lists the devices, then answers on the named device, with
// LAYERS layers on it and the others on the CPU. choose_device MODEL [DEVICE [LAYERS]]
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>

namespace {

constexpr const char* kPrompt = "Once upon a time";

void list_devices() {
  for (const tenon::Backend& backend : tenon::backends()) {
    for (size_t i = 0; i < backend.devices.size(); ++i) {
      const tenon::BackendDevice& device = backend.devices[i];
      std::cout << backend.name << ':' << i << "  " << device.description;
      if (device.memory_total != 0) {
        std::cout << ", " << (device.memory_available >> 20) << " MiB free";
      }
      if (!device.unavailable.empty()) std::cout << ", not usable: " << device.unavailable;
      std::cout << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 4) {
    throw std::runtime_error("usage: choose_device MODEL [DEVICE [LAYERS]]");
  }
  if (argc == 2) {
    list_devices();
    return 0;
  }
  tenon::ModelOptions options{.devices = argv[2]};
  if (argc > 3) options.gpu_layers = std::stoll(argv[3]);
  // The placement is known before any weight is read.
  options.inspect = true;
  const tenon::Model header(argv[1], options);
  for (const tenon::PlacedDevice& device :
       tenon::placement(header, tenon::measure_hardware(header, false))) {
    std::cout << device.layers << " layers on " << device.backend << ", "
              << (device.total_bytes >> 10) << " KiB\n";
  }
  options.inspect = false;
  const tenon::Model model(argv[1], options);
  tenon::Session session(model);
  std::cout << kPrompt;
  for (auto piece : session.generate(kPrompt, {.max_tokens = 24})) std::cout << piece << std::flush;
  std::cout << '\n';
  return 0;
} catch (const std::exception& error) {
  std::cerr << "choose_device: " << error.what() << '\n';
  return 1;
}
