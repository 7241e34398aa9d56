#include "backend/device_buffer.h"

#include <utility>

namespace tenon {

void DeviceBuffer::Destroy::operator()(tenon_buffer* buffer) const noexcept {
  device->guarded_destroy("buffer_destroy", [&] { device->api().buffer_destroy(buffer); });
}

DeviceBuffer::DeviceBuffer(std::shared_ptr<Device> device, uint64_t size_bytes, uint32_t purpose)
    : device_(std::move(device)),
      buffer_(device_->make<tenon_buffer>("buffer_create", "buffer",
                                          [&](tenon_buffer** out) {
                                            return device_->api().buffer_create(
                                                device_->get(), size_bytes, purpose, out);
                                          }),
              Destroy{device_.get()}) {}

void DeviceBuffer::read(uint64_t offset, void* out, uint64_t size_bytes) const {
  device_->call("buffer_read",
                [&] { return device_->api().buffer_read(get(), offset, out, size_bytes); });
}

void DeviceBuffer::write(uint64_t offset, const void* in, uint64_t size_bytes) {
  device_->call("buffer_write",
                [&] { return device_->api().buffer_write(get(), offset, in, size_bytes); });
}

void DeviceBuffer::copy(uint64_t offset, const DeviceBuffer& from, uint64_t from_offset,
                        uint64_t size_bytes) {
  device_->call("buffer_copy", [&] {
    return device_->api().buffer_copy(get(), offset, from.get(), from_offset, size_bytes);
  });
}

}  // namespace tenon
