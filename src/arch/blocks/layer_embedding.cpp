// Embeddings per layer, in the order in which a token passes through them.
#include "arch/blocks/layer_embedding.h"

#include <cmath>
#include <string>

#include "program/operations.h"

namespace tenon {

Slot layer_embeddings(BuildContext& context, Slot x) {
  const ModelSpec& model = context.model;
  const uint32_t size = model.specs.get<LayerEmbeddingSpec>().columns;
  const uint64_t columns = model.layers.size() * uint64_t{size};
  const RowSource table = context.tensors.tensor(
      "per_layer_token_embd.weight", {model.vocab_rows, columns}, TensorRole::Embedding);
  const Slot own =
      op::scale(context.ops,
                context.rows_of_tokens("per_layer_token_embd.weight", table.rows(0, model.vocab)),
                std::sqrt(static_cast<float>(size)));
  const Slot projected =
      context.scaled(context.linear(x, "per_layer_model_proj", columns, model.width),
                     1.0f / std::sqrt(static_cast<float>(model.width)));
  const NormSpec norm{"per_layer_proj_norm", NormKind::Rms, model.output_norm.epsilon};
  const Slot normed = context.norm(projected, std::string(norm.name), norm, size, size);
  return op::scale(context.ops, op::add(context.ops, normed, own), std::sqrt(0.5f));
}

Slot layer_embedding_branch(BuildContext& context, uint32_t layer, Slot x, Slot all) {
  const uint32_t size = context.model.specs.get<LayerEmbeddingSpec>().columns;
  const auto name = [&](const char* tensor) { return context.in_layer(layer, tensor); };
  const auto columns = static_cast<uint32_t>(context.model.layers.size() * size);
  const Slot own =
      context.wanted_rows(layer, op::slice(context.ops, all, columns, layer * size, size));
  const Slot gate = context.linear(x, name("inp_gate"), size, context.model.width);
  const Slot hidden = op::glu(context.ops, TENON_ACTIVATION_GELU_TANH, gate, own);
  const Slot projected = context.linear(hidden, name("proj"), context.model.width, size);
  const NormSpec norm{"post_norm", NormKind::Rms, context.model.output_norm.epsilon};
  return context.layer_norm(projected, layer, norm);
}

}  // namespace tenon
