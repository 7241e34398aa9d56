#include "model/tokenizer_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/error.h"
#include "file/folder_keys.h"
#include "model/file_kind.h"
#include "model/open_model.h"
#include "model/vocabulary_reader.h"
#include "text/tokenizer_json/json_tokenizer.h"

namespace tenon {
namespace {

// A tokenizer.json may begin with white space.
constexpr size_t kSniffedBytes = 64;
// The largest published file has 33 MB.
constexpr uint64_t kMaxJsonFileBytes = uint64_t{256} << 20;

std::string read_start(const ByteSource& source, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  source.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

/// Tokenizer of a JSON source; null for other sources.
std::unique_ptr<const Tokenizer> try_json(const ByteSource& source,
                                          const std::shared_ptr<System>& system) {
  const auto sniffed = static_cast<size_t>(std::min<uint64_t>(source.size(), kSniffedBytes));
  if (!looks_like_json(read_start(source, sniffed))) return nullptr;
  if (source.size() > kMaxJsonFileBytes) {
    fail(Code::Limit, "{}: {} bytes of JSON, the limit is {}", source.name(), source.size(),
         kMaxJsonFileBytes);
  }
  return make_json_tokenizer(read_start(source, static_cast<size_t>(source.size())), source.name(),
                             system);
}

}  // namespace

bool has_json_tokenizer(const Metadata& metadata) {
  return metadata.contains(kTokenizerJsonKey) &&
         (!metadata.contains("tokenizer.ggml.model") || metadata.contains(kTokenizerJsonCountsKey));
}

TokenRoles roles_of(const Metadata& metadata) {
  const auto text = [&](std::string_view key) {
    return metadata.get_or<std::string_view>(key, "");
  };
  TokenRoles roles{
      text(kBosTextKey), text(kEosTextKey), text(kPaddingTextKey), text(kUnknownTextKey), {}};
  for (const int32_t token : metadata.get_or<std::vector<int32_t>>(kEndTokensKey, {})) {
    roles.end_tokens.push_back(token);
  }
  return roles;
}

std::unique_ptr<const Tokenizer> read_tokenizer(const ModelFile& file,
                                                const std::shared_ptr<System>& system) {
  refuse_other_kinds(file);
  if (has_json_tokenizer(file.metadata())) {
    const auto json = file.metadata().get_or<std::string_view>(kTokenizerJsonKey, "");
    return make_json_tokenizer(json, file.name() + "/tokenizer.json", system,
                               roles_of(file.metadata()));
  }
  Vocabulary vocabulary = read_vocabulary(file.metadata());
  try {
    return make_tokenizer(std::move(vocabulary), system);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", file.name(), error.what());
  }
}

std::unique_ptr<const Tokenizer> empty_tokenizer(const std::shared_ptr<System>& system) {
  Vocabulary vocabulary;
  vocabulary.model = "rwkv";
  vocabulary.tokens.emplace_back();
  return make_tokenizer(std::move(vocabulary), system);
}

std::unique_ptr<const Tokenizer> load_tokenizer(const std::string& path,
                                                const std::shared_ptr<System>& system) {
  // A config.json stands for its folder.
  if (folder_of(path, *system).empty()) {
    if (auto tokenizer = try_json(*ByteSource::from_path(path, system), system)) return tokenizer;
  }
  // Opened by path to find the other parts.
  return read_tokenizer(*open_model(path, {system, {}}), system);
}

std::unique_ptr<const Tokenizer> load_tokenizer(const std::shared_ptr<const ByteSource>& source,
                                                const std::shared_ptr<System>& system) {
  if (auto tokenizer = try_json(*source, system)) return tokenizer;
  return read_tokenizer(*open_model(std::span(&source, 1), {system, {}}), system);
}

}  // namespace tenon
