#include "arch/adapter/merged_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "weights/row_source.h"

namespace tenon {
namespace {

/// What happens to one tensor.
struct TensorMerge {
  std::vector<std::pair<float, const LowRankChange*>> changes;  ///< with the user's scale
  std::vector<std::pair<float, const BiasChange*>> biases;
  const ReplacedRows* replaced = nullptr;
};

/// Rows of a tensor after the changes, f32. Reads from any thread.
class MergedRows final : public ByteSource {
 public:
  /// tensor: null for a bias that the base lacks
  MergedRows(std::string name, std::shared_ptr<const ModelFile> base, const TensorInfo* tensor,
             uint64_t rows, uint64_t columns, TensorMerge merge,
             std::vector<std::shared_ptr<const Adapter>> adapters)
      : ByteSource(std::move(name), rows * columns * sizeof(float)),
        base_(std::move(base)),
        tensor_(tensor),
        columns_(columns),
        merge_(std::move(merge)),
        adapters_(std::move(adapters)) {
    if (merge_.replaced == nullptr) return;
    const std::vector<uint64_t>& numbers = merge_.replaced->rows;
    for (uint64_t i = 0; i < numbers.size(); ++i) replaced_rows_.emplace(numbers[i], i);
  }

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    const uint64_t row_bytes = columns_ * sizeof(float);
    const uint64_t most = std::max<uint64_t>(1, kPieceBytes / row_bytes);
    std::vector<float> piece;
    std::vector<float> delta(columns_);
    while (!out.empty()) {
      const uint64_t first = offset / row_bytes;
      const uint64_t skipped = offset % row_bytes;
      const uint64_t count = std::min(most, (skipped + out.size() + row_bytes - 1) / row_bytes);
      piece.resize(count * columns_);
      read_base(first, count, piece);
      for (uint64_t i = 0; i < count; ++i) {
        change(first + i, std::span(piece).subspan(i * columns_, columns_), delta);
      }
      const uint64_t bytes = std::min<uint64_t>(out.size(), count * row_bytes - skipped);
      std::memcpy(out.data(), std::as_bytes(std::span(piece)).data() + skipped, bytes);
      out = out.subspan(bytes);
      offset += bytes;
    }
  }

  void read_base(uint64_t first, uint64_t count, std::span<float> out) const {
    const bool is_replaced = merge_.replaced != nullptr && merge_.replaced->rows.empty();
    if (tensor_ == nullptr || is_replaced) {
      std::ranges::fill(out, 0.0f);
      return;
    }
    RowSource(*tensor_).decoded().read(*base_, first, count, std::as_writable_bytes(out));
  }

  void change(uint64_t row, std::span<float> values, std::span<float> delta) const {
    if (merge_.replaced != nullptr) {
      uint64_t from = row;
      if (!merge_.replaced->rows.empty()) {
        const auto found = replaced_rows_.find(row);
        if (found == replaced_rows_.end()) return;
        from = found->second;
      }
      std::ranges::copy(std::span(merge_.replaced->values).subspan(from * columns_, columns_),
                        values.begin());
      return;
    }
    for (const auto& [scale, bias] : merge_.biases) {
      for (uint64_t i = 0; i < columns_; ++i) values[i] += scale * bias->values[i];
    }
    for (const auto& [scale, one] : merge_.changes) {
      if (row < one->first_row || row - one->first_row >= one->num_rows) continue;
      const uint64_t own = row - one->first_row;
      std::ranges::fill(delta, 0.0f);
      for (uint64_t k = 0; k < one->rank; ++k) {
        const float factor = one->b[own * one->rank + k];
        const float* a = one->a.data() + k * columns_;
        for (uint64_t i = 0; i < columns_; ++i) delta[i] += factor * a[i];
      }
      const float all = scale * one->scale;
      for (uint64_t i = 0; i < columns_; ++i) values[i] += all * delta[i];
      if (!one->magnitudes.empty()) set_norm(values, one->magnitudes[own]);
    }
  }

  /// A row of zeros stays one.
  static void set_norm(std::span<float> values, float norm) {
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    if (sum == 0) return;
    const auto factor = static_cast<float>(norm / std::sqrt(sum));
    for (float& value : values) value *= factor;
  }

  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  std::shared_ptr<const ModelFile> base_;
  const TensorInfo* tensor_;
  uint64_t columns_;
  TensorMerge merge_;
  std::map<uint64_t, uint64_t> replaced_rows_;            // by number
  std::vector<std::shared_ptr<const Adapter>> adapters_;  // owners of what merge_ points to
};

class AdapterMerger {
 public:
  AdapterMerger(const std::shared_ptr<const ModelFile>& base,
                std::span<const ScaledAdapter> adapters)
      : base_(base) {
    Hasher hasher;
    for (const ScaledAdapter& one : adapters) {
      if (!std::isfinite(one.scale)) {
        fail(Code::Argument, "{}: scale {} is no number", one.adapter->name, one.scale);
      }
      if (!one.adapter->invocation.empty()) {
        fail(Code::Unsupported,
             "{}: is active from its invocation tokens on (aLoRA), and cannot be merged",
             one.adapter->name);
      }
      if (one.scale == 0.0f) continue;
      hasher.add(std::as_bytes(std::span(&one.adapter->fingerprint, 1)));
      hasher.add(std::as_bytes(std::span(&one.scale, 1)));
      adapters_.push_back(one.adapter);
      take(one);
    }
    change_ = hasher.value();
  }

