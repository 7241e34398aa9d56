// tenon_model_open, _load, _info, _memory, _tokenizer: loading a model, and its properties.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/executable.h"
#include "fence.h"
#include "file/shards.h"
#include "model_handle.h"
#include "option_readers.h"
#include "option_set.h"
#include "option_table.h"
#include "values.h"

using namespace tenon::capi;

std::shared_ptr<tenon::Engine> tenon_model::engine() const {
  const std::lock_guard lock(mutex_);
  if (engine_ == nullptr) engine_ = tenon::Engine::create(model);
  return engine_;
}

namespace {

/// Reports the maximum of sizes that differ between layers.
void put_sizes(const tenon::ModelSpec& model, tenon_model_info& out) {
  out.trained_context = model.trained_context;
  out.vocabulary = model.vocab;
  out.layers = model.layers.size();
  out.width = model.width;
  const auto raise = [](uint64_t& most, uint64_t size) { most = std::max(most, size); };
  for (const tenon::LayerSpec& layer : model.layers) {
    raise(out.heads, layer.attention.heads);
    raise(out.kv_heads, layer.attention.kv_heads);
    raise(out.key_dim, layer.attention.key_dim);
    raise(out.value_dim, layer.attention.value_dim);
    raise(out.feed_forward, layer.feed_forward.width);
    raise(out.experts, layer.feed_forward.experts.count);
    raise(out.experts_used, layer.feed_forward.experts.used);
  }
}

tenon_model* load(std::span<const tenon_source> sources, const tenon_options* options,
                  std::shared_ptr<Host> host) {
  tenon::ModelOptions model = model_options(options_or_default(options), host);
  if (sources.size() == 1 && sources[0].kind == TENON_SOURCE_PATH) {
    // Open by path, so that the other parts of a split model are found.
    const std::string path(
        text_in(sources[0].name, sources[0].name_length, "the path of the source"));
    if (path.find('\0') != path.npos) {
      tenon::fail(tenon::Code::Argument, "the path of the source holds a NUL byte");
    }
    return new tenon_model(std::move(host), tenon::Model::load(path, std::move(model)));
  }
  std::vector<std::shared_ptr<const tenon::ByteSource>> opened;
  for (const tenon_source& source : sources) opened.push_back(host->open(source));
  return new tenon_model(std::move(host), tenon::Model::load(opened, std::move(model)));
}

void put_text(std::string_view text, const char*& data, uint64_t& length) {
  data = text.data() != nullptr ? text.data() : "";
  length = text.size();
}

}  // namespace

tenon_status tenon_model_open(const char* path, const tenon_options* options, tenon_model** model) {
  return fence([&] {
    tenon_model*& out = checked_out(model, "model");
    tenon_source source{};
    source.kind = TENON_SOURCE_PATH;
    source.name = path;
    source.name_length = name_in(path, "path").size();
    out = load({&source, 1}, options, std::make_shared<Host>());
  });
}

tenon_status tenon_model_load(const tenon_source* const* sources, size_t num_sources,
                              const tenon_options* options, const tenon_callbacks* callbacks,
                              tenon_model** model) {
  return fence([&] {
    tenon_model*& out = checked_out(model, "model");
    if (num_sources < 1 || num_sources > tenon::kMaxShards) {
      tenon::fail(tenon::Code::Argument, "num_sources is {}, not in 1..{}", num_sources,
                  tenon::kMaxShards);
    }
    std::vector<tenon_source> known;
    for (const tenon_source* source : array_in(sources, num_sources, "sources")) {
      known.push_back(struct_in(source, "tenon_source"));
    }
    auto host = callbacks == nullptr
                    ? std::make_shared<Host>()
                    : std::make_shared<Host>(struct_in(callbacks, "tenon_callbacks"));
    out = load(known, options, std::move(host));
  });
}

void tenon_model_destroy(tenon_model* model) { destroy(model); }

tenon_status tenon_model_get_info(const tenon_model* model, tenon_model_info* info) {
  return fence([&] {
    const tenon::Model& of_handle = *checked(model).model;
    tenon_model_info out{};
    out.has_weights = of_handle.has_program() ? 1 : 0;
    put_text(of_handle.architecture(), out.architecture, out.architecture_length);
    put_text(of_handle.name(), out.name, out.name_length);
    put_text(of_handle.chat_template(), out.chat_template, out.chat_template_length);
    put_text(of_handle.backend_name(), out.backend, out.backend_length);
    out.parameters = of_handle.num_parameters();
    out.tensor_bytes = of_handle.file().tensor_bytes();
    if (!of_handle.options().metadata_only) out.vocabulary = of_handle.tokenizer()->size();
    if (of_handle.has_program()) {
      put_sizes(of_handle.spec(), out);
      const tenon::ModelProgram* encoder = of_handle.find(tenon::ProgramRole::Encoder);
      if (encoder != nullptr) out.source_tokens = encoder->program.view().max_tokens;
    }
    if (of_handle.can_run()) {
      out.gives_text = of_handle.gives_rows() ? 0 : 1;
      out.gives_rows = of_handle.row_pooling() ? 1 : 0;
    }
    struct_out(out, info, "tenon_model_info");
  });
}

tenon_status tenon_model_memory(const tenon_model* model, uint64_t context, tenon_memory* memory) {
  return fence([&] {
    const tenon::MemoryNeeds needs = checked(model).model->memory(context);
    tenon_memory out{};
    out.context = needs.context;
    out.weights_bytes = needs.weights_bytes;
    out.scratch_bytes = needs.scratch_bytes;
    out.kv_bytes = needs.kv_bytes;
    out.token_cache_bytes = needs.token_cache_bytes;
    struct_out(out, memory, "tenon_memory");
  });
}

tenon_status tenon_model_execution(const tenon_model* model, tenon_execution* execution) {
  return fence([&] {
    const tenon::Model& of_handle = *checked(model).model;
    tenon::HostServices& services = of_handle.services();
    const tenon::StepWork work = of_handle.step_work();
    tenon_execution out{};
    out.threads = services.team().num_threads();
    put_text(of_handle.device_description(), out.device, out.device_length);
    out.huge_page_bytes = services.page_use(TENON_MEMORY_WEIGHTS).huge_bytes;
    out.step_bytes = work.weight_bytes;
    out.token_multiplications = work.token_multiplications;
    out.output_multiplications = work.output_multiplications;
    struct_out(out, execution, "tenon_execution");
  });
}

tenon_status tenon_model_tokenizer(const tenon_model* model, const tenon_tokenizer** tokenizer) {
  return fence([&] {
    const tenon_tokenizer*& out = checked_out(tokenizer, "tokenizer");
    out = &checked(model).tokenizer;
  });
}
