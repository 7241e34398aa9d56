// tenon_quantize*, tenon_importance_write.
#include <fmt/format.h>

#include "base/thread_team.h"
#include "fence.h"
#include "host.h"
#include "model/ggml_tokenizer.h"
#include "model/gguf_order.h"
#include "model/importance_collector.h"
#include "option_readers.h"
#include "option_set.h"
#include "quantize/file_types.h"
#include "quantize/quantize.h"
#include "values.h"

using namespace tenon::capi;

namespace {

constexpr uint32_t kFlags = TENON_QUANTIZE_PURE | TENON_QUANTIZE_KEEP_OUTPUT |
                            TENON_QUANTIZE_AGAIN | TENON_QUANTIZE_WITHOUT_IMPORTANCE;

tenon::QuantizeOptions options_in(const tenon_quantize_options* options) {
  const auto given = struct_in(options, "tenon_quantize_options");
  check_flags(given.flags, kFlags);
  if (given.threads > tenon::ThreadTeam::kMaxThreads) {
    tenon::fail(tenon::Code::Argument, "threads: {} is not in 0..{}", given.threads,
                tenon::ThreadTeam::kMaxThreads);
  }
  tenon::QuantizeOptions out{
      .type = std::string(given.type != nullptr ? name_in(given.type, "type") : ""),
      .formats = std::string(given.formats != nullptr ? given.formats : ""),
      .pure = (given.flags & TENON_QUANTIZE_PURE) != 0,
      .keep_output = (given.flags & TENON_QUANTIZE_KEEP_OUTPUT) != 0,
      .requantize = (given.flags & TENON_QUANTIZE_AGAIN) != 0,
      .without_importance = (given.flags & TENON_QUANTIZE_WITHOUT_IMPORTANCE) != 0,
      .importance = std::string(given.importance != nullptr ? given.importance : ""),
      .threads = static_cast<uint32_t>(given.threads)};
  return out;
}

std::shared_ptr<const tenon::ModelFile> source_of(const char* path) {
  return tenon::open_in_gguf_order(std::string(name_in(path, "path")), tenon::System::real());
}

}  // namespace

const char* tenon_quantize_type(size_t index) {
  const auto types = tenon::file_types();
  return index < types.size() ? types[index].name : nullptr;
}

tenon_status tenon_quantize(const char* path, const char* target,
                            const tenon_quantize_options* options, tenon_progress_callback progress,
                            void* user) {
  return fence([&] {
    tenon::QuantizeOptions known = options_in(options);
    if (progress != nullptr) {
      known.progress = [progress, user](std::string_view, double fraction) {
        return call_host("progress", [&] { return progress(user, fraction); }) == 0;
      };
    }
    const std::string out(name_in(target, "target"));
    const auto source = source_of(path);
    const auto system = tenon::System::real();
    known.add_keys = [&](tenon::GgufOutput& file) {
      tenon::add_ggml_tokenizer(file, *source, system);
    };
    tenon::write_quantized(system, *source, out, known);
  });
}

tenon_status tenon_quantize_plan(const char* path, const tenon_quantize_options* options,
                                 char* text, size_t capacity, size_t* length) {
  return fence([&] {
    const tenon::QuantizeOptions known = options_in(options);
    const auto system = tenon::System::real();
    std::string lines;
    for (const tenon::TensorChange& each :
         tenon::plan_quantization(system, *source_of(path), known)) {
      lines += fmt::format("{}\t{}\t{}\t{}\t{}\n", each.name, tenon::find_format(each.from)->name,
                           tenon::find_format(each.to)->name, each.bytes_before, each.bytes_after);
    }
    fill_buffer(std::span<const char>(lines), text, capacity, length);
  });
}

tenon_status tenon_importance_write(const char* path, const tenon_options* options,
                                    const char* text, size_t length, const char* target,
                                    const tenon_importance_options* importance,
                                    tenon_progress_callback progress, void* user) {
  return fence([&] {
    constexpr uint64_t kMaxChunkTokens = 1u << 20;
    const std::string model_path(name_in(path, "path"));
    const std::string out(name_in(target, "target"));
    const std::string_view texts = text_in(text, length, "text");
    tenon_importance_options given{};
    if (importance != nullptr) given = struct_in(importance, "tenon_importance_options");
    check_flags(given.flags, TENON_IMPORTANCE_SPECIAL | TENON_IMPORTANCE_OUTPUT);
    if (given.chunk_tokens > kMaxChunkTokens) {
      tenon::fail(tenon::Code::Argument, "chunk_tokens: {} is not in 0..{}", given.chunk_tokens,
                  kMaxChunkTokens);
    }
    tenon::ImportanceOptions known{.max_chunks = given.max_chunks,
                                   .parse_special = (given.flags & TENON_IMPORTANCE_SPECIAL) != 0,
                                   .with_output = (given.flags & TENON_IMPORTANCE_OUTPUT) != 0,
                                   .dataset = given.dataset != nullptr ? given.dataset : ""};
    if (given.chunk_tokens > 0) known.chunk_tokens = static_cast<uint32_t>(given.chunk_tokens);
    if (progress != nullptr) {
      known.progress = [progress, user](double fraction) {
        return call_host("progress", [&] { return progress(user, fraction); }) == 0;
      };
    }
    const auto system = tenon::System::real();
    tenon::ImportanceMatrix matrix;
    if (given.add_to != nullptr) matrix = tenon::ImportanceMatrix::read(system, given.add_to);
    const auto host = std::make_shared<Host>();  // outlives the model
    tenon::ModelOptions model = model_options(options_or_default(options), host);
    model.embeddings = tenon::Embeddings::Off;
    model.product_inputs = true;
    model.context = known.chunk_tokens;
    matrix.add(
        tenon::collect_importance(*tenon::Model::load(model_path, std::move(model)), texts, known));
    matrix.write(system, out);
  });
}
