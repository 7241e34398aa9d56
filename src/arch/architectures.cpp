// Finds an architecture and builds the program that it describes.
#include "arch/architectures.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "arch/architecture_list.h"
#include "arch/blocks/row_head.h"
#include "arch/prediction.h"
#include "arch/refused_architectures.h"
#include "base/byte_source.h"
#include "base/error.h"
#include "base/nearest_name.h"

namespace tenon {

#define TENON_DECLARE_ARCHITECTURE(symbol, name) extern const Architecture k##symbol;
TENON_ARCHITECTURES(TENON_DECLARE_ARCHITECTURE)
#undef TENON_DECLARE_ARCHITECTURE

namespace {

#define TENON_LIST_ARCHITECTURE(symbol, name) NamedArchitecture{name, &k##symbol},
constexpr NamedArchitecture kArchitectures[] = {TENON_ARCHITECTURES(TENON_LIST_ARCHITECTURE)};
#undef TENON_LIST_ARCHITECTURE

const Architecture& find_architecture(const std::string& file_name, std::string_view name) {
  std::string known;
  NearestName nearest(name);
  for (const NamedArchitecture& one : kArchitectures) {
    if (one.name == name) return *one.architecture;
    nearest.consider(one.name);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
  }
  for (const RefusedArchitecture& one : kRefusedArchitectures) {
    if (one.name == name) {
      fail(Code::Unsupported, "{}: architecture \"{}\" is not supported: {}", file_name, name,
           one.reason);
    }
  }
  fail(Code::Unsupported,
       "{}: architecture \"{}\" is not known{}; known are {}; a newer version of Tenon may know "
       "more",
       file_name, name.substr(0, 64), nearest.hint(), known);
}

/// Reads an architecture's keys and checks the limits of decoders.
ModelSpec read_keys(const Keys& keys) {
  const Architecture& architecture = find_architecture(keys.file_name(), keys.architecture());
  ModelSpec model = architecture.read(keys);
  if (!keys.flag("attention.causal").value_or(true) && !model.pooling) {
    keys.refuse(Code::Unsupported, "attention.causal", "is false, but \"{}\" is causal here",
                keys.architecture());
  }
  const bool has_experts =
      std::any_of(model.layers.begin(), model.layers.end(),
                  [](const LayerSpec& layer) { return layer.feed_forward.experts.count > 0; });
  const uint32_t experts = keys.count_or("expert_count", 0, 0, UINT32_MAX);
  if (experts > 0 && !has_experts) {
    keys.refuse(Code::Unsupported, "expert_count", "is {}, but \"{}\" has no experts", experts,
                keys.architecture());
  }
  return model;
}

/// Reads the vocabulary: the embedding's rows, and at most the tokenizer's tokens. A key may repeat
/// either.
void read_vocab(const ModelFile& file, const Keys& keys, ModelSpec& model) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  constexpr const char* kTable = "token_embd.weight";
  const TensorInfo* table = file.find(kTable);
  if (table == nullptr) {
    fail(Code::Format, "{}: tensor \"{}\" is missing, without which nothing is a model here",
         file.name(), kTable);
  }
  const uint64_t rows = table->num_values() / table->row_values();
  if (!(rows >= 1 && rows <= SpecLimits::kVocab)) {
    fail(Code::Format, "{}: tensor \"{}\" has {} rows, not 1..{}", file.name(), kTable, rows,
         SpecLimits::kVocab);
  }
  const MetadataValue* tokens = file.metadata().find_value(kTokens);
  const uint64_t vocab = tokens != nullptr && tokens->count > 0 ? tokens->count : rows;
  if (vocab > rows) {
    fail(Code::Format, "{}: key \"{}\" has {} entries, but tensor \"{}\" has {} rows", file.name(),
         kTokens, vocab, kTable, rows);
  }
  model.vocab_rows = static_cast<uint32_t>(rows);
  model.vocab = static_cast<uint32_t>(vocab);
  const uint32_t stated = keys.count_or("vocab_size", model.vocab, 1, SpecLimits::kVocab);
  if (stated != model.vocab && stated != model.vocab_rows) {
    keys.refuse(Code::Format, "vocab_size", "is {}, but tensor \"{}\" has {} rows", stated, kTable,
                rows);
  }
}

/// Files may hold one LongRoPE table, or none.
void drop_missing_tables(const ModelFile& file, ModelSpec& model) {
  for (LayerSpec* layer : model.blocks()) {
    std::string_view& name = layer->attention.rope.long_divisors;
    if (!name.empty() && file.find(name) == nullptr) name = {};
  }
}

std::vector<std::string> ignored_tensors(const Architecture& architecture, const ModelSpec& model) {
  std::vector<std::string> patterns(architecture.ignored.begin(), architecture.ignored.end());
  if (model.pooling) patterns.insert(patterns.end(), {"output.weight", "output.bias"});
  if (model.classifier.labels == 0) patterns.push_back("cls.*");
  if (architecture.build_encoder != nullptr) {
    // Each program uses a part of the file; together they must use all of it.
    if (model.pooling) {
      patterns.insert(patterns.end(), {"dec.*"});
    } else {
      patterns.insert(patterns.end(), {"enc.*", "dec.*.cross_attn_k.*", "dec.*.cross_attn_v.*"});
    }
  }
  for (uint32_t i = 0; i < model.unused_blocks; ++i) {
    patterns.push_back(fmt::format("blk.{}.*", model.layers.size() + i));
  }
  return patterns;
}

/// Files may hold prediction blocks without the trunk.
void refuse_head_alone(const ModelFile& file, const ModelSpec& model) {
  if (model.unused_blocks == 0) return;
  const auto holds = [&file](size_t block) {
    const std::string prefix = fmt::format("blk.{}.", block);
    return std::ranges::any_of(file.tensors(), [&prefix](const TensorInfo& tensor) {
      return tensor.name.starts_with(prefix);
    });
  };
  const size_t layers = model.layers.size();
  if (holds(0) || !holds(layers)) return;
  fail(Code::Unsupported,
       "{}: tensors of blk.{} are there, but none of the {} layers before it: the file holds a "
       "prediction head only",
       file.name(), layers, layers);
}

/// Specification of an encoder-decoder's encoder.
ModelSpec encoder_of(const ModelSpec& model) {
  ModelSpec encoder = model;
  std::swap(encoder.layers, encoder.encoder_layers);
  encoder.pooling = TENON_POOL_MEAN;
  return encoder;
}

/// Builds a program of an architecture.
///   ignored  patterns of tensors that the program leaves out
BuiltProgram build_with(Slot (*build)(BuildContext& context), std::vector<std::string> ignored,
                        const ModelFile& file, const ModelSpec& model,
                        const ProgramOptions& options) {
  ProgramBuilder builder;
  TensorBinder tensors(file, builder, std::move(ignored));
  if (options.decodes_packed) tensors.decode_packed();
  BuildContext context(model, options, tensors, builder);
  if (options.product_inputs) builder.watch_products();
  AdapterSiteBuilder adapters(builder, tensors, options.adapter_slots, options.adapter_rank);
  if (options.adapter_slots > 0) {
    builder.after_linear(
        [&adapters](Slot x, Slot weight, Slot y) { return adapters.after_linear(x, weight, y); });
  }
  Slot out = kNoSlot;
  try {
    out = build(context);
  } catch (const Error& error) {
    // Row sources know their tensor, but not the file's name.
    if (!std::string_view(error.what()).starts_with("tensor \"")) throw;
    fail(error.code(), "{}: {}", file.name(), error.what());
  }
  std::vector<BoundWeight> weights = std::move(tensors).finish();
  if (model.pooling) builder.result(out);
  const Slot rows = context.token_rows;
  if (options.token_rows && rows != kNoSlot && rows != out) builder.result(rows);
  Program program = std::move(builder).finish(model.pooling ? kNoSlot : out, options.limits);
  return {model,           std::move(program), std::move(weights), std::move(context.demand_tables),
          adapters.take(), context.media};
}

}  // namespace

