#include "file/open.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "file/gguf.h"
#include "file/shards.h"

namespace tenon {
namespace {

using std::string_view_literals::operator""sv;

/// What people hand over instead of a GGUF file, by its first bytes.
struct Other {
  std::string_view begins_with;
  Code code;
  const char* what;
};

constexpr Other kOthers[] = {
    {"FUGG"sv, Code::Unsupported, "is a big-endian GGUF file"},
    {"lmgg"sv, Code::Unsupported, "is a GGML file, older than GGUF; convert it to GGUF"},
    {"fmgg"sv, Code::Unsupported, "is a GGMF file, older than GGUF; convert it to GGUF"},
    {"tjgg"sv, Code::Unsupported, "is a GGJT file, older than GGUF; convert it to GGUF"},
    {"algg"sv, Code::Unsupported, "is a GGLA adapter, older than GGUF; convert it to GGUF"},
    {"PK\x03\x04"sv, Code::Unsupported,
     "is a ZIP archive (a PyTorch checkpoint?); convert it to GGUF"},
    {"\x80\x02"sv, Code::Unsupported,
     "is a Python pickle, which is never read; convert it to GGUF"},
    {"\x1f\x8b"sv, Code::Unsupported, "is compressed (gzip); unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, Code::Unsupported, "is compressed (zstd); unpack it first"},
    {"version https://git-lfs"sv, Code::Format,
     "is a Git LFS pointer, not the model itself; fetch the file with git lfs pull"},
    {"<!"sv, Code::Format, "is a web page; the download went wrong"},
    {"<h"sv, Code::Format, "is a web page; the download went wrong"},
    {"{"sv, Code::Format, "is JSON text, not a model"},
};

constexpr uint64_t kSniffBytes = 32;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += fmt::format("{}{:02x}", out.empty() ? "" : " ", static_cast<uint8_t>(c));
  }
  return out;
}

/// Throws unless the source begins like a GGUF file.
void check_magic(const ByteSource& source) {
  std::array<char, kSniffBytes> bytes{};
  const auto size = std::min<uint64_t>(kSniffBytes, source.size());
  source.read(0, std::as_writable_bytes(std::span(bytes)).first(size));
  const std::string_view begin(bytes.data(), size);
  if (begin.starts_with("GGUF"sv)) return;
  if (size < 4) fail(Code::Format, "{}: ends at byte {} inside magic", source.name(), size);
  // safetensors: the length of a JSON object as u64, then the object.
  if (size >= 9 && begin[8] == '{' && begin.substr(5, 3) == "\0\0\0"sv) {
    fail(Code::Unsupported, "{}: is a safetensors file, which is not supported yet", source.name());
  }
  for (const Other& other : kOthers) {
    if (begin.starts_with(other.begins_with)) fail(other.code, "{}: {}", source.name(), other.what);
  }
  fail(Code::Format, "{}: is no model file: it begins with {} (GGUF begins with 47 47 55 46)",
       source.name(), hex(begin.substr(0, 4)));
}

Shard read_shard(std::shared_ptr<const ByteSource> source, const std::shared_ptr<System>& system) {
  check_magic(*source);
  GgufContents contents = read_gguf(*source, system);
  return {std::move(source), std::move(contents)};
}

std::shared_ptr<const ModelFile> assemble(std::vector<Shard> shards, OpenOptions options) {
  arrange_shards(shards);
  Metadata metadata = std::move(shards.front().contents.metadata);
  for (MetadataOverride& item : options.overrides) {
    if (item.key.empty() || !is_utf8(item.key)) {
      fail(Code::Argument, "override: key {} is empty or not UTF-8", quoted(item.key));
    }
    metadata.set(std::move(item.key), std::move(item.value));
  }
  std::vector<std::shared_ptr<const ByteSource>> sources;
  std::vector<uint64_t> header_bytes;
  std::vector<TensorInfo> tensors = std::move(shards.front().contents.tensors);
  for (Shard& shard : shards) {
    header_bytes.push_back(shard.contents.header_bytes);
    sources.push_back(std::move(shard.source));
    if (sources.size() == 1) continue;
    std::ranges::move(shard.contents.tensors, std::back_inserter(tensors));
  }
  return std::make_shared<const ModelFile>(std::move(metadata), std::move(tensors),
                                           std::move(sources), std::move(header_bytes));
}

}  // namespace

std::shared_ptr<const ModelFile> open_model_file(const std::string& path, OpenOptions options) {
  std::vector<Shard> shards;
  shards.push_back(read_shard(ByteSource::from_path(path, options.system), options.system));
  const uint32_t count = num_shards(shards.front().contents.metadata);
  if (count > 1) {
    const std::vector<std::string> paths = shard_paths(path, count);
    for (uint32_t i = 0; i < count; ++i) {
      if (paths[i] != path) shards.push_back(open_shard(paths[i], i + 1, count, options.system));
    }
  }
  return assemble(std::move(shards), std::move(options));
}

std::shared_ptr<const ModelFile> open_model_file(
    std::span<const std::shared_ptr<const ByteSource>> sources, OpenOptions options) {
  if (sources.empty()) fail(Code::Argument, "no source of a model file was given");
  std::vector<Shard> shards;
  for (const auto& source : sources) {
    if (source == nullptr) fail(Code::Argument, "a source of a model file is null");
    shards.push_back(read_shard(source, options.system));
  }
  return assemble(std::move(shards), std::move(options));
}

}  // namespace tenon
  std::vector<std::string> overridden;
    // Words of a file about itself are there to be shown.
    const bool is_shown = item.key.starts_with("general.") && metadata.contains(item.key);
    if (!is_shown) overridden.push_back(item.key);
  if (!overridden.empty()) metadata.watch(std::move(overridden));
