#include "backend/device.h"

#include <algorithm>
#include <cstring>

#include "abi/cancel_flag.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// Exceeds any machine; a larger number is a defect of the backend.
constexpr uint32_t kMaxDevices = 256;
/// Likewise for options, and for the bytes of an option's text.
constexpr uint32_t kMaxOptions = 1024;
constexpr size_t kMostText = 4096;
/// Likewise for steps under way (tenon_device_info.steps_under_way).
constexpr uint32_t kMaxSteps = 64;
constexpr uint32_t kMaxStepTokens = 1u << 16;
constexpr uint32_t kMaxBlockTokens = 1u << 12;

/// Terminates a plugin's text within its array and makes it one line of UTF-8.
template <size_t kSize>
void clean_text(char (&text)[kSize]) {
  const std::string shown = printable({text, ::strnlen(text, kSize)}, kSize - 1);
  std::memset(text, 0, kSize);
  std::memcpy(text, shown.data(), std::min(shown.size(), kSize - 1));
}

void clean_texts(tenon_device_info& info) {
  clean_text(info.name);
  clean_text(info.description);
  clean_text(info.unavailable);
}

/// Exceeds the bytes or rows that any process can address.
constexpr uint64_t kMostSize = uint64_t{1} << 48;

/// True for the codes that a backend may return.
bool is_known(tenon_status status) {
  return (status >= TENON_BACKEND_FORMAT && status <= TENON_BACKEND_ARGUMENT) ||
         status == TENON_BACKEND_CANCELLED || status == TENON_BACKEND_STATE ||
         status == TENON_BACKEND_INTERNAL;
}

}  // namespace

std::shared_ptr<Device> Device::create(Backend backend, std::unique_ptr<HostServices> host,
                                       const Options& options, uint32_t index) {
  std::shared_ptr<Device> device(new Device(std::move(backend), std::move(host)));
  std::vector<tenon_backend_option> list;
  for (const auto& [key, value] : options) list.push_back({key.c_str(), value.c_str()});
  device->device_ = device->make<tenon_device>("create_device", "device", [&](tenon_device** out) {
    return device->api().create_device(&device->host_->table(), index, list.data(),
                                       static_cast<uint32_t>(list.size()), out);
  });
  tenon_device_info& info = device->info_;
  info.struct_size = sizeof(info);
  device->call("describe", [&] { return device->api().describe(device->device_, &info); });
  clean_texts(info);
  device->check_info();
  return device;
}

Device::~Device() {
  if (device_ == nullptr) return;
  guarded_destroy("destroy_device", [this] { api().destroy_device(device_); });
}

void Device::check(tenon_status status, const char* what, const uint32_t* cancel) const {
  if (status == TENON_BACKEND_OK) return;
  const std::string text = host_->take_error();
  const std::string sentence =
      text.empty() ? fmt::format("{} failed with status {}", what, status) : text;
  if (!is_known(status)) break_with(sentence + ", which the interface does not know");
  if (status == TENON_BACKEND_CANCELLED && !is_set(cancel)) {
    break_with(fmt::format("{} was cancelled, which nobody asked for", what));
  }
  // An internal error of a plugin is not an error of this library.
  if (status == TENON_BACKEND_INTERNAL && is_plugin()) break_with(sentence);
  if (!text.empty() && !is_plugin()) throw Error(static_cast<Code>(status), text);
  fail(static_cast<Code>(status), "backend \"{}\": {}", name(), sentence);
}

uint64_t Device::checked_size(const char* what, uint64_t least, uint64_t size) const {
  if (size < least || size > kMostSize) {
    break_with(fmt::format("{} is {}, outside {}..{}", what, size, least, kMostSize));
  }
  return size;
}

void Device::break_with(std::string_view what) const {
  fail(Code::Plugin, "backend \"{}\": {}", name(), what);
}

void Device::fail_thrown(const char* what) const {
  break_with(std::string(what) + " threw an exception");
}

void Device::log_thrown(const char* what) const noexcept {
  try {
    host_->log()(LogLevel::Error, "backend \"{}\": {} threw an exception", name(), what);
  } catch (...) {  // no memory for the text: nothing to log
  }
}