std::span<const NamedArchitecture> architectures() { return kArchitectures; }

void check_architecture(const ModelFile& file) {
  (void)find_architecture(file.name(), Keys(file.metadata()).architecture());
}

ModelSpec read_model_spec(const ModelFile& file) {
  const Keys keys(file.metadata());
  ModelSpec model = read_keys(keys);
  read_vocab(file, keys, model);
  const Architecture& architecture = find_architecture(file.name(), model.architecture);
  if (architecture.adapt != nullptr) architecture.adapt(file, model);
  drop_missing_tables(file, model);
  if (model.pooling) read_classifier(file, keys, model);
  return model;
}

bool asks_for_rows(const ModelFile& file, const ModelSpec& model) {
  if (model.pooling) return true;
  return Keys(file.metadata()).count_or("pooling_type", 0, 0, UINT32_MAX) != 0;
}

ModelSpec row_spec(const ModelFile& file, ModelSpec model) {
  if (model.pooling) return model;
  const Keys keys(file.metadata());
  model.pooling = read_pooling(keys, TENON_POOL_LAST);
  read_classifier(file, keys, model);
  return model;
}

BuiltProgram build_program(const ModelFile& file, const ProgramOptions& options) {
  return build_program(file, read_model_spec(file), options);
}

BuiltProgram build_program(const ModelFile& file, const ModelSpec& model,
                           const ProgramOptions& options) {
  const Architecture& architecture = find_architecture(file.name(), model.architecture);
  refuse_head_alone(file, model);
  BuiltProgram built =
      build_with(architecture.build, ignored_tensors(architecture, model), file, model, options);
  if (options.media_rows && built.media.rows == kNoSlot) {
    fail(Code::Unsupported, "{}: architecture \"{}\" takes no rows of pictures here", file.name(),
         model.architecture);
  }
  if (model.pooling) return built;
  // All callers read rows of logits as [vocab].
  const tenon_program& program = built.program.view();
  const uint64_t columns = built.program.slots()[program.logits].columns;
  if (columns != model.vocab) {
    fail(Code::Internal, "architecture \"{}\": {} logits for a vocabulary of {}",
         model.architecture, columns, model.vocab);
  }
  return built;
}

