// Prediction blocks: a projection that joins both inputs, a trunk layer, and a head.
#include "arch/prediction.h"

#include <algorithm>
#include <string>

#include "arch/blocks/hyper_connection.h"
#include "arch/blocks/sparse_index.h"
#include "arch/decoder.h"
#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// The block's own tensor, else the model's.
RowSource own_or(BuildContext& context, const std::string& own, const std::string& shared,
                 TensorRole role) {
  const ModelSpec& model = context.model;
  const std::vector<uint64_t> shape = {model.vocab_rows, model.width};
  const auto found = context.tensors.optional_tensor(own, shape, role);
  return found ? *found : context.tensors.tensor(shared, shape, role);
}

/// Specification of a block's layer.
LayerSpec prediction_layer(const ModelFile& file, const ModelSpec& model, uint32_t index) {
  if (!model.prediction.layers.empty()) return model.prediction.layers[index];
  const auto last = std::find_if(model.layers.rbegin(), model.layers.rend(),
                                 [](const LayerSpec& layer) { return layer.attention.heads > 0; });
  if (last == model.layers.rend()) {
    fail(Code::Unsupported, "{}: no layer of the trunk has attention, as prediction blocks have",
         file.name());
  }
  if (model.specs.find<HyperConnectionSpec>() != nullptr) {
    fail(Code::Unsupported, "{}: prediction blocks of several residual streams", file.name());
  }
  if (last->attention.specs.find<IndexSpec>() != nullptr) {
    fail(Code::Unsupported, "{}: prediction blocks whose attention has an index", file.name());
  }
  if (last->parallel) {
    fail(Code::Unsupported, "{}: prediction blocks beside whose attention the feed-forward runs",
         file.name());
  }
  return *last;
}

/// Normalises x for the head, by the block's own norm, which has one of two names, or by the
/// trunk's.
Slot prediction_norm(BuildContext& context, uint32_t block, Slot x) {
  const ModelSpec& model = context.model;
  const NormSpec& norm = model.output_norm;
  for (const char* own : {"nextn.shared_head_norm", "layer_output_norm"}) {
    const std::string name = BuildContext::in_block(block, own);
    if (context.tensors.has(name + ".weight")) return context.norm(x, name, norm, model.width);
  }
  return context.norm(x, std::string(norm.name), norm, model.width);
}

}  // namespace

ModelSpec prediction_of(const ModelFile& file, const ModelSpec& model, uint32_t index) {
  if (index >= model.unused_blocks) {
    fail(Code::State, "{}: has {} prediction blocks, none of number {}", file.name(),
         model.unused_blocks, index);
  }
  const auto block = static_cast<uint32_t>(model.layers.size()) + index;
  const std::string name = BuildContext::in_block(block, "nextn.eh_proj.weight");
  if (file.find(name) == nullptr) {
    fail(Code::Unsupported, "{}: tensor \"{}\" is missing: the file holds the trunk only",
         file.name(), name);
  }
  ModelSpec prediction = model;
  prediction.layers.assign(block, {});
  prediction.layers.push_back(prediction_layer(file, model, index));
  if (const LayerSpec& layer = prediction.layers.back();
      layer.attention.heads == 0 || !layer.has_feed_forward()) {
    fail(Code::Unsupported, "{}: blk.{} predicts further tokens, but is not a whole layer",
         file.name(), block);
  }
  return prediction;
}

Slot build_prediction(BuildContext& context) {
  const ModelSpec& model = context.model;
  const auto block = static_cast<uint32_t>(model.layers.size()) - 1;
  const auto name = [block](const char* tensor) {
    return BuildContext::in_block(block, std::string("nextn.") + tensor);
  };
  const auto norm = [&](Slot x, const char* tensor) {
    const NormSpec spec{tensor, model.output_norm.kind, model.output_norm.epsilon};
    return context.norm(x, name(tensor), spec, model.width);
  };
  const RowSource tokens =
      own_or(context, name("embed_tokens.weight"), "token_embd.weight", TensorRole::Embedding);
  const Slot table = context.tensors.bind("prediction embedding", tokens.rows(0, model.vocab));
  const Slot embedded = context.scaled(op::embed(context.ops, table), model.embedding_scale);
  const Slot hidden = context.ops.input("hidden", TENON_ROWS_TOKENS, model.width);
  const Slot both = op::concat(context.ops, norm(embedded, "enorm"), norm(hidden, "hnorm"));
  Slot x = context.linear(both, name("eh_proj"), model.width, uint64_t{2} * model.width);
  x = decoder_layer(context, block, x);

  const Slot normed = prediction_norm(context, block, x);
  context.ops.result(model.prediction.hands_on_normed ? normed : x);
  const std::string shared =
      context.tensors.has("output.weight") ? "output.weight" : "token_embd.weight";
  const RowSource head =
      own_or(context, name("shared_head_head.weight"), shared, TensorRole::Output);
  const Slot logits =
      op::linear(context.ops, context.scaled(normed, model.logit_scale),
                 context.tensors.bind("prediction head", head.rows(0, model.vocab)));
  return model.logit_soft_cap > 0.0f ? op::soft_cap(context.ops, logits, model.logit_soft_cap)
                                     : logits;
}

}  // namespace tenon
