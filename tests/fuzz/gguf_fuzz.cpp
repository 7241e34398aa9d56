// Fuzz target: any bytes opened as a GGUF file. Everything that an open file offers is walked; only
// Error and std::bad_alloc may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "base/error.h"
#include "file/open.h"

namespace tenon {
namespace {

/// Reads a value by every accessor; wrong types are errors, which are expected.
template <typename... T>
void read_as(const Metadata& metadata, const std::string& key) {
  const auto read_one = [&]<typename U>() {
    try {
      static_cast<void>(metadata.get<U>(key));
    } catch (const Error&) {
    }
  };
  (read_one.template operator()<T>(), ...);
}

void walk(const ModelFile& file) {
  for (const Metadata::Entry& entry : file.metadata().entries()) {
    read_as<bool, int32_t, uint32_t, int64_t, uint64_t, float, double, std::string_view,
            StringArray, std::vector<int32_t>, std::vector<float>, std::vector<bool>>(
        file.metadata(), entry.key);
    static_cast<void>(metadata_text(entry.value));
  }
  std::vector<std::byte> bytes(64);
  for (const TensorInfo& tensor : file.tensors()) {
    static_cast<void>(tensor.text());
    const auto size = std::min<uint64_t>(tensor.bytes, bytes.size());
    file.read(tensor, tensor.bytes - size, std::span(bytes).first(size));
    if (file.find(tensor.name) != &tensor) __builtin_trap();
  }
  static_cast<void>(file.fingerprint());
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tenon::ByteSource;
  try {
    const auto source = ByteSource::from_memory(std::as_bytes(std::span(data, size)), "fuzz");
    tenon::walk(*tenon::open_model_file(source));
  } catch (const tenon::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
