#include "server/registry/model_file.h"

#include <algorithm>
#include <string_view>

namespace tenon_http {
namespace {

constexpr uint64_t kCachedTexts = 4;
constexpr const char* kDefaultContext = "default_context";

const std::string* find_option(const tenon::ExtraOptions& options, std::string_view key) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const auto& option) { return option.first == key; });
  return found == options.end() ? nullptr : &found->second;
}

tenon::Options options_of(const tenon::ExtraOptions& given) {
  tenon::Options options;
  options.parse(given);
  return options;
}

}  // namespace

tenon::ExtraOptions model_options_of(const ModelFile& file) {
  tenon::ExtraOptions options = file.model_options;
  if (file.context != 0 && find_option(options, kDefaultContext) == nullptr) {
    options.emplace_back(kDefaultContext, std::to_string(file.context));
  }
  return options;
}

bool takes_adapters(const ModelFile& file) {
  const std::string* slots = find_option(file.model_options, "adapter_slots");
  return slots != nullptr && *slots != "0";
}

tenon::ExtraOptions read_option_lines(const char* text) {
  tenon::ExtraOptions options;
  std::string_view rest = text == nullptr ? std::string_view() : text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == line.npos) {
      throw tenon::Error(tenon::Code::Argument,
                         "option \"" + std::string(line) + "\" is not of the form key=value");
    }
    options.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return options;
}

void measure(ModelFile& file, uint64_t cache_bytes) {
  tenon::ModelOptions options;
  options.extra = model_options_of(file);
  options.inspect = true;
  const tenon::Model model(file.path, options);
  tenon_memory memory{};
  memory.struct_size = sizeof memory;
  tenon::check(tenon_model_memory(model.get(), file.context, &memory));
  file.context = memory.context;
  if (const std::string* given = find_option(file.engine_options, "cache_bytes")) {
    cache_bytes = std::stoull(*given);
  } else {
    if (cache_bytes == 0) cache_bytes = kCachedTexts * memory.kv_bytes;
    file.engine_options.emplace_back("cache_bytes", std::to_string(cache_bytes));
  }
  file.memory_bytes = memory.weights_bytes + memory.scratch_bytes + cache_bytes;
}

LoadedModel::LoadedModel(const std::string& name, const ModelFile& file,
                         std::function<bool(double)> progress)
    : model_(file.path, {.extra = model_options_of(file), .progress = std::move(progress)}),
      served_(name, model_.get(), options_of(file.engine_options).get(), file.context) {}

}  // namespace tenon_http
