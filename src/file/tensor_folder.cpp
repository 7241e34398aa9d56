#include "file/tensor_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "file/foreign_files.h"
#include "json/json_tree.h"

namespace tenon {
namespace {

constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kPlainName = "model.safetensors";
constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxWeightFiles = 4'096;
/// Limit on the texts of "__metadata__" in all files together.
constexpr uint64_t kMaxMetadataBytes = uint64_t{64} << 20;

/// Number and count of "<stem>-NNNNN-of-NNNNN.safetensors".
struct PartName {
  std::string stem;
  uint32_t number;
  uint32_t count;
};

std::optional<uint32_t> five_digits(std::string_view text) {
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

std::optional<PartName> part_name(std::string_view file) {
  constexpr std::string_view kOf = "-of-";
  constexpr size_t kTail = 1 + 5 + kOf.size() + 5;
  if (!file.ends_with(kSuffix)) return std::nullopt;
  file.remove_suffix(kSuffix.size());
  if (file.size() <= kTail) return std::nullopt;
  const std::string_view tail = file.substr(file.size() - kTail);
  if (tail[0] != '-' || tail.substr(6, kOf.size()) != kOf) return std::nullopt;
  const auto number = five_digits(tail.substr(1, 5));
  const auto count = five_digits(tail.substr(10, 5));
  if (!number || !count) return std::nullopt;
  return PartName{std::string(file.substr(0, file.size() - kTail)), *number, *count};
}

/// The index of a folder: the usual name, else the only file with its suffix; empty without one.
std::string index_name(const FileFolder& folder) {
  std::string only;
  for (const std::string& file : folder.files()) {
    if (!file.ends_with(kIndexSuffix)) continue;
    if (file == std::string(kPlainName) + ".index.json") return file;
    only = only.empty() ? file : "*";
  }
  return only == "*" ? std::string() : only;
}

std::vector<std::string> files_of_index(const FileFolder& folder, const std::string& index) {
  const std::string text = folder.read_text(index, kMaxIndexBytes);
  const std::string place = folder.name() + "/" + index;
  const JsonNode root =
      parse_json_tree(text, place, {.max_bytes = kMaxIndexBytes, .max_values = 1'200'000});
  const JsonNode* map = root.find("weight_map");
  if (map == nullptr || !map->is(JsonNode::Kind::Object)) {
    fail(Code::Format, "{}: \"weight_map\" is {}, expected an object", place,
         map == nullptr ? "missing" : "of another type");
  }
  std::set<std::string> files;
  for (size_t i = 0; i < map->items.size(); ++i) {
    const JsonNode& file = map->items[i];
    if (!file.is(JsonNode::Kind::String) || !file.text.ends_with(kSuffix)) {
      fail(Code::Format, "{}: the file of tensor {} is {}, expected a name that ends with \"{}\"",
           place, quoted(map->keys[i]),
           file.is(JsonNode::Kind::String) ? quoted(file.text) : "no text", kSuffix);
    }
    files.insert(file.text);
  }
  if (files.empty()) fail(Code::Format, "{}: \"weight_map\" names no file", place);
  if (files.size() > kMaxWeightFiles) {
    fail(Code::Limit, "{}: {} files, the limit is {}", place, files.size(), kMaxWeightFiles);
  }
  return {files.begin(), files.end()};
}

/// All parts of the set that `first` belongs to.
std::vector<std::string> all_parts(const FileFolder& folder, const PartName& first) {
  std::vector<std::string> files;
  for (uint32_t i = 1; i <= first.count; ++i) {
    files.push_back(fmt::format("{}-{:05}-of-{:05}{}", first.stem, i, first.count, kSuffix));
    if (folder.contains(files.back())) continue;
    fail(Code::Format, "{}: part {} of {} is missing: {}; fetch the folder again", folder.name(), i,
         first.count, quoted(files.back()));
  }
  return files;
}

std::vector<std::string> files_without_index(const FileFolder& folder) {
  if (folder.contains(kPlainName)) return {std::string(kPlainName)};
  std::vector<std::string> found;
  std::optional<PartName> parts;
  for (const std::string& file : folder.files()) {
    if (!file.ends_with(kSuffix) || file.starts_with("adapter_")) continue;
    const auto part = part_name(file);
    if (part && (!parts || part->stem == "model")) parts = part;
    found.push_back(file);
  }
  if (parts && parts->count > kMaxWeightFiles) {
    fail(Code::Limit, "{}: {} files, the limit is {}", folder.name(), parts->count,
         kMaxWeightFiles);
  }
  if (parts && parts->count > 0) return all_parts(folder, *parts);
  if (found.size() == 1) return found;
  if (found.empty()) refuse_folder_without_weights(folder);
  fail(
      Code::Format,
      "{}: has {} safetensors files, such as {} and {}, but no \"{}\" and no index that says which "
      "of them are the model",
      folder.name(), found.size(), quoted(found[0]), quoted(found[1]), kPlainName);
}

}  // namespace

std::shared_ptr<const TensorFolder> TensorFolder::open(
    const std::shared_ptr<const FileFolder>& folder, const std::shared_ptr<System>& system) {
  const std::string index = index_name(*folder);
  const std::vector<std::string> files =
      index.empty() ? files_without_index(*folder) : files_of_index(*folder, index);
  std::vector<std::shared_ptr<const ByteSource>> sources;
  sources.reserve(files.size());
  for (const std::string& file : files) sources.push_back(folder->open(file));
  return open_files(sources, folder->name(), system);
}

std::shared_ptr<const TensorFolder> TensorFolder::open_files(
    std::span<const std::shared_ptr<const ByteSource>> sources, std::string name,
    const std::shared_ptr<System>& system) {
  std::shared_ptr<TensorFolder> folder(new TensorFolder);
  folder->name_ = std::move(name);
  uint64_t metadata_bytes = 0;
  for (const auto& source : sources) {
    if (source == nullptr) fail(Code::Argument, "{}: a source is null", folder->name_);
    SafetensorsContents contents = read_safetensors(*source, system);
    for (StoredTensor& tensor : contents.tensors) {
      tensor.source = static_cast<uint32_t>(folder->sources_.size());
      folder->tensors_.push_back(std::move(tensor));
    }
    for (const auto& [key, text] : contents.metadata) metadata_bytes += key.size() + text.size();
    if (metadata_bytes > kMaxMetadataBytes) {
      fail(Code::Limit, "{}: more than {} bytes of \"__metadata__\" in all files", folder->name_,
           kMaxMetadataBytes);
    }
    std::ranges::move(contents.metadata, std::back_inserter(folder->metadata_));
    folder->sources_.push_back(source);
    if (folder->tensors_.size() > kMaxSafetensorsTensors) {
      fail(Code::Limit, "{}: more than {} tensors", folder->name_, kMaxSafetensorsTensors);
    }
  }
  std::ranges::stable_sort(folder->tensors_, {}, &StoredTensor::name);
  std::ranges::stable_sort(folder->metadata_, {}, [](const auto& item) { return item.first; });
  const auto twice = std::ranges::adjacent_find(folder->tensors_, {}, &StoredTensor::name);
  if (twice != folder->tensors_.end()) {
    fail(Code::Format, "{}: tensor {} is there twice{}", sources[twice->source]->name(),
         quoted(twice->name),
         twice[1].source == twice->source ? "" : ", also in " + sources[twice[1].source]->name());
  }
  return folder;
}

const StoredTensor* TensorFolder::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      tensors_, name, {}, [](const StoredTensor& t) { return std::string_view(t.name); });
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

const std::string* TensorFolder::metadata(std::string_view key) const {
  const auto found = std::ranges::lower_bound(
      metadata_, key, {}, [](const auto& item) { return std::string_view(item.first); });
  return found == metadata_.end() || found->first != key ? nullptr : &found->second;
}

std::string TensorFolder::place(const StoredTensor& tensor) const {
  return fmt::format("{}: tensor {} {}", sources_[tensor.source]->name(), quoted(tensor.name),
                     tensor.text());
}

void TensorFolder::read(const StoredTensor& tensor, uint64_t offset,
                        std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    fail(Code::Argument, "{}: {} bytes at {} lie outside its {} bytes", place(tensor), out.size(),
         offset, tensor.bytes);
  }
  sources_[tensor.source]->read(tensor.offset + offset, out);
}

}  // namespace tenon
