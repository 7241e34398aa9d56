#include "model/model_fingerprint.h"

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace tenon {
namespace {

void add_number(Hasher& hasher, uint64_t value) { hasher.add(std::as_bytes(std::span(&value, 1))); }

void add_text(Hasher& hasher, std::string_view text) {
  add_number(hasher, text.size());
  hasher.add(std::as_bytes(std::span(text)));
}

void add_metadata(Hasher& hasher, const Metadata& metadata) {
  for (const Metadata::Entry& entry : metadata.entries()) {
    const MetadataValue& value = entry.value;
    add_text(hasher, entry.key);
    for (const uint64_t number : {uint64_t{static_cast<uint32_t>(value.type)},
                                  uint64_t{static_cast<uint32_t>(value.element)}, value.count,
                                  value.integer, std::bit_cast<uint64_t>(value.real)}) {
      add_number(hasher, number);
    }
    add_text(hasher, value.text);
    hasher.add(value.bytes.span());
    hasher.add(value.offsets.span());
  }
}

}  // namespace

Hash128 model_fingerprint(const ModelFile& file, const TensorSamples& samples) {
  Hasher hasher;
  add_metadata(hasher, file.metadata());
  if (file.change() != Hash128{}) {
    hasher.add(std::as_bytes(std::span(&file.change(), 1)));
  }
  for (uint32_t i = 0; i < file.tensors().size(); ++i) {
    const TensorInfo& tensor = file.tensors()[i];
    add_text(hasher, tensor.name);
    add_text(hasher, tensor.text());
    hasher.add(samples.of(i));
  }
  return hasher.value();
}

}  // namespace tenon
