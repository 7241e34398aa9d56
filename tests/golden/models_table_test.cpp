// docs/models.md: its table, generated from the architecture list, their files and the goldens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "arch/architectures.h"
#include "arch/blocks/latent_attention.h"
#include "arch/blocks/pooled_attention.h"
#include "arch/refused_architectures.h"
#include "file/open.h"
#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"
#include "tests/golden/golden.h"

namespace tenon::golden {
namespace {

/// Names of the models in the first lines of the architectures' files: name -> title.
std::map<std::string, std::string> titles() {
  std::map<std::string, std::string> titles;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TENON_SOURCE_DIR "/src/arch/models")) {
    std::string text = read_text(entry.path());
    text.resize(std::min(text.find("#include"), text.size()));
    const size_t mark = text.find(" (general.architecture ");
    if (!text.starts_with("// ") || mark == std::string::npos) continue;
    std::string title = text.substr(3, mark - 3);
    for (size_t at; (at = title.find("\n//")) != std::string::npos;) title.erase(at, 3);
    // The file reads every quoted name.
    for (size_t from = mark; (from = text.find('"', from)) != std::string::npos;) {
      const size_t end = text.find('"', from + 1);
      if (end == std::string::npos) break;
      titles[text.substr(from + 1, end - from - 1)] = title;
      from = end + 1;
    }
  }
  return titles;
}

/// Sources of the architectures' expected logits: name -> sources.
std::map<std::string, std::set<std::string>> golden_sources() {
  // Sources in make/goldens.py.
  const std::set<std::string> numpy = {"llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe"};
  std::map<std::string, std::set<std::string>> sources;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TENON_TEST_DATA_DIR "/golden")) {
    if (entry.path().extension() != ".json") continue;
    const nlohmann::json golden = nlohmann::json::parse(read_text(entry.path()));
    const std::string name = golden.at("keys").at("general.architecture");
    const bool own = !golden.contains("source") && numpy.count(name) > 0;
    sources[name].insert(golden.value("source", own ? "numpy, f64" : "transformers"));
  }
  const nlohmann::json manifest =
      nlohmann::json::parse(read_text(shared_path("architectures/manifest.json")));
  for (const auto& [key, row] : manifest.items()) {
    sources[row.at("arch")].insert("llama.cpp (architectures/)");
  }
  return sources;
}

/// Cache kinds of a small model's layers.
std::string cache_kinds(std::string_view architecture) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  write_random_model(System::real(), path, "tiny-" + std::string(architecture), "q8_0");
  const ModelSpec model = read_model_spec(*open_model_file(path));
  std::set<std::string> kinds;
  for (const LayerSpec& layer : model.layers) {
    if (layer.specs.has_mixer()) kinds.insert("state");
    if (layer.attention.heads == 0 || model.pooling) continue;
    const bool latent = layer.attention.specs.find<LatentSpec>() != nullptr;
    kinds.insert(latent ? "latent" : layer.attention.window > 0 ? "window" : "full");
    const auto* pools = layer.attention.specs.find<PoolSpec>();
    if (pools != nullptr && pools->stride > 0) kinds.insert("latent");
  }
  if (!model.encoder_layers.empty()) kinds.insert("cross");
  std::string text;
  for (const std::string& kind : kinds) text += (text.empty() ? "" : ", ") + kind;
  return text.empty() ? "none" : text;
}

std::string table() {
  const auto names = titles();
  const auto sources = golden_sources();
  std::string text =
      "| architecture | models | cache | expected logits from | tested |\n|---|---|---|---|---|\n";
  for (const NamedArchitecture& one : architectures()) {
    const std::string name(one.name);
    const auto source = sources.find(name);
    std::string from;
    bool always = false;
    if (source != sources.end()) {
      for (const std::string& each : source->second) {
        from += (from.empty() ? "" : "; ") + each;
        always = always || !each.starts_with("llama.cpp");
      }
    }
    const char* tested = from.empty() ? "backends with each other alone"
                         : always     ? "always"
                                      : "where `shared/` is there";
    const auto title = names.find(name);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", name,
                        title == names.end() ? "?" : title->second, cache_kinds(name),
                        from.empty() ? "none" : from, tested);
  }
  text +=
      "\nKnown by name, and refused with this reason:\n\n| architecture | reason |\n|---|---|\n";
  for (const RefusedArchitecture& one : kRefusedArchitectures) {
    text += fmt::format("| `{}` | {} |\n", one.name, one.reason);
  }
  return text;
}

TEST(ModelsTable, IsThatOfTheList) {
  TENON_SKIP_WITHOUT(shared_path("architectures/manifest.json"));
  const std::string path = TENON_SOURCE_DIR "/docs/models.md";
  const std::string mark = "<!-- made by tests/golden/models_table_test.cpp -->\n";
  const std::string text = read_text(path);
  const size_t at = text.find(mark);
  ASSERT_NE(at, std::string::npos) << path << " lacks the line " << mark;
  const std::string wanted = text.substr(0, at) + mark + table();
  if (text == wanted) return;
  const std::string written = TENON_BINARY_DIR "/models.md";
  std::ofstream(written, std::ios::binary) << wanted;
  ADD_FAILURE() << path << " is stale; copy " << written
                << ", which has just been written, over it";
}

TEST(ModelsTable, HasATitleForEveryArchitecture) {
  const auto names = titles();
  for (const NamedArchitecture& one : architectures()) {
    EXPECT_EQ(names.count(std::string(one.name)), 1u) << one.name;
  }
}

}  // namespace
}  // namespace tenon::golden
