#include "hub/choose.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/utf8.h"
#include "hub/reference.h"
#include "json/json_tree.h"

namespace tenon::hub {
namespace {

constexpr uint64_t kMaxParts = 99'999;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Number, count and common beginning of "NAME-00001-of-00005.gguf"; count 0 for other names.
struct Part {
  std::string head;
  uint64_t number = 0;
  uint64_t count = 0;
};

Part part_of(std::string_view path) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";
  if (path.size() <= kPattern.size()) return {};
  const std::string_view tail = path.substr(path.size() - kPattern.size());
  for (size_t i = 0; i < kPattern.size(); ++i) {
    if (kPattern[i] == '0' ? !is_digit(tail[i]) : tail[i] != kPattern[i]) return {};
  }
  const Part part{std::string(path.substr(0, path.size() - kPattern.size())),
                  std::strtoull(std::string(tail.substr(1, 5)).c_str(), nullptr, 10),
                  std::strtoull(std::string(tail.substr(10, 5)).c_str(), nullptr, 10)};
  return part.number >= 1 && part.number <= part.count && part.count <= kMaxParts ? part : Part{};
}

bool is_gguf(std::string_view path) { return lowered(path).ends_with(".gguf"); }

/// Whether a GGUF file is something beside a model.
bool is_companion(std::string_view path) {
  const std::string name = lowered(base_name(path));
  constexpr std::array<std::string_view, 5> kBeginnings{"imatrix", "mtp-", "eagle3-", "dflash-",
                                                        "dspark-"};
  return name.find("mmproj") != name.npos || name.find("imatrix") != name.npos ||
         std::ranges::any_of(kBeginnings, [&](auto start) { return name.starts_with(start); });
}

/// Length of the quantisation's name at the beginning of `text`; 0 if there is none.
size_t quantisation_length(std::string_view text) {
  const std::string upper = [&] {
    std::string out(text.substr(0, 24));
    std::ranges::transform(out, out.begin(), [](char c) {
      return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    return out;
  }();
  for (const std::string_view whole : {"BF16", "F16", "F32", "FP16", "FP32"}) {
    if (upper.starts_with(whole)) return whole.size();
  }
  size_t at = 0;
  if (upper.starts_with("IQ") || upper.starts_with("TQ")) {
    at = 2;
  } else if (upper.starts_with("Q")) {
    at = 1;
  } else if (upper.starts_with("MXFP") || upper.starts_with("NVFP")) {
    at = 4;
  }
  if (at == 0 || at >= upper.size() || !is_digit(upper[at])) return 0;
  while (at < upper.size() &&
         (std::isalnum(static_cast<unsigned char>(upper[at])) != 0 || upper[at] == '_')) {
    ++at;
  }
  return at;
}

/// Bits of a quantisation's values, roughly, for order; 0 if unknown.
double bits_of(std::string_view quantisation) {
  const std::string text = lowered(quantisation);
  if (text.find("32") != text.npos) return 32;
  if (text.find("16") != text.npos) return 16;
  const auto digit = std::ranges::find_if(text, is_digit);
  return digit == text.end() ? 0 : static_cast<double>(*digit - '0');
}

std::string names_of(const std::vector<GgufModel>& models) {
  std::string text;
  size_t told = 0;
  for (const GgufModel& model : models) {
    if (told++ == 24) return text + ", ...";
    text += (text.empty() ? "" : ", ") +
            printable(model.quantisation.empty() ? model.path : model.quantisation, 80);
  }
  return text;
}

void require_parts(const GgufModel& model, const std::string& what) {
  if (model.num_missing == 0) return;
  fail(Code::Format, "{}: {} of the parts of {} are missing", what, model.num_missing,
       tenon::quoted(model.path));
}

Choice chosen_gguf(const std::vector<NamedFile>& files, const GgufModel& model,
                   const std::string& what, std::string note) {
  require_parts(model, what);
  Choice choice;
  choice.files = model.files;
  choice.path = model.path;
  choice.note = std::move(note);
  if (const size_t projector = projector_of(files, model); projector < files.size()) {
    choice.files.push_back(projector);
    choice.projector = files[projector].path;
  }
  return choice;
}

/// Files at the root of a folder of safetensors that loaders read.
constexpr auto kFolderFiles = std::to_array<std::string_view>({"config.json",
                                                               "generation_config.json",
                                                               "tokenizer.json",
                                                               "tokenizer_config.json",
                                                               "special_tokens_map.json",
                                                               "added_tokens.json",
                                                               "tokenizer.model",
                                                               "tekken.json",
                                                               "vocab.json",
                                                               "merges.txt",
                                                               "vocab.txt",
                                                               "spiece.model",
                                                               "sentencepiece.bpe.model",
                                                               "tiktoken.model",
                                                               "chat_template.jinja",
                                                               "chat_template.json",
                                                               "preprocessor_config.json",
                                                               "processor_config.json",
                                                               "video_preprocessor_config.json",
                                                               "modules.json",
                                                               "sentence_bert_config.json",
                                                               "config_sentence_transformers.json",
                                                               "quantize_config.json",
                                                               "quant_config.json",
                                                               "hf_quant_config.json",
                                                               "quantization_config.json",
                                                               "adapter_config.json",
                                                               "adapter_model.safetensors"});

bool is_folder_file(std::string_view path) {
  if (std::ranges::find(kFolderFiles, path) != kFolderFiles.end()) return true;
  const std::string_view folder = folder_of(path);
  if (folder.find('/') != folder.npos) return false;
  if (folder == "additional_chat_templates") return path.ends_with(".jinja");
  // The numbered parts of sentence-transformers: "1_Pooling/config.json".
  const bool is_numbered =
      folder.size() > 1 && is_digit(folder[0]) && folder.find('_') != folder.npos;
  return (is_numbered && (path.ends_with("/config.json") || path.ends_with(".safetensors"))) ||
         (folder.empty() && path.ends_with(".tiktoken"));
}

/// Shards that an index names. Each must be a file of the list.
std::set<std::string> shards_of(const std::string& index, const std::string& what,
                                const std::map<std::string_view, size_t>& places) {
  const JsonNode root = parse_json_tree(index, what + ": model.safetensors.index.json",
                                        {.max_bytes = uint64_t{64} << 20, .max_values = 4'000'000});
  const JsonNode* map = root.find("weight_map");
  if (map == nullptr || !map->is(JsonNode::Kind::Object)) {
    fail(Code::Format, "{}: model.safetensors.index.json has no weight_map", what);
  }
  std::set<std::string> shards;
  for (const JsonNode& shard : map->items) {
    if (!shard.is(JsonNode::Kind::String) || !shard.text.ends_with(".safetensors") ||
        why_bad_path(shard.text) != nullptr || !places.contains(shard.text)) {
      fail(Code::Format, "{}: model.safetensors.index.json names {}, which the model does not have",
           what, tenon::quoted(shard.text));
    }
    shards.insert(shard.text);
  }
  return shards;
}

[[noreturn]] void refuse_others(const std::vector<NamedFile>& files, const std::string& what) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOthers{{
      {".bin",
       "a pickle, which could run code and is never opened: look for a conversion to "
       "safetensors or GGUF, often in a branch or a sibling of the repository"},
      {".pt", "a pickle, which could run code and is never opened"},
      {".pth", "a pickle, which could run code and is never opened"},
      {".onnx", "a graph for ONNX Runtime: look for the repository that it was made from"},
      {".litertlm", "a bundle for LiteRT: look for the repository that it was made from"},
      {".h5", "a file for Keras: look for the repository that it was made from"},
      {".msgpack", "a file for Flax: look for the repository that it was made from"},
  }};
  for (const auto& [ending, meaning] : kOthers) {
    for (const NamedFile& file : files) {
      if (file.path.ends_with(ending)) {
        fail(Code::Unsupported, "{}: neither GGUF files nor safetensors; {} is {}", what,
             tenon::quoted(file.path), meaning);
      }
    }
  }
  fail(Code::Unsupported, "{}: has neither GGUF files nor a folder of safetensors", what);
}

Choice chosen_folder(const std::vector<NamedFile>& files, const std::string& what,
                     const ReadListed& read) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < files.size(); ++i) places.emplace(files[i].path, i);
  constexpr std::string_view kIndex = "model.safetensors.index.json";
  const bool has_index = places.contains(kIndex);
  const bool has_single = places.contains("model.safetensors");
  const bool is_adapter =
      places.contains("adapter_config.json") && places.contains("adapter_model.safetensors");
  if (!has_index && !has_single && !is_adapter) refuse_others(files, what);
  Choice choice;
  std::set<size_t> wanted;
  for (size_t i = 0; i < files.size(); ++i) {
    if (is_folder_file(files[i].path)) wanted.insert(i);
  }
  if (has_index && !has_single) {
    wanted.insert(places.at(kIndex));
    for (const std::string& shard : shards_of(read(std::string(kIndex)), what, places)) {
      wanted.insert(places.at(shard));
    }
  } else if (has_single) {
    wanted.insert(places.at("model.safetensors"));
  }
  choice.files.assign(wanted.begin(), wanted.end());
  return choice;
}

}  // namespace

