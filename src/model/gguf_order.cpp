#include "model/gguf_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/architectures.h"
#include "arch/folder/folder_form.h"
#include "arch/folder/head_rows.h"
#include "base/error.h"
#include "model/open_model.h"

namespace tenon {
namespace {

constexpr std::string_view kHalves = ".rope.halves";

/// Rows of q or k of a folder, in the order of GGUF files.
class PairedRows final : public ByteSource {
 public:
  PairedRows(std::shared_ptr<const ModelFile> base, const TensorInfo& tensor, uint64_t rows,
             uint64_t rows_of_head)
      : ByteSource(fmt::format("{}: {}", base->name(), tensor.name), tensor.bytes),
        base_(std::move(base)),
        tensor_(tensor),
        row_bytes_(tensor.bytes / rows),
        rows_of_head_(rows_of_head) {}

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const uint64_t row = offset / row_bytes_;
      const uint64_t skipped = offset % row_bytes_;
      const uint64_t from = HeadRows::in_folder(row, rows_of_head_);
      const uint64_t bytes = std::min<uint64_t>(out.size(), row_bytes_ - skipped);
      base_->read(tensor_, from * row_bytes_ + skipped, out.first(bytes));
      out = out.subspan(bytes);
      offset += bytes;
    }
  }

  std::shared_ptr<const ModelFile> base_;
  TensorInfo tensor_;
  uint64_t row_bytes_;
  uint64_t rows_of_head_;
};

/// Bytes of tensors, one after another.
class StackedBytes final : public ByteSource {
 public:
  StackedBytes(std::string name, std::shared_ptr<const ModelFile> base,
               std::vector<TensorInfo> tensors)
      : ByteSource(std::move(name), tensors.size() * tensors.front().bytes),
        base_(std::move(base)),
        tensors_(std::move(tensors)) {}

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    const uint64_t each = tensors_.front().bytes;
    while (!out.empty()) {
      const uint64_t skipped = offset % each;
      const uint64_t bytes = std::min<uint64_t>(out.size(), each - skipped);
      base_->read(tensors_[offset / each], skipped, out.first(bytes));
      out = out.subspan(bytes);
      offset += bytes;
    }
  }

  std::shared_ptr<const ModelFile> base_;
  std::vector<TensorInfo> tensors_;
};

/// "blk.0.ffn_up.3.weight" -> "blk.0.ffn_up_exps.weight" and 3; nothing for other names.
std::optional<std::pair<std::string, uint64_t>> stack_of(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  if (!name.starts_with("blk.") || !name.ends_with(kWeight)) return std::nullopt;
  name.remove_suffix(kWeight.size());
  const size_t dot = name.rfind('.');
  const std::string_view digits = name.substr(dot + 1);
  if (name.substr(0, dot).find(".ffn_") == name.npos || digits.empty()) return std::nullopt;
  uint64_t expert = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), expert);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return std::pair(fmt::format("{}_exps.weight", name.substr(0, dot)), expert);
}

/// The file with the matrices of all experts of a layer in one tensor. Experts of different formats
/// stay apart.
std::shared_ptr<const ModelFile> with_stacks(const std::shared_ptr<const ModelFile>& file) {
  std::map<std::string, std::map<uint64_t, TensorInfo>> stacks;
  for (const TensorInfo& tensor : file->tensors()) {
    const auto place = stack_of(tensor.name);
    if (!place || tensor.rank != 2) continue;
    stacks[place->first].emplace(place->second, tensor);
  }
  std::erase_if(stacks, [](const auto& stack) {
    const auto& experts = stack.second;
    const TensorInfo& first = experts.begin()->second;
    const bool has_all =
        experts.begin()->first == 0 && experts.rbegin()->first + 1 == experts.size();
    return !has_all || std::ranges::any_of(experts, [&](const auto& expert) {
      const TensorInfo& one = expert.second;
      return one.shape != first.shape || one.format != first.format || one.bytes != first.bytes;
    });
  });
  if (stacks.empty()) return file;
  std::vector<TensorInfo> tensors;
  std::vector<std::shared_ptr<const ByteSource>> sources(file->sources().begin(),
                                                         file->sources().end());
  for (const TensorInfo& tensor : file->tensors()) {
    const auto place = stack_of(tensor.name);
    const auto stack = place ? stacks.find(place->first) : stacks.end();
    if (stack == stacks.end()) {
      tensors.push_back(tensor);
      continue;
    }
    if (tensor.name != stack->second.begin()->second.name) continue;
    std::vector<TensorInfo> experts;
    for (const auto& [number, expert] : stack->second) experts.push_back(expert);
    TensorInfo& whole = tensors.emplace_back(tensor);
    whole.name = stack->first;
    whole.rank = 3;
    whole.shape = {experts.size(), tensor.shape[0], tensor.shape[1], 1};
    whole.bytes = tensor.bytes * experts.size();
    whole.source = static_cast<uint32_t>(sources.size());
    whole.offset = 0;
    sources.push_back(std::make_shared<StackedBytes>(
        fmt::format("{}: {}", file->name(), whole.name), file, std::move(experts)));
  }
  std::vector<uint64_t> headers(file->header_bytes().begin(), file->header_bytes().end());
  headers.resize(sources.size(), 0);
  return std::make_shared<const ModelFile>(*file, std::move(tensors), std::move(sources),
                                           std::move(headers), file->change());
}

bool has_folder_order(const ModelFile& file) {
  const auto name = file.metadata().get_or<std::string_view>("general.architecture", "");
  if (!file.metadata().get_or<bool>(fmt::format("{}{}", name, kHalves), false)) return false;
  return std::ranges::any_of(architectures(), [&](const NamedArchitecture& one) {
    return one.name == name && one.architecture->folder != nullptr &&
           one.architecture->folder->reorders_heads;
  });
}

}  // namespace

std::shared_ptr<const ModelFile> open_in_gguf_order(const std::string& path,
                                                    const std::shared_ptr<System>& system) {
  std::shared_ptr<const ModelFile> file = open_model(path, {system, {}});
  if (!has_folder_order(*file)) return with_stacks(file);
  const std::string key =
      fmt::format("{}{}", file->metadata().get_string("general.architecture"), kHalves);
  std::vector<MetadataOverride> overrides;
  overrides.push_back({key, MetadataValue::of(false)});
  file = with_stacks(open_model(path, {system, std::move(overrides)}));
  const HeadRows heads(read_model_spec(*file));
  std::vector<TensorInfo> tensors(file->tensors().begin(), file->tensors().end());
  std::vector<std::shared_ptr<const ByteSource>> sources(file->sources().begin(),
                                                         file->sources().end());
  for (TensorInfo& tensor : tensors) {
    const uint64_t rows =
        tensor.rank == 1 ? tensor.num_values() : tensor.num_values() / tensor.row_values();
    const uint64_t per_head = heads.per_head(file->name(), tensor.name, rows);
    if (per_head == 0) continue;
    sources.push_back(std::make_shared<PairedRows>(file, tensor, rows, per_head));
    tensor.source = static_cast<uint32_t>(sources.size() - 1);
    tensor.offset = 0;
  }
  std::vector<uint64_t> headers(file->header_bytes().begin(), file->header_bytes().end());
  headers.resize(sources.size(), 0);
  return std::make_shared<const ModelFile>(*file, std::move(tensors), std::move(sources),
                                           std::move(headers), file->change());
}

}  // namespace tenon
