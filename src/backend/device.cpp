#include "backend/device.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

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

void mark_unwritten(std::span<float> logits) {
  std::fill(logits.begin(), logits.end(), std::bit_cast<float>(kUnwritten));
}

uint64_t num_unwritten(std::span<const float> logits) {
  uint64_t count = 0;
  for (const float x : logits) count += std::bit_cast<uint32_t>(x) == kUnwritten ? 1 : 0;
  return count;
}

uint64_t logits_columns(const tenon_program& program) {
  if (program.output >= program.num_slots) return 0;
  const auto* slots = reinterpret_cast<const std::byte*>(program.slots);
  tenon_slot slot;
  std::memcpy(&slot, slots + uint64_t{program.slot_size} * program.output, sizeof(slot));
  return slot.columns;
}

}  // namespace

std::shared_ptr<Device> Device::create(Backend backend, std::unique_ptr<HostServices> host,
                                       const Options& options) {
  std::shared_ptr<Device> device(new Device(std::move(backend), std::move(host)));
  std::vector<tenon_backend_option> list;
  for (const auto& [key, value] : options) list.push_back({key.c_str(), value.c_str()});
  device->device_ = device->make<tenon_device>("create_device", "device", [&](tenon_device** out) {
    return device->api().create_device(&device->host_->table(), list.data(),
                                       static_cast<uint32_t>(list.size()), out);
  });
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

std::string Device::description() const {
  tenon_device_info info{};
  info.struct_size = sizeof(info);
  call("describe", [&] { return api().describe(device_, &info); });
  const size_t length = ::strnlen(info.description, sizeof(info.description));
  return printable({info.description, length}, sizeof(info.description));
}

uint32_t Device::first_unsupported(const tenon_program& program) const {
  for (uint32_t op = 0; op < program.num_ops; ++op) {
    if (guarded("supports", [&] { return api().supports(device_, &program, op); }) == 0) return op;
  }
  return program.num_ops;
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
                  Destroy{device_.get()}),
      vocab_(logits_columns(program)) {
  for (uint32_t group = 0; group < program.num_groups; ++group) {
    block_bytes_.push_back(device_->size("kv_block_bytes", 1, [&] {
      return device_->api().kv_block_bytes(executable_.get(), group);
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

void Executable::run(const tenon_step& step) {
  const std::span<float> logits(step.logits, step.num_outputs * vocab_);
  // One pass over memory that a matrix product is about to fill.
  if (device_->is_plugin()) mark_unwritten(logits);
  uint64_t ticket = 0;
  device_->call(
      "run", [&] { return device_->api().run(executable_.get(), &step, &ticket); }, step.cancel);
  device_->call(
      "wait", [&] { return device_->api().wait(executable_.get(), ticket); }, step.cancel);
  if (!device_->is_plugin()) return;
  if (const uint64_t unwritten = num_unwritten(logits); unwritten != 0) {
    device_->break_with(fmt::format("run did not write the logits: {} of {} are missing", unwritten,
                                    logits.size()));
  }
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
