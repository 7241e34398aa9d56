#include "model/device_options.h"

#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

constexpr int64_t kMaxLayers = 65536;
constexpr size_t kMaxWanted = 64;
constexpr size_t kShownBytes = 64;

std::string shown_value(std::string_view text) { return printable(text, kShownBytes); }

template <typename Number>
std::optional<Number> whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Splits "a,b,c"; empty for an empty text.
std::vector<std::string_view> comma_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = text.find(',');
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
    if (text.empty()) parts.push_back(text);
  }
  return parts;
}

WantedDevice parse_device(std::string_view text) {
  WantedDevice wanted;
  std::string_view name = text;
  if (const size_t equals = name.find('='); equals != name.npos) {
    wanted.layers = whole<uint32_t>(name.substr(equals + 1));
    if (!wanted.layers || *wanted.layers > kMaxLayers) {
      fail(Code::Argument, "devices: \"{}\" ends in no number of layers in 0..{}",
           shown_value(text), kMaxLayers);
    }
    name = name.substr(0, equals);
  }
  if (const size_t colon = name.find(':'); colon != name.npos) {
    wanted.name.device = name.substr(colon + 1);
    if (wanted.name.device.empty()) {
      fail(Code::Argument, "devices: \"{}\" names no device after the colon", shown_value(text));
    }
    name = name.substr(0, colon);
  }
  if (name.empty()) {
    fail(Code::Argument, "devices: \"{}\" is not BACKEND, BACKEND:DEVICE or either with =LAYERS",
         shown_value(text));
  }
  wanted.name.backend = name;
  return wanted;
}

}  // namespace

std::vector<WantedDevice> parse_devices(const ModelOptions& options) {
  std::vector<WantedDevice> devices;
  for (const std::string_view part : comma_parts(options.devices)) {
    devices.push_back(parse_device(part));
  }
  if (devices.size() > kMaxWanted) {
    fail(Code::Argument, "devices: {} are named, at most {}", devices.size(), kMaxWanted);
  }
  const std::vector<std::string_view> memory = comma_parts(options.device_memory);
  if (memory.size() > kMaxWanted || (!devices.empty() && memory.size() > devices.size())) {
    fail(Code::Argument, "device_memory: {} sizes for {} devices", memory.size(), devices.size());
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    const auto bytes = whole<uint64_t>(memory[i]);
    if (!bytes) {
      fail(Code::Argument, "device_memory: \"{}\" is no whole number of bytes",
           shown_value(memory[i]));
    }
    if (i < devices.size() && *bytes != 0) devices[i].memory_bytes = bytes;
  }
  return devices;
}

bool asks_for_placement(const ModelOptions& options) {
  return !options.devices.empty() || !options.device_memory.empty() || options.gpu_layers >= 0 ||
         options.experts_on == ExpertsOn::Cpu;
}

std::optional<DeviceName> only_device(const ModelOptions& options) {
  const bool says_more = !options.device_memory.empty() || options.gpu_layers >= 0 ||
                         options.experts_on == ExpertsOn::Cpu;
  const std::vector<WantedDevice> wanted = parse_devices(options);
  if (says_more || wanted.size() != 1 || wanted[0].layers) return std::nullopt;
  return wanted[0].name;
}

void check_device_options(const ModelOptions& options) {
  if (options.devices.empty() && !options.device_memory.empty()) {
    fail(Code::Argument, "device_memory is \"{}\", but the option devices names none",
         shown_value(options.device_memory));
  }
  (void)parse_devices(options);
}

}  // namespace tenon
