#include "base/file_mapping.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/system_error.h"

namespace tenon {
namespace {

// Offsets of mappings must be multiples of the page size; 64 KiB is one for every page size in use.
constexpr uint64_t kMappingAlignment = uint64_t{64} << 10;

}  // namespace

FileMapping::FileMapping(std::shared_ptr<System> system, int fd, uint64_t offset,
                         uint64_t size_bytes, std::string_view name)
    : system_(std::move(system)) {
  if (size_bytes == 0) return;
  const uint64_t before = offset % kMappingAlignment;
  const uint64_t size = checked_add(before, size_bytes, name, Code::Io);
  int error = 0;
  void* pages = system_->map_file(fd, offset - before, size, error);
  if (pages == nullptr) {
    fail_system(-error, "{}: cannot map {} bytes at {}: {}", name, size_bytes, offset,
                errno_text(-error));
  }
  pages_ = pages;
  mapped_bytes_ = size;
  bytes_ = {static_cast<const std::byte*>(pages) + before, size_bytes};
}

FileMapping::~FileMapping() {
  if (pages_ != nullptr) system_->unmap_file(pages_, mapped_bytes_);
}

}  // namespace tenon
