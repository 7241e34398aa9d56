// Stored tensors of foreign schemes with what they decode to: small ones of this tree, all where
// the shared ones are. For tests only.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "file/tensor_folder.h"
#include "weights/foreign/row_reader.h"

namespace tenon::foreign_test {

/// One module of a model, and its configuration.
struct Vector {
  std::string name;  ///< "gptq/b4_g64_sym_v1"
  std::filesystem::path folder;
  std::shared_ptr<const TensorFolder> tensors;
  QuantConfig config;
  double tolerance = 0;  ///< of the largest absolute value
};

inline std::filesystem::path shared_vectors() {
  return std::filesystem::path(TENON_SHARED_DIR) / "formats" / "vectors";
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::shared_ptr<const TensorFolder> open_file(const std::filesystem::path& path) {
  const std::shared_ptr<const ByteSource> source =
      ByteSource::from_path(path.string(), System::real());
  return TensorFolder::open_files(std::span(&source, 1), path.string(), System::real());
}

/// All shared vectors of row schemes, sorted by name.
inline std::vector<Vector> read_shared_vectors() {
  std::vector<Vector> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_vectors())) {
    if (entry.path().filename() != "meta.json") continue;
    const JsonNode meta = parse_json_tree(file_text(entry.path()), entry.path().string());
    if (meta.find("tensors") == nullptr) continue;
    Vector vector;
    vector.folder = entry.path().parent_path();
    vector.name = std::filesystem::relative(vector.folder, shared_vectors()).string();
    vector.tensors = open_file(vector.folder / "model.safetensors");
    vector.config = read_quant_config(*meta.find("config"), vector.name);
    vector.tolerance = meta.find("rel_tol_of_absmax")->number;
    out.push_back(std::move(vector));
  }
  std::ranges::sort(out, {}, &Vector::name);
  return out;
}

/// A vector of this tree: no values, but their fingerprint.
struct SmallVector : Vector {
  std::string weight;
  MatrixSize size;
  std::string values;  ///< fingerprint in hexadecimal
};

inline std::vector<SmallVector> read_small_vectors() {
  const std::filesystem::path folder = std::filesystem::path(TENON_TEST_DATA_DIR) / "foreign";
  const JsonNode cases = parse_json_tree(file_text(folder / "cases.json"), "cases.json");
  std::vector<SmallVector> out;
  for (const JsonNode& item : cases.items) {
    SmallVector vector;
    vector.name = item.text_of("file");
    vector.folder = folder;
    vector.tensors = open_file(folder / vector.name);
    vector.config = read_quant_config(*item.find("config"), vector.name);
    vector.weight = item.text_of("weight");
    vector.size = {item.find("rows")->count, item.find("columns")->count};
    vector.values = item.text_of("values");
    out.push_back(std::move(vector));
  }
  return out;
}

/// All rows of a weight.
inline std::vector<float> all_rows(const RowReader& reader) {
  std::vector<float> out(reader.size().rows * reader.size().columns);
  reader.read(0, reader.size().rows, out);
  return out;
}

/// The values of an F32 tensor.
inline std::vector<float> floats_of(const TensorFolder& folder, const StoredTensor& tensor) {
  std::vector<float> out(tensor.bytes / sizeof(float));
  folder.read(tensor, 0, std::as_writable_bytes(std::span(out)));
  return out;
}

/// FNV-1a over the bits of values, all NaN alike.
inline uint64_t fingerprint(std::span<const float> values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values) {
    uint32_t bits = 0x7fc00000u;
    if (value == value) std::memcpy(&bits, &value, sizeof(bits));
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (bits >> shift & 255u)) * 0x100000001b3u;
    }
  }
  return hash;
}

}  // namespace tenon::foreign_test