BuiltProgram build_encoder_program(const ModelFile& file, const ModelSpec& model,
                                   const ProgramOptions& options) {
  const Architecture& architecture = find_architecture(file.name(), model.architecture);
  if (architecture.build_encoder == nullptr) {
    fail(Code::State, "{}: architecture \"{}\" has no encoder", file.name(), model.architecture);
  }
  const ModelSpec encoder = encoder_of(model);
  ProgramOptions own = options;
  own.cross_type = options.cross_type.value_or(options.cache_type);
  own.cache_type = TENON_TYPE_F32;  // the encoder keeps no cache
  return build_with(architecture.build_encoder, ignored_tensors(architecture, encoder), file,
                    encoder, own);
}

BuiltProgram build_prediction_program(const ModelFile& file, const ModelSpec& model, uint32_t index,
                                      const ProgramOptions& options) {
  // Ignores all tensors of the trunk.
  return build_with(build_prediction, {"*"}, file, prediction_of(file, model, index), options);
}

std::vector<WantedTensor> wanted_tensors(const Metadata& metadata) {
  const Keys keys(metadata);
  ModelSpec model = read_keys(keys);
  model.vocab = model.vocab_rows = keys.count("vocab_size", 1, SpecLimits::kVocab);
  // Every tensor is missing in a file without tensors.
  const ModelFile empty(Metadata(keys.file_name()), {},
                        {ByteSource::from_memory({}, keys.file_name())}, {0});
  ProgramBuilder builder;
  TensorBinder tensors(empty, builder);
  const ProgramOptions options;
  BuildContext context(model, options, tensors, builder);
  const Architecture& architecture = find_architecture(keys.file_name(), model.architecture);
  (void)architecture.build(context);
  if (architecture.build_encoder == nullptr) return tensors.wanted();
  ProgramBuilder encoder_builder;
  TensorBinder encoder_tensors(empty, encoder_builder);
  const ModelSpec encoder = encoder_of(model);
  BuildContext encoder_context(encoder, options, encoder_tensors, encoder_builder);
  (void)architecture.build_encoder(encoder_context);
  std::vector<WantedTensor> all = tensors.wanted();
  for (const WantedTensor& wanted : encoder_tensors.wanted()) {
    const auto same = [&](const WantedTensor& other) { return other.name == wanted.name; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(wanted);
  }
  return all;
}

}  // namespace tenon
