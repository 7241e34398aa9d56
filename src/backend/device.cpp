#include "backend/device.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/common/step_rules.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// More devices than any machine has; a larger number is a defect of the backend.
constexpr uint32_t kMaxDevices = 256;
/// The same for steps under way (tenon_device_info.steps_under_way).
constexpr uint32_t kMaxSteps = 64;

/// Ends a text of a plugin's within its array, and makes it one line of UTF-8.
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

/// More bytes or rows than a process can address on any machine.
constexpr uint64_t kMostSize = uint64_t{1} << 48;

/// The codes a backend may return.
bool is_known(tenon_status status) {
  return (status >= TENON_BACKEND_FORMAT && status <= TENON_BACKEND_ARGUMENT) ||
         status == TENON_BACKEND_CANCELLED || status == TENON_BACKEND_STATE ||
         status == TENON_BACKEND_INTERNAL;
}

bool is_set(const uint32_t* flag) {
  return flag != nullptr && __atomic_load_n(flag, __ATOMIC_SEQ_CST) != 0;
}

/// A NaN that no arithmetic gives; where a step leaves it, it wrote nothing.
constexpr uint32_t kUnwritten = 0x7FE5A5A5u;

void mark_unwritten(std::span<uint32_t> values) {
  std::fill(values.begin(), values.end(), kUnwritten);
}

uint64_t num_unwritten(std::span<const uint32_t> values) {
  return static_cast<uint64_t>(std::count(values.begin(), values.end(), kUnwritten));
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
  // A defect of a plugin's is none of this library.
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
  } catch (...) {  // without memory for the text there is nothing left to tell
  }
}

void Device::check_info() const {
  const bool sizes = info_.kind >= TENON_DEVICE_REFERENCE && info_.step_tokens > 0 &&
                     info_.step_outputs > 0 && info_.token_multiple > 0 && info_.block_tokens > 0 &&
                     info_.slab_bytes > 0 && info_.steps_under_way > 0;
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
    infos.assign(count, {});
  }
  infos.resize(count);
  std::for_each(infos.begin(), infos.end(), clean_texts);
  return infos;
}

void Executable::Destroy::operator()(tenon_executable* executable) const noexcept {
  device->guarded_destroy("destroy_executable",
                          [&] { device->api().destroy_executable(executable); });
}

Executable::Executable(std::shared_ptr<Device> device, const tenon_program& program)
    : device_(std::move(device)),
      executable_(device_->make<tenon_executable>("compile", "executable",
                                                  [&](tenon_executable** out) {
                                                    return device_->api().compile(device_->get(),
                                                                                  &program, out);
                                                  }),
                  Destroy{device_.get()}) {
  steps_.reserve(device_->info().steps_under_way);
  for (uint32_t i = 0; i < program.num_results; ++i) {
    const uint32_t number = program.results[i];
    if (number >= program.num_slots) continue;
    const tenon_slot& slot = slots_of(program)[number];
    results_.push_back({number, slot.row_class, slot.columns});
  }
  for (uint32_t group = 0; group < program.num_groups; ++group) {
    block_bytes_.push_back(device_->size("block_bytes", 1, [&] {
      return device_->api().block_bytes(executable_.get(), group);
    }));
  }
}

uint64_t Executable::row_granularity(uint32_t slot) const {
  return device_->size("row_granularity", 1,
                       [&] { return device_->api().row_granularity(executable_.get(), slot); });
}

uint64_t Executable::memory_bytes(uint32_t purpose) const {
  return device_->size("memory_bytes", 0,
                       [&] { return device_->api().memory_bytes(executable_.get(), purpose); });
}

void Executable::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                           std::span<const std::byte> blocks) {
  device_->call("load_rows", [&] {
    return device_->api().load_rows(executable_.get(), slot, first_row, num_rows, blocks.data(),
                                    blocks.size());
  });
}

void Executable::seal() {
  device_->call("seal", [&] { return device_->api().seal(executable_.get()); });
}

uint64_t Executable::submit(const tenon_step& step) {
  Step started{0, step.cancel, {}};
  // One pass over memory that a matrix product is about to fill.
  if (device_->is_plugin()) started.results = results_of(step);
  for (const std::span<uint32_t> values : started.results) mark_unwritten(values);
  device_->call(
      "run", [&] { return device_->api().run(executable_.get(), &step, &started.ticket); },
      step.cancel);
  steps_.push_back(std::move(started));
  return steps_.back().ticket;
}

void Executable::wait(uint64_t ticket) {
  const auto found = std::find_if(steps_.begin(), steps_.end(),
                                  [&](const Step& step) { return step.ticket == ticket; });
  if (found == steps_.end()) fail(Code::Internal, "no step under way has ticket {}", ticket);
  const Step ended = std::move(*found);
  steps_.erase(found);
  device_->call(
      "wait", [&] { return device_->api().wait(executable_.get(), ticket); }, ended.cancel);
  for (const std::span<uint32_t> values : ended.results) {
    if (const uint64_t unwritten = num_unwritten(values); unwritten != 0) {
      device_->break_with(fmt::format("run did not write its results: {} of {} values are missing",
                                      unwritten, values.size()));
    }
  }
}

/// The memory that a step binds to results: all of it is to be written.
std::vector<std::span<uint32_t>> Executable::results_of(const tenon_step& step) const {
  std::vector<std::span<uint32_t>> memory;
  for (const Result& result : results_) {
    const uint64_t rows = backends::num_rows(step, result.row_class);
    auto* data = static_cast<uint32_t*>(backends::bound_memory(step, result.slot));
    if (rows > 0 && data != nullptr) memory.emplace_back(data, rows * result.columns);
  }
  return memory;
}

tenon_buffer* Executable::create_buffer(uint64_t size_bytes, uint32_t purpose) {
  return device_->make<tenon_buffer>("buffer_create", "buffer", [&](tenon_buffer** out) {
    return device_->api().buffer_create(device_->get(), size_bytes, purpose, out);
  });
}

void Executable::destroy_buffer(tenon_buffer* buffer) noexcept {
  if (buffer == nullptr) return;
  device_->guarded_destroy("buffer_destroy", [&] { device_->api().buffer_destroy(buffer); });
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
