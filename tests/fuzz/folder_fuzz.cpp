// Fuzz target: a config.json, a byte of zero and a safetensors file, opened as a model folder. Its
// program is built, packed and decoded, and the ends of every bound weight are read; only Error and
// std::bad_alloc may come out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "arch/architectures.h"
#include "arch/folder/folder_model.h"
#include "base/error.h"

namespace tenon {
namespace {

constexpr uint64_t kMostBytes = 1u << 22;  // of rows that are read

std::shared_ptr<const ModelFile> open_folder(std::span<const std::byte> config,
                                             std::span<const std::byte> tensors) {
  static constexpr char kTokenizer[] = "{}";
  std::vector<FolderFile> files;
  const auto add = [&files](const char* name, std::span<const std::byte> bytes) {
    files.push_back({name, ByteSource::from_memory(bytes, name)});
  };
  add("config.json", config);
  add("model.safetensors", tensors);
  add("tokenizer.json", std::as_bytes(std::span(kTokenizer, sizeof(kTokenizer) - 1)));
  return open_model_folder(FileFolder::from_files(std::move(files), "fuzz"), System::real());
}

void read_ends(const ModelFile& file, const RowSource& source) {
  if (source.row_bytes() == 0 || source.row_bytes() > kMostBytes) return;
  const uint64_t count =
      std::min({source.num_rows(), kMostBytes / source.row_bytes(), uint64_t{40}});
  std::vector<std::byte> rows(count * source.row_bytes());
  source.read(file, 0, count, rows);
  source.read(file, source.num_rows() - count, count, rows);
}

void walk(const ModelFile& file) {
  for (const bool decodes : {false, true}) {
    ProgramOptions options;
    options.decodes_packed = decodes;
    const BuiltProgram built = build_program(file, options);
    for (const BoundWeight& weight : built.weights) {
      try {
        read_ends(file, weight.source);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto end = std::ranges::find(bytes, std::byte{0});
  const auto length = static_cast<size_t>(end - bytes.begin());
  try {
    walk(*open_folder(bytes.first(length), bytes.subspan(std::min(size, length + 1))));
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
