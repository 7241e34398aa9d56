#include "arch/blocks/row_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "arch/keys/keys.h"
#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

constexpr uint32_t kRankingType = 4;  // of pooling_type

constexpr const char* kDense = "cls";
constexpr const char* kScores = "cls.output";

uint32_t rows_of(const ModelFile& file, const std::string& name) {
  const TensorInfo* tensor = file.find(name + ".weight");
  if (tensor == nullptr) return 0;
  const uint64_t rows = tensor->num_values() / tensor->row_values();
  if (!(rows >= 1 && rows <= SpecLimits::kWidth)) {
    fail(Code::Format, "{}: tensor \"{}.weight\" has {} rows, not 1..{}", file.name(), name, rows,
         SpecLimits::kWidth);
  }
  return static_cast<uint32_t>(rows);
}

/// x [., width] -> [., labels], as the sequence classifiers of BERT, RoBERTa and ModernBERT have it.
Slot classify(BuildContext& context, Slot x) {
  const ClassifierSpec& spec = context.model.classifier;
  uint64_t columns = context.model.width;
  if (spec.width > 0) {
    x = context.linear(x, kDense, spec.width, columns, Presence::Optional);
    x = op::activate(context.ops, spec.activation, x);
    columns = spec.width;
    const Slot weight =
        context.tensors.optional_weight("cls.norm.weight", {columns}, TensorRole::Norm);
    constexpr float kEpsilon = 1e-5f;  // of all norms of ModernBERT, which alone has this one
    if (weight != kNoSlot) x = op::layer_norm(context.ops, x, weight, kNoSlot, kEpsilon);
  }
  if (!spec.scores) return x;
  return context.linear(x, kScores, spec.labels, columns, Presence::Optional);
}

}  // namespace

Slot row_head(BuildContext& context, Slot x) {
  const ModelSpec& model = context.model;
  context.token_rows = x;
  const bool classifies = model.classifier.labels > 0;
  if (model.sees_ahead()) {
    const Slot pooled = op::pool(context.ops, x, *model.pooling);
    return classifies ? classify(context, pooled) : pooled;
  }
  return classifies ? classify(context, op::gather_rows(context.ops, x)) : x;
}

void read_classifier(const ModelFile& file, const Keys& keys, ModelSpec& model) {
  const uint32_t width = rows_of(file, kDense);
  const uint32_t scores = rows_of(file, kScores);
  const uint32_t silent = scores > 0 ? kRankingType : 0;
  if (keys.count_or("pooling_type", silent, 0, UINT32_MAX) != kRankingType) return;
  if (width == 0 && scores == 0) {
    keys.refuse(Code::Format, "pooling_type", "is {}, ranking, but tensor \"{}.weight\" is missing",
                kRankingType, kScores);
  }
  ClassifierSpec& spec = model.classifier;
  spec.width = width;
  spec.scores = scores > 0;
  spec.labels = spec.scores ? scores : width;
  model.pooling = model.sees_ahead() ? spec.pooling : uint32_t{TENON_POOL_LAST};
}

uint32_t read_pooling(const Keys& keys, uint32_t fallback) {
  constexpr std::pair<uint32_t, uint32_t> kKnown[] = {
      {1, TENON_POOL_MEAN}, {2, TENON_POOL_FIRST}, {3, TENON_POOL_LAST}};
  const uint32_t told = keys.count_or("pooling_type", 0, 0, UINT32_MAX);
  if (told > kRankingType) {
    keys.refuse(Code::Unsupported, "pooling_type",
                "is {}; known are 0 (none), 1 (mean), 2 (first), 3 (last), {} (rank)", told,
                kRankingType);
  }
  for (const auto& [number, pooling] : kKnown) {
    if (number == told) return pooling;
  }
  return fallback;
}

}  // namespace tenon
