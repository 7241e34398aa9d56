#include "file/open.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/source_reader.h"
#include "base/utf8.h"
#include "file/foreign_files.h"
#include "file/gguf.h"
#include "file/shards.h"

namespace tenon {
namespace {

using std::string_view_literals::operator""sv;

/// Files often given instead of GGUF files, by their first bytes.
struct Other {
  std::string_view begins_with;
  Code code;
  const char* what;
};

constexpr Other kOthers[] = {
    {"FUGG"sv, Code::Unsupported,
     "is a big-endian GGUF file; fetch or convert one for this machine"},
    {"lmgg"sv, Code::Unsupported, "is a GGML file, older than GGUF; convert it to GGUF"},
    {"fmgg"sv, Code::Unsupported, "is a GGMF file, older than GGUF; convert it to GGUF"},
    {"tjgg"sv, Code::Unsupported, "is a GGJT file, older than GGUF; convert it to GGUF"},
    {"algg"sv, Code::Unsupported, "is a GGLA adapter, older than GGUF; convert it to GGUF"},
    {"PK\x03\x04"sv, Code::Unsupported,
     "is a ZIP archive (a PyTorch checkpoint?); convert the model to GGUF"},
    {"\x80\x02"sv, Code::Unsupported,
     "is a Python pickle, which is never read; convert it to GGUF"},
    {"\x1f\x8b"sv, Code::Unsupported, "is compressed (gzip); unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, Code::Unsupported, "is compressed (zstd); unpack it first"},
    {"version https://git-lfs"sv, Code::Format,
     "is a Git LFS pointer, not the model itself; fetch the file with git lfs pull"},
    {"<!"sv, Code::Format, "is a web page; the download went wrong"},
    {"<h"sv, Code::Format, "is a web page; the download went wrong"},
    {"{"sv, Code::Format, "is JSON text, not a model; weights are in a GGUF file"},
};

constexpr uint64_t kSniffBytes = 32;

constexpr const char* kConvert =
    "convert the folder that it lies in to GGUF, as with llama.cpp's convert_hf_to_gguf.py, or "
    "fetch "
    "a GGUF file of the model";

/// Files of a folder, by suffix.
struct FolderContents {
  std::string gguf;  ///< the first by name; or empty
  bool checkpoint = false;
};

/// Contents of a folder; nothing if `path` is no folder.
std::optional<FolderContents> folder_contents(System& system, const std::string& path) {
  FolderContents contents;
  const int error = system.list_directory(
      path.c_str(),
      [](void* user, const char* entry) {
        auto& found = *static_cast<FolderContents*>(user);
        const std::string_view name = entry;
        if (name.ends_with(".gguf") && (found.gguf.empty() || name < found.gguf)) found.gguf = name;
        if (name.ends_with(".safetensors") || name.ends_with(".bin")) found.checkpoint = true;
      },
      &contents);
  if (error != 0) return std::nullopt;
  return contents;
}

/// Throws for a folder in place of a file, with advice.
void refuse_folder(System& system, const std::string& path) {
  const auto contents = folder_contents(system, path);
  if (!contents) return;
  if (!contents->gguf.empty()) {
    fail(Code::Io, "{}: is a folder; name a file in it, as {}", path, contents->gguf);
  }
  if (contents->checkpoint) {
    fail(Code::Unsupported,
         "{}: is a folder with a checkpoint, which is not read here; convert it to GGUF, as with "
         "llama.cpp's convert_hf_to_gguf.py, or fetch a GGUF file of the model",
         path);
  }
  fail(Code::Io, "{}: is a folder without a GGUF file", path);
}

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
  if (size < 4) {
    fail(Code::Format, "{}: ends at byte {} inside magic{}", source.name(), size, kCutShort);
  }
  // safetensors: the length of a JSON object as u64, then the object.
  if (size >= 9 && begin[8] == '{' && begin.substr(5, 3) == "\0\0\0"sv) {
    fail(Code::Unsupported, "{}: is a safetensors file, which is not read here; {}", source.name(),
         kConvert);
  }
  for (const Other& other : kOthers) {
    if (begin.starts_with(other.begins_with)) fail(other.code, "{}: {}", source.name(), other.what);
  }
  refuse_foreign_file(source.name(), begin);
  fail(Code::Format,
       "{}: is no model file: it begins with {} (GGUF begins with 47 47 55 46); name a GGUF file",
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
  apply_overrides(metadata, std::move(options.overrides));
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
  std::shared_ptr<const ByteSource> source;
  try {
    source = ByteSource::from_path(path, options.system);
  } catch (const Error& error) {
    if (error.code() == Code::Io) refuse_folder(*options.system, path);
    throw;
  }
  shards.push_back(read_shard(std::move(source), options.system));
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
