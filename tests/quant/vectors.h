// Reads the stored vectors of the block formats: types.txt, source.f32 and, per format, NAME.blocks
// (encoded source) with NAME.f32 (decoded blocks).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace tenon::quant_test {

/// One line of types.txt: "q4_0 id=2 block=32 bytes=18 bpw=4.5000 rel_rmse=0.08171".
struct TypeLine {
  std::string name;
  uint32_t id = 0;
  uint32_t block_values = 0;
  uint32_t block_bytes = 0;
};

inline std::filesystem::path small_vectors() {
  return std::filesystem::path(TENON_TEST_DATA_DIR) / "quant";
}

inline std::filesystem::path full_vectors() {
  return std::filesystem::path(TENON_SHARED_DIR) / "vectors" / "dequant";
}

inline std::vector<char> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<float> read_floats(const std::filesystem::path& path) {
  const std::vector<char> bytes = read_bytes(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

inline std::vector<TypeLine> read_types(const std::filesystem::path& folder) {
  std::vector<TypeLine> types;
  std::ifstream file(folder / "types.txt");
  for (std::string line; std::getline(file, line);) {
    TypeLine type;
    std::istringstream words(line);
    words >> type.name;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const std::string key = word.substr(0, equals);
      if (key == "id") type.id = static_cast<uint32_t>(std::stoul(word.substr(equals + 1)));
      if (key == "block") {
        type.block_values = static_cast<uint32_t>(std::stoul(word.substr(equals + 1)));
      }
      if (key == "bytes") {
        type.block_bytes = static_cast<uint32_t>(std::stoul(word.substr(equals + 1)));
      }
    }
    types.push_back(type);
  }
  return types;
}

/// Root mean square of the difference, relative to the root mean square of `exact`.
inline double relative_rmse(const std::vector<float>& exact, const std::vector<float>& other) {
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double difference = static_cast<double>(exact[i]) - static_cast<double>(other[i]);
    error += difference * difference;
    power += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
  }
  return std::sqrt(error / power);
}

}  // namespace tenon::quant_test
