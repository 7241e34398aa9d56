#include "backend/device.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {
namespace {

/// More devices than any machine has; a larger number is a defect of the backend.
constexpr uint32_t kMaxDevices = 256;

/// What a backend filled in must not be read past its end.
void end_texts(tenon_device_info& info) {
  info.name[sizeof(info.name) - 1] = '\0';
  info.description[sizeof(info.description) - 1] = '\0';
  info.unavailable[sizeof(info.unavailable) - 1] = '\0';
}

void check_info(const tenon_device_info& info, const char* backend) {
  const bool sizes = info.kind >= TENON_DEVICE_REFERENCE && info.step_tokens > 0 &&
                     info.step_outputs > 0 && info.token_multiple > 0 && info.block_tokens > 0 &&
                     info.slab_bytes > 0 && info.steps_under_way > 0;
  if (!sizes) {
    fail(Code::Plugin, "backend \"{}\": device \"{}\" describes itself with a zero", backend,
         info.name);
  }
}

/// The codes a backend may return; anything else is a defect of the backend.
Code code_of(tenon_status status) {
  const bool known = status > 0 && status <= static_cast<tenon_status>(Code::Internal);
  return known ? static_cast<Code>(status) : Code::Plugin;
}

}  // namespace

std::shared_ptr<Device> Device::create(Backend backend, std::unique_ptr<HostServices> host,
                                       const Options& options, uint32_t index) {
  std::shared_ptr<Device> device(new Device(std::move(backend), std::move(host)));
  std::vector<tenon_backend_option> list;
  for (const auto& [key, value] : options) list.push_back({key.c_str(), value.c_str()});
  device->check(guarded("create_device",
                        [&] {
                          return device->api().create_device(
                              &device->host_->table(), index, list.data(),
                              static_cast<uint32_t>(list.size()), &device->device_);
                        }),
                "create_device");
  if (device->device_ == nullptr) {
    fail(Code::Plugin, "backend \"{}\": create_device gave no device", device->name());
  }
  tenon_device_info& info = device->info_;
  info.struct_size = sizeof(info);
  device->call("describe", [&] { return device->api().describe(device->device_, &info); });
  end_texts(info);
  check_info(info, device->api().name);
  return device;
}

Device::~Device() {
  if (device_ != nullptr) backend_.api->destroy_device(device_);
}

void Device::check(tenon_status status, const char* what) const {
  if (status == TENON_BACKEND_OK) return;
  const std::string text = host_->take_error();
  if (!text.empty()) throw Error(code_of(status), text);
  fail(code_of(status), "backend \"{}\": {} failed", name(), what);
}

uint32_t Device::first_unsupported(const tenon_program& program) const {
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    if (guarded("supports", [&] { return api().supports(device_, &program, op); }) == 0) return op;
  }
  return program.num_ops;
}

std::vector<tenon_device_info> list_devices(const Backend& backend, HostServices& host) {
  const tenon_backend_api& api = *backend.api;
  std::vector<tenon_device_info> infos;
  uint32_t count = 0;
  for (uint32_t room = 8; infos.size() < count || infos.empty(); room = count) {
    infos.assign(room, {});
    const tenon_status status = guarded("list_devices", [&] {
      return api.list_devices(&host.table(), infos.data(), sizeof(tenon_device_info), room, &count);
    });
    if (status != TENON_BACKEND_OK) {
      const std::string text = host.take_error();
      fail(code_of(status), "{}", text.empty() ? "it has no device" : text);
    }
    if (count == 0 || count > kMaxDevices) {
      fail(Code::Plugin, "backend \"{}\": lists {} devices", api.name, count);
    }
  }
  infos.resize(count);
  std::for_each(infos.begin(), infos.end(), end_texts);
  return infos;
}

std::vector<tenon_backend_option_info> list_options(const Backend& backend) {
  std::vector<tenon_backend_option_info> infos(64);
  uint32_t count = 0;
  guarded("list_options", [&] {
    backend.api->list_options(infos.data(), sizeof(infos[0]), static_cast<uint32_t>(infos.size()),
                              &count);
    return 0;
  });
  infos.resize(std::min<size_t>(count, infos.size()));
  return infos;
}

Executable::Executable(std::shared_ptr<Device> device, const tenon_program& program)
    : device_(std::move(device)) {
  device_->call("compile",
                [&] { return device_->api().compile(device_->get(), &program, &executable_); });
  if (executable_ == nullptr) {
    fail(Code::Plugin, "backend \"{}\": compile gave no executable", device_->name());
  }
}

Executable::~Executable() { device_->api().destroy_executable(executable_); }

uint64_t Executable::block_bytes(uint32_t group) const {
  return guarded("block_bytes",
                 [&] { return device_->api().block_bytes(executable_, group); });
}

uint64_t Executable::row_granularity(uint32_t slot) const {
  const uint64_t rows =
      guarded("row_granularity", [&] { return device_->api().row_granularity(executable_, slot); });
  return rows == 0 ? 1 : rows;
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  return guarded("memory_bytes", [&] { return device_->api().memory_bytes(executable_, purpose); });
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                           std::span<const std::byte> blocks) {
  device_->call("load_rows", [&] {
    return device_->api().load_rows(executable_, slot, first_row, num_rows, blocks.data(),
                                    blocks.size());
  });
}

void Executable::seal() {
  device_->call("seal", [&] { return device_->api().seal(executable_); });
}

uint64_t Executable::submit(const tenon_step& step) {
  uint64_t ticket = 0;
  device_->call("run", [&] { return device_->api().run(executable_, &step, &ticket); });
  return ticket;
}

void Executable::wait(uint64_t ticket) {
  device_->call("wait", [&] { return device_->api().wait(executable_, ticket); });
}

tenon_buffer* Executable::create_buffer(uint64_t size_bytes, uint32_t purpose) {
  tenon_buffer* buffer = nullptr;
  device_->call("buffer_create", [&] {
    return device_->api().buffer_create(device_->get(), size_bytes, purpose, &buffer);
  });
  return buffer;
}

void Executable::destroy_buffer(tenon_buffer* buffer) noexcept {
  if (buffer != nullptr) device_->api().buffer_destroy(buffer);
}

void Executable::copy_buffer(tenon_buffer* to, uint64_t to_offset, const tenon_buffer* from,
                             uint64_t from_offset, uint64_t size_bytes) {
  device_->call("buffer_copy", [&] {
    return device_->api().buffer_copy(to, to_offset, from, from_offset, size_bytes);
  });
}

void Executable::read_buffer(tenon_buffer* buffer, uint64_t offset, void* out,
                             uint64_t size_bytes) {
  device_->call("buffer_read",
                [&] { return device_->api().buffer_read(buffer, offset, out, size_bytes); });
}

void Executable::write_buffer(tenon_buffer* buffer, uint64_t offset, const void* in,
                              uint64_t size_bytes) {
  device_->call("buffer_write",
                [&] { return device_->api().buffer_write(buffer, offset, in, size_bytes); });
}

}  // namespace tenon
