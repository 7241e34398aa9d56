// The tiny Hugging Face folders beside the project, with what other programs computed of them. For
// tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "file/tensor_folder.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"
#include "weights/foreign/quant_config.h"
#include "weights/foreign/row_reader.h"

namespace tenon::folders {

inline std::string shared_folder(const std::string& name) {
  return TENON_SHARED_DIR "/formats/folders/" + name;
}

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

/// A folder to change.
class FolderCopy {
 public:
  explicit FolderCopy(const std::string& name) {
    std::filesystem::copy(shared_folder(name), path(), std::filesystem::copy_options::recursive);
  }
  [[nodiscard]] std::string path() const { return temp_.path("model"); }
  void write(const std::string& file, const std::string& text) const {
    temp_.write("model/" + file, text);
  }
  void remove(const std::string& file) const { std::filesystem::remove(path() + "/" + file); }
  [[nodiscard]] std::string read(const std::string& file) const {
    std::ifstream in(path() + "/" + file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Whether a safetensors file has these bytes.
  [[nodiscard]] bool has(const std::string& bytes) const {
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      const std::string file = entry.path().filename().string();
      if (file.ends_with(".safetensors") && read(file).find(bytes) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

 private:
  TempFolder temp_;
};

/// Rows and columns of an expected tensor.
struct Expected {
  std::vector<float> values;
  uint64_t columns = 0;
};

inline Expected read_expected(const std::string& path, const std::string& tensor) {
  const auto source = ByteSource::from_path(path, System::real());
  const auto folder = TensorFolder::open_files(std::span(&source, 1), path, System::real());
  const auto rows = open_rows(folder, tensor, {});
  Expected out{std::vector<float>(rows->size().rows * rows->size().columns), rows->size().columns};
  rows->read(0, rows->size().rows, out.values);
  return out;
}

/// Plain numbers: f32 cache.
inline ModelOptions exact_options(uint32_t context = 0) {
  ModelOptions options;
  options.cache_type = CacheType::F32;
  options.context = context;
  options.threads = 1;
  options.backend = "cpu";
  options.backend_options = {{"bf16_activations", "f32"}, {"f16_activations", "f32"}};
  return options;
}

/// The largest difference of logits over the largest expected one.
inline double logits_error(const std::string& path, uint32_t context) {
  const nlohmann::json facts = read_json(path + "/expected.json");
  const std::vector<Token> prompt = facts.at("prompt_ids");
  const Expected expected = read_expected(path + "/expected_logits.st", "logits");
  Session session(Engine::create(Model::load(path, exact_options(context))));
  const std::vector<float> got = evaluate_all(session, prompt);
  const uint64_t columns = got.size() / prompt.size();
  if (columns > expected.columns || expected.values.size() != prompt.size() * expected.columns) {
    return INFINITY;
  }
  double error = 0;
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = expected.values[i / columns * expected.columns + i % columns];
    error = std::max(error, std::fabs(got[i] - want));
    largest = std::max(largest, std::fabs(want));
  }
  return std::isfinite(error) ? error / largest : INFINITY;
}

}  // namespace tenon::folders