std::string quantisation_of(std::string_view path) {
  std::string_view name = base_name(path);
  if (const Part part = part_of(path); part.count != 0) {
    name = name.substr(0, name.size() - std::string_view("-00000-of-00000.gguf").size());
  }
  // The last one counts: names of models may look like one.
  for (const std::string_view text : {name, folder_of(path)}) {
    for (size_t at = text.size(); at-- > 0;) {
      const char before = at == 0 ? '-' : text[at - 1];
      if (std::isalnum(static_cast<unsigned char>(before)) != 0) continue;
      if (const size_t length = quantisation_length(text.substr(at)); length != 0) {
        return std::string(text.substr(at, length));
      }
    }
  }
  return {};
}

bool has_tag(std::string_view path, std::string_view tag) {
  if (tag.empty()) return false;
  const std::string text = lowered(path);
  const std::string wanted = lowered(tag);
  for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
    const char before = at == 0 ? '-' : text[at - 1];
    const size_t end = at + wanted.size();
    const char after = end == text.size() ? '.' : text[end];
    const bool begins = std::isalnum(static_cast<unsigned char>(before)) == 0;
    if (begins && (after == '-' || after == '.' || after == '/')) return true;
  }
  return false;
}

std::vector<GgufModel> gguf_models(const std::vector<NamedFile>& files) {
  std::vector<GgufModel> models;
  std::map<std::pair<std::string, uint64_t>, std::map<uint64_t, size_t>> split;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& path = files[i].path;
    if (!is_gguf(path) || is_companion(path)) continue;
    if (Part part = part_of(path); part.count != 0) {
      split[{std::move(part.head), part.count}][part.number] = i;
      continue;
    }
    models.push_back({{i}, path, quantisation_of(path), files[i].size_bytes, 0});
  }
  for (const auto& [name, parts] : split) {
    GgufModel model;
    for (const auto& [number, place] : parts) {
      model.files.push_back(place);
      model.size_bytes += files[place].size_bytes;
    }
    model.path = files[model.files.front()].path;
    model.quantisation = quantisation_of(model.path);
    model.num_missing = name.second - parts.size();
    models.push_back(std::move(model));
  }
  std::ranges::sort(models, {}, &GgufModel::path);
  return models;
}

