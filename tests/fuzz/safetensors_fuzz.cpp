// Fuzz target: any bytes opened as a safetensors file whose "__metadata__" may hold a configuration
// ("config"). Every weight in it is read by the reader of its scheme; only Error and std::bad_alloc
// may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "base/error.h"
#include "file/tensor_folder.h"
#include "weights/foreign/row_reader.h"

namespace tenon {
namespace {

constexpr uint64_t kMostValues = 1u << 20;  // of a piece that is read

QuantConfig config_of(const TensorFolder& folder) {
  const std::string* text = folder.metadata("config");
  if (text == nullptr) return {};
  try {
    return read_quant_config(parse_json_tree(*text, "config"), "config");
  } catch (const Error&) {
    return {};
  }
}

void read_ends(const RowReader& reader) {
  const MatrixSize size = reader.size();
  if (size.rows == 0 || size.columns == 0 || size.columns > kMostValues) return;
  const uint64_t most = std::max<uint64_t>(1, kMostValues / size.columns);
  const uint64_t count = std::min({size.rows, most, uint64_t{70}});
  std::vector<float> values(count * size.columns);
  reader.read(0, count, values);
  reader.read(size.rows - count, count, values);
}

void walk(const std::shared_ptr<const TensorFolder>& folder) {
  const QuantConfig config = config_of(*folder);
  for (const StoredTensor& tensor : folder->tensors()) {
    if (folder->find(tensor.name) != &tensor) __builtin_trap();
    std::byte last{};
    if (tensor.bytes > 0) folder->read(tensor, tensor.bytes - 1, {&last, 1});
    const std::string name = tensor.name.substr(0, tensor.name.find_last_of("._"));
    for (const std::string& weight : {tensor.name, name}) {
      try {
        read_ends(*open_rows(folder, weight, config));
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  try {
    const auto source = ByteSource::from_memory(std::as_bytes(std::span(data, size)), "fuzz");
    walk(TensorFolder::open_files(std::span(&source, 1), "fuzz", System::real()));
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