  std::shared_ptr<const ModelFile> merge() {
    if (adapters_.empty()) return base_;
    keep_head();
    tensors_.assign(base_->tensors().begin(), base_->tensors().end());
    sources_.assign(base_->sources().begin(), base_->sources().end());
    for (auto& [name, merge] : merges_) put(name, std::move(merge));
    std::vector<uint64_t> headers(base_->header_bytes().begin(), base_->header_bytes().end());
    headers.resize(sources_.size(), 0);
    return std::make_shared<const ModelFile>(*base_, std::move(tensors_), std::move(sources_),
                                             std::move(headers), change_);
  }

 private:
  void take(const ScaledAdapter& one) {
    for (const LowRankChange& change : one.adapter->changes) {
      if (!std::isfinite(one.scale * change.scale)) {
        fail(Code::Argument, "{}: scale {} times that of {}, {}, is beyond the numbers of 32 bits",
             one.adapter->name, one.scale, quoted(change.tensor), change.scale);
      }
      merges_[change.tensor].changes.emplace_back(one.scale, &change);
      low_rank_embedding_ |= change.tensor == "token_embd.weight";
    }
    for (const BiasChange& bias : one.adapter->biases) {
      merges_[bias.tensor].biases.emplace_back(one.scale, &bias);
    }
    for (const ReplacedRows& rows : one.adapter->replaced) {
      TensorMerge& merge = merges_[rows.tensor];
      if (merge.replaced != nullptr) refuse_two(rows.tensor);
      merge.replaced = &rows;
      low_rank_embedding_ |= rows.tensor == "token_embd.weight" && rows.rows.empty();
    }
  }

  [[noreturn]] void refuse_two(const std::string& tensor) const {
    fail(Code::Unsupported,
         "{}: tensor {} is changed twice, and one change replaces or rescales it", base_->name(),
         quoted(tensor));
  }

  void check(const std::string& name, const TensorMerge& merge) const {
    const bool is_rescaled = std::ranges::any_of(
        merge.changes, [](const auto& one) { return !one.second->magnitudes.empty(); });
    const size_t count = merge.changes.size() + merge.biases.size();
    if ((merge.replaced != nullptr && count > 0) || (is_rescaled && count > 1)) refuse_two(name);
  }

  /// A model whose output matrix is its embedding keeps that if only the embedding changes.
  void keep_head() {
    if (low_rank_embedding_ && base_->find("output.weight") == nullptr) merges_["output.weight"];
  }

  void put(const std::string& name, TensorMerge merge) {
    check(name, merge);
    const TensorInfo* tensor = base_->find(name);
    if (tensor == nullptr && name == "output.weight") tensor = base_->find("token_embd.weight");
    const bool is_kept = merge.changes.empty() && merge.biases.empty() && !merge.replaced;
    TensorInfo info;
    if (tensor != nullptr) {
      info = *tensor;
      const FormatInfo* format = find_format(info.format);
      if (format == nullptr || format->decode_row == nullptr) {
        fail(Code::Unsupported, "{}: tensor {} is {}, which an adapter cannot change",
             base_->name(), quoted(name), info.text());
      }
    } else {
      info.shape.fill(1);
      info.shape[0] = merge.biases.front().second->values.size();
    }
    info.name = name;
    if (!is_kept) {
      check_biases(info, merge);
      info.format = Format::F32;
      info.bytes = info.num_values() * sizeof(float);
      info.source = static_cast<uint32_t>(sources_.size());
      info.offset = 0;
      const uint64_t columns = info.row_values();
      sources_.push_back(std::make_shared<MergedRows>(fmt::format("{}: {}", base_->name(), name),
                                                      base_, tensor, info.num_values() / columns,
                                                      columns, std::move(merge), adapters_));
    }
    const auto same = std::ranges::find(tensors_, name, &TensorInfo::name);
    if (same == tensors_.end()) {
      tensors_.push_back(std::move(info));
    } else {
      *same = std::move(info);
    }
  }

  void check_biases(const TensorInfo& info, const TensorMerge& merge) const {
    for (const auto& [scale, bias] : merge.biases) {
      if (bias->values.size() == info.num_values() && info.row_values() == info.num_values()) {
        continue;
      }
      fail(Code::Format, "{}: tensor {} is {}, but the adapter adds {} values", base_->name(),
           quoted(info.name), info.text(), bias->values.size());
    }
  }

  std::shared_ptr<const ModelFile> base_;
  std::vector<std::shared_ptr<const Adapter>> adapters_;
  Hash128 change_;
  std::map<std::string, TensorMerge> merges_;
  bool low_rank_embedding_ = false;
  std::vector<TensorInfo> tensors_;
  std::vector<std::shared_ptr<const ByteSource>> sources_;
};

}  // namespace

std::shared_ptr<const ModelFile> merge_adapters(const std::shared_ptr<const ModelFile>& base,
                                                std::span<const ScaledAdapter> adapters) {
  return AdapterMerger(base, adapters).merge();
}

}  // namespace tenon