size_t projector_of(const std::vector<NamedFile>& files, const GgufModel& model) {
  size_t best = files.size();
  std::pair<size_t, double> best_rank{};
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& path = files[i].path;
    if (!is_gguf(path) || lowered(base_name(path)).find("mmproj") == std::string::npos) continue;
    // A projector serves models of its own folder and of those below it.
    const std::string_view folder = folder_of(path);
    const std::string_view of_model = folder_of(model.path);
    const bool is_above = folder.empty() || folder == of_model ||
                          (of_model.starts_with(folder) && of_model[folder.size()] == '/');
    if (!is_above) continue;
    const double distance = std::abs(bits_of(quantisation_of(path)) - bits_of(model.quantisation));
    const std::pair<size_t, double> rank{folder.size() + 1, -distance};
    if (best == files.size() || rank > best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

Decision decide_by_name(const std::vector<GgufModel>& models) {
  for (const std::string_view tag : {"Q4_K_M", "Q8_0"}) {
    for (size_t i = 0; i < models.size(); ++i) {
      if (models[i].num_missing == 0 && has_tag(models[i].path, tag)) {
        return {i, std::string(tag) + " of " + names_of(models)};
      }
    }
  }
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].num_missing == 0) return {i, "the first of " + names_of(models)};
  }
  return {};
}

Choice choose_files(const std::vector<NamedFile>& files, const std::string& wanted,
                    const std::string& what, const Decide& decide, const ReadListed& read) {
  const std::vector<GgufModel> models = gguf_models(files);
  if (wanted.empty()) {
    if (models.empty()) return chosen_folder(files, what, read);
    if (models.size() == 1) return chosen_gguf(files, models.front(), what, "");
    Decision decision = decide(models);
    return chosen_gguf(files, models.at(decision.index), what, std::move(decision.note));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].path != wanted) continue;
    for (const GgufModel& model : models) {
      if (std::ranges::find(model.files, i) != model.files.end()) {
        return chosen_gguf(files, model, what, "");
      }
    }
    Choice choice;
    choice.files = {i};
    choice.path = files[i].path;
    return choice;
  }
  std::vector<GgufModel> tagged;
  for (const GgufModel& model : models) {
    if (has_tag(model.path, wanted)) tagged.push_back(model);
  }
  if (!tagged.empty()) {
    // Whole models first, then the shortest name: "Q4_K" also matches "Q4_K-imat.gguf".
    const auto best = std::ranges::min_element(tagged, {}, [](const GgufModel& model) {
      return std::pair(model.num_missing, model.path.size());
    });
    return chosen_gguf(files, *best, what, "");
  }
  NearestName nearest(wanted);
  for (const NamedFile& file : files) nearest.consider(file.path);
  for (const GgufModel& model : models) nearest.consider(model.quantisation);
  std::string text =
      what + ": there is no file or quantisation " + tenon::quoted(wanted) + nearest.hint();
  if (!models.empty()) text += "; there are " + names_of(models);
  throw Error(Code::Argument, text);
}

}  // namespace tenon::hub