bool Device::can_poll() const {
  constexpr uint32_t kBytes = offsetof(tenon_backend_api, poll) + sizeof(tenon_backend_api::poll);
  return api().struct_size >= kBytes && api().poll != nullptr;
}

void Device::check_info() const {
  constexpr uint32_t kDrawBytes =
      offsetof(tenon_backend_api, draw) + sizeof(tenon_backend_api::draw);
  const bool can_draw = api().struct_size >= kDrawBytes && api().draw != nullptr;
  if ((info_.flags & TENON_DEVICE_DRAWS) != 0 && !can_draw) {
    break_with(fmt::format("device \"{}\" draws, but the table has no draw", info_.name));
  }
  const bool sizes = info_.kind >= TENON_DEVICE_REFERENCE && info_.step_tokens > 0 &&
                     info_.step_outputs > 0 && info_.token_multiple > 0 && info_.block_tokens > 0 &&
                     info_.slab_bytes > 0 && info_.steps_under_way > 0;
  if (info_.step_tokens > kMaxStepTokens || info_.block_tokens > kMaxBlockTokens) {
    break_with(fmt::format("steps of {} tokens, blocks of {}, at most {} and {}", info_.step_tokens,
                           info_.block_tokens, kMaxStepTokens, kMaxBlockTokens));
  }
  if (info_.steps_under_way > kMaxSteps) {
    break_with(fmt::format("{} steps under way, at most {}", info_.steps_under_way, kMaxSteps));
  }
  if (!sizes) break_with(fmt::format("device \"{}\" describes itself with a zero", info_.name));
}

uint32_t Device::first_unsupported(const tenon_program& program) const {
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    if (guarded("supports", [&] { return api().supports(device_, &program, op); }) == 0) return op;
  }
  return program.num_ops;
}

std::vector<tenon_device_info> list_devices(const Backend& backend, HostServices& host) {
  const tenon_backend_api& api = *backend.api;
  const auto broken = [&](const std::string& what) {
    fail(Code::Plugin, "backend \"{}\": {}", api.name, what);
  };
  std::vector<tenon_device_info> infos(8);
  uint32_t count = 0;
  for (int tries = 0; tries < 2; ++tries) {
    tenon_status status = TENON_BACKEND_OK;
    try {
      status = api.list_devices(&host.table(), infos.data(), sizeof(tenon_device_info),
                                static_cast<uint32_t>(infos.size()), &count);
    } catch (...) {
      broken("list_devices threw an exception");
    }
    if (status != TENON_BACKEND_OK) {
      const std::string text = host.take_error();
      if (!is_known(status)) broken(fmt::format("list_devices failed with status {}", status));
      fail(static_cast<Code>(status), "backend \"{}\": {}", api.name,
           text.empty() ? "it has no device" : text);
    }
    if (count == 0 || count > kMaxDevices) broken(fmt::format("lists {} devices", count));
    if (count <= infos.size()) break;
    if (tries > 0) broken(fmt::format("lists {} devices, after fewer", count));
    infos.assign(count, {});
  }
  infos.resize(count);
  std::for_each(infos.begin(), infos.end(), clean_texts);
  return infos;
}

std::vector<DeviceOption> list_options(const Backend& backend) {
  const auto broken = [&](const std::string& what) {
    fail(Code::Plugin, "backend \"{}\": {}", backend.api->name, what);
  };
  std::vector<tenon_backend_option_info> infos(16);
  uint32_t count = 0;
  for (int tries = 0; tries < 2; ++tries) {
    try {
      backend.api->list_options(infos.data(), sizeof(tenon_backend_option_info),
                                static_cast<uint32_t>(infos.size()), &count);
    } catch (...) {
      broken("list_options threw an exception");
    }
    if (count > kMaxOptions) broken(fmt::format("lists {} options", count));
    if (count <= infos.size()) break;
    infos.assign(count, {});
  }
  infos.resize(count);
  std::vector<DeviceOption> options;
  const auto text = [](const char* given) {
    return given == nullptr ? std::string()
                            : printable({given, ::strnlen(given, kMostText)}, kMostText);
  };
  for (const tenon_backend_option_info& info : infos) {
    if (info.key == nullptr || info.key[0] == '\0') broken("lists an option without a key");
    options.push_back({text(info.key), text(info.values), text(info.standard), text(info.doc)});
  }
  return options;
}

}  // namespace tenon
