// Fuzz target: any bytes judged as a shared library, in each system's format. No answer may read
// beyond the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "backend/library_file.h"

namespace tenon {
namespace {

class Bytes final : public LibraryBytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool read_at(uint64_t offset, std::span<std::byte> out) const override {
    // The parser asks for bytes of the file only.
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) std::abort();
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const Bytes bytes(std::as_bytes(std::span(data, size)));
  for (const auto format : {LibraryFormat::Elf, LibraryFormat::Pe, LibraryFormat::MachO}) {
    static_cast<void>(is_whole_library(format, bytes, size));
  }
  return 0;
}
