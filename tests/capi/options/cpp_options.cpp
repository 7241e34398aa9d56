#include "capi/options/cpp_options.h"

#include <tenon/tenon.hpp>

namespace {

template <typename From>
std::shared_ptr<tenon_options> handle_of(const From& from) {
  const auto made = std::make_shared<tenon::Options>(from);
  return {made, made->get()};
}

}  // namespace

std::vector<CppOption> cpp_options() {
  using namespace tenon;
  return {
      {"backend", handle_of(ModelOptions{.backend = "reference"})},
      {"devices", handle_of(ModelOptions{.devices = "cpu=3"})},
      {"device_memory", handle_of(ModelOptions{.device_memory = "5,6"})},
      {"gpu_layers", handle_of(ModelOptions{.gpu_layers = 7})},
      {"experts_on", handle_of(ModelOptions{.experts_on = "cpu"})},
      {"kernel_cache", handle_of(ModelOptions{.kernel_cache = "/kernels"})},
      {"threads", handle_of(ModelOptions{.threads = 3})},
      {"cache_type", handle_of(ModelOptions{.cache_type = "int8"})},
      {"default_context", handle_of(ModelOptions{.default_context = 1234})},
      {"slice", handle_of(ModelOptions{.slice = 96})},
      {"embeddings", handle_of(ModelOptions{.embeddings = "on"})},
      {"rows_on_demand", handle_of(ModelOptions{.rows_on_demand = "off"})},
      {"row_cache_bytes", handle_of(ModelOptions{.row_cache_bytes = 4321})},
      {"isa", handle_of(ModelOptions{.isa = "avx2"})},
      {"bf16_activations", handle_of(ModelOptions{.bf16_activations = "f32"})},
      {"vocabulary_only", handle_of(ModelOptions{.vocabulary_only = true})},
      {"inspect", handle_of(ModelOptions{.inspect = true})},
      {"metadata_only", handle_of(ModelOptions{.metadata_only = true})},
      {"check_weights", handle_of(ModelOptions{.check_weights = true})},
      {"plugin", handle_of(ModelOptions{.plugins = {"/a.so"}})},
      {"override", handle_of(ModelOptions{.overrides = {"general.name=str:x"}})},
      {"context", handle_of(SessionOptions{.context = 77})},
      {"salt", handle_of(SessionOptions{.salt = "grain"})},
      {"priority", handle_of(SessionOptions{.priority = -3})},
      {"client", handle_of(SessionOptions{.client = "ann"})},
      {"weight", handle_of(SessionOptions{.weight = 2.5})},
      {"cache_bytes", handle_of(EngineOptions{.cache_bytes = 123456})},
      {"step_tokens", handle_of(EngineOptions{.step_tokens = 48})},
      {"running", handle_of(EngineOptions{.running = 9})},
      {"queue", handle_of(EngineOptions{.queue = 11})},
      {"queue_tokens", handle_of(EngineOptions{.queue_tokens = 13})},
      {"ageing", handle_of(EngineOptions{.ageing = 2.5})},
      {"decode_stretch", handle_of(EngineOptions{.decode_stretch = 3.25})},
      {"max_stall_ms", handle_of(EngineOptions{.max_stall_ms = 1.5})},
      {"prefix_cache", handle_of(EngineOptions{.prefix_cache = false})},
      {"state_checkpoints", handle_of(EngineOptions{.state_checkpoints = 5})},
      {"state_checkpoint_tokens", handle_of(EngineOptions{.state_checkpoint_tokens = 333})},
      {"pooling", handle_of(EmbedderOptions{.pooling = "last"})},
      {"normalize", handle_of(EmbedderOptions{.normalize = "none"})},
      {"dimensions", handle_of(EmbedderOptions{.dimensions = 17})},
      {"truncate", handle_of(EmbedderOptions{.truncate = true})},
      {"query_prefix", handle_of(EmbedderOptions{.query_prefix = "q: "})},
      {"document_prefix", handle_of(EmbedderOptions{.document_prefix = "d: "})},
      {"template", handle_of(ChatOptions{.chat_template = "{{ 1 }}"})},
      {"template_name", handle_of(ChatOptions{.template_name = "other"})},
      {"chat_format", handle_of(ChatOptions{.format = "hermes"})},
      {"template_raw", handle_of(ChatOptions{.raw = true})},
      {"constrain_calls", handle_of(ChatOptions{.constrain_calls = false})},
      {"generic_tools", handle_of(ChatOptions{.generic_tools = true})},
      {"template_time_ms", handle_of(ChatOptions{.template_time_ms = 250})},
      {"temperature", handle_of(SamplerOptions{.temperature = 0.625})},
      {"top_k", handle_of(SamplerOptions{.top_k = 21})},
      {"top_p", handle_of(SamplerOptions{.top_p = 0.875})},
      {"min_p", handle_of(SamplerOptions{.min_p = 0.125})},
      {"typical_p", handle_of(SamplerOptions{.typical_p = 0.75})},
      {"repeat_penalty", handle_of(SamplerOptions{.repeat_penalty = 1.25})},
      {"repeat_last_n", handle_of(SamplerOptions{.repeat_last_n = 33})},
      {"presence_penalty", handle_of(SamplerOptions{.presence_penalty = 0.5})},
      {"frequency_penalty", handle_of(SamplerOptions{.frequency_penalty = -0.5})},
      {"seed", handle_of(SamplerOptions{.seed = 4242})},
      {"stop", handle_of(SamplerOptions{.stop = {"END"}})},
      {"banned_strings", handle_of(SamplerOptions{.banned_strings = {"no"}})},
      {"banned_ignore_case",
       handle_of(SamplerOptions{.banned_strings = {"no"}, .banned_ignore_case = true})},
  };
}

std::shared_ptr<tenon_options> cpp_extra_option(int32_t scope, const std::string& key,
                                                const std::string& value) {
  const tenon::ExtraOptions extra{{key, value}};
  switch (scope) {
    case TENON_SCOPE_MODEL:
      return handle_of(tenon::ModelOptions{.extra = extra});
    case TENON_SCOPE_SESSION:
      return handle_of(tenon::SessionOptions{.extra = extra});
    case TENON_SCOPE_ENGINE:
      return handle_of(tenon::EngineOptions{.extra = extra});
    case TENON_SCOPE_EMBEDDER:
      return handle_of(tenon::EmbedderOptions{.extra = extra});
    case TENON_SCOPE_CHAT:
      return handle_of(tenon::ChatOptions{.extra = extra});
    case TENON_SCOPE_SAMPLER:
      return handle_of(tenon::SamplerOptions{.extra = extra});
    default:
      return nullptr;
  }
}
