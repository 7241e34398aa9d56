#include "file/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tenon {

std::string TensorInfo::text() const {
  std::string out = "[";
  for (uint32_t i = 0; i < rank; ++i) out += fmt::format("{}{}", i > 0 ? ", " : "", shape[i]);
  return out + "] " + find_format(format)->name;
}

ModelFile::ModelFile(Metadata metadata, std::vector<TensorInfo> tensors,
                     std::vector<std::shared_ptr<const ByteSource>> sources,
                     std::vector<uint64_t> header_bytes)
    : metadata_(std::make_shared<const Metadata>(std::move(metadata))),
      tensors_(std::move(tensors)),
      by_name_(tensors_.size()),
      sources_(std::move(sources)),
      header_bytes_(std::move(header_bytes)) {
  index_tensors();
}

ModelFile::ModelFile(const ModelFile& base, std::vector<TensorInfo> tensors,
                     std::vector<std::shared_ptr<const ByteSource>> sources,
                     std::vector<uint64_t> header_bytes, const Hash128& change)
    : metadata_(base.metadata_),
      change_(change),
      tensors_(std::move(tensors)),
      by_name_(tensors_.size()),
      sources_(std::move(sources)),
      header_bytes_(std::move(header_bytes)) {
  index_tensors();
}

void ModelFile::index_tensors() {
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::ranges::sort(by_name_, [&](uint32_t a, uint32_t b) {
    const int order = tensors_[a].name.compare(tensors_[b].name);
    return order != 0 ? order < 0 : a < b;
  });
  for (size_t i = 0; i < by_name_.size(); ++i) {
    const TensorInfo& tensor = tensors_[by_name_[i]];
    if (i > 0 && tensors_[by_name_[i - 1]].name == tensor.name) {
      fail(Code::Format, "{}: tensor {} is there twice", sources_[tensor.source]->name(),
           quoted(tensor.name));
    }
    tensor_bytes_ = checked_add(tensor_bytes_, tensor.bytes, "bytes of all tensors");
  }
}

const TensorInfo* ModelFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name_, name, {}, [&](uint32_t index) { return std::string_view(tensors_[index].name); });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

void ModelFile::read(const TensorInfo& tensor, uint64_t offset, std::span<std::byte> out) const {
  const ByteSource& source = *sources_[tensor.source];
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    fail(Code::Argument, "{}: tensor {}: {} bytes at {} lie outside its {} bytes", source.name(),
         quoted(tensor.name), out.size(), offset, tensor.bytes);
  }
  source.read(tensor.offset + offset, out);
}

Hash128 ModelFile::fingerprint() const {
  Hasher hasher;
  if (change_ != Hash128{}) hasher.add(std::as_bytes(std::span(&change_, 1)));
  std::vector<std::byte> piece(uint64_t{64} << 10);
  for (size_t i = 0; i < sources_.size(); ++i) {
    const uint64_t sizes[] = {sources_[i]->size(), header_bytes_[i]};
    hasher.add(std::as_bytes(std::span(sizes)));
    for (uint64_t offset = 0; offset < header_bytes_[i]; offset += piece.size()) {
      const auto part =
          std::span(piece).first(std::min<uint64_t>(piece.size(), header_bytes_[i] - offset));
      sources_[i]->read(offset, part);
      hasher.add(part);
    }
  }
  return hasher.value();
}

}  // namespace tenon
