// Every stored vector decodes to what is stored beside it: bit for bit, but for the rotations of
// EXL3, whose sums have another order.
#include "tests/weights/foreign/vectors.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/base/expect_error.h"

namespace tenon::foreign_test {
namespace {

/// Number of values that differ in their bits; -1 for a value beyond the tolerance.
int64_t num_different(std::span<const float> got, std::span<const float> expected,
                      double tolerance) {
  double largest = 0;
  for (const float value : expected) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(double(value)));
  }
  int64_t count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
    if (std::memcmp(&got[i], &expected[i], sizeof(float)) == 0) continue;
    if (!(std::fabs(double(got[i]) - double(expected[i])) <= tolerance * largest)) return -1;
    ++count;
  }
  return count;
}

/// The rows of each matrix of a stack, every second from `first`.
std::vector<float> every_second(const std::vector<float>& rows, uint64_t columns, uint64_t first) {
  std::vector<float> out;
  for (uint64_t at = first * columns; at < rows.size(); at += 2 * columns) {
    out.insert(out.end(), rows.begin() + static_cast<int64_t>(at),
               rows.begin() + static_cast<int64_t>(at + columns));
  }
  return out;
}

/// Values of the readers for an expected tensor.
std::vector<float> decode_expected(const Vector& vector, const StoredTensor& expected) {
  const std::string& name = expected.name;
  const auto rows_of = [&](const std::string& weight) {
    return open_rows(vector.tensors, weight, vector.config);
  };
  const std::string parent = name.substr(0, name.rfind('.') + 1);
  const std::string last = name.substr(parent.size());
  if (last == "gate" || last == "up" || last == "down") {
    const auto reader = rows_of(name.substr(0, name.rfind('.')) + "." +
                                (last == "down" ? "down_proj" : "gate_up_proj"));
    const std::vector<float> rows = all_rows(*reader);
    if (last == "down") return rows;
    return every_second(rows, reader->size().columns, last == "gate" ? 0 : 1);
  }
  const bool is_effective = last == "weight_effective";
  const uint64_t columns = expected.shape[expected.rank - 1];
  return all_rows(*open_rows(vector.tensors, is_effective ? parent + "weight" : name, vector.config,
                             {expected.num_values() / columns, columns}));
}

TEST(ForeignVectors, DecodeToTheStoredValues) {
  if (!std::filesystem::exists(shared_vectors())) GTEST_SKIP() << "no shared test vectors";
  size_t count = 0;
  for (const Vector& vector : read_shared_vectors()) {
    const auto expected = open_file(vector.folder / "expected.safetensors");
    for (const StoredTensor& tensor : expected->tensors()) {
      const bool is_bias = tensor.name.ends_with("_bias");
      const bool is_inner = tensor.name.ends_with(".inner");
      // The rows are those of the whole product, with what scales its input.
      const bool is_half =
          vector.name.starts_with("modelopt_int4") && tensor.name.ends_with(".weight");
      const bool has_no_scale = vector.name.starts_with("fp8/all_codes");
      if (is_bias || is_inner || is_half || has_no_scale) continue;
      std::vector<float> got;
      try {
        got = decode_expected(vector, tensor);
      } catch (const Error& error) {
        ADD_FAILURE() << vector.name << " " << tensor.name << ": " << error.what();
        continue;
      }
      const std::vector<float> want = floats_of(*expected, tensor);
      ASSERT_EQ(got.size(), want.size()) << vector.name;
      const bool is_rotated = vector.name.starts_with("exl3/");
      const int64_t different = num_different(got, want, is_rotated ? 2e-6 : 1e-6);
      EXPECT_GE(different, 0) << vector.name << " " << tensor.name;
      EXPECT_TRUE(is_rotated || different == 0)
          << vector.name << " " << tensor.name << " " << different;
      ++count;
    }
  }
  EXPECT_GE(count, 137u);
}

TEST(ForeignVectors, SmallOnesDecodeToTheStoredFingerprints) {
  size_t count = 0;
  for (const SmallVector& vector : read_small_vectors()) {
    const auto reader = open_rows(vector.tensors, vector.weight, vector.config, vector.size);
    EXPECT_EQ(reader->size(), vector.size) << vector.name;
    EXPECT_EQ(fmt::format("{:016x}", fingerprint(all_rows(*reader))), vector.values) << vector.name;
    ++count;
  }
  EXPECT_EQ(count, 39u);
}

/// Rows come out the same in any pieces: bands inside the readers leave no trace.
TEST(ForeignVectors, PiecesAreThoseOfTheWhole) {
  for (const SmallVector& vector : read_small_vectors()) {
    const auto reader = open_rows(vector.tensors, vector.weight, vector.config, vector.size);
    const std::vector<float> whole = all_rows(*reader);
    const MatrixSize size = vector.size;
    std::vector<float> piece;
    uint64_t step = 1;
    for (uint64_t first = 0; first < size.rows; step = step * 3 % 71 + 1) {
      const uint64_t rows = std::min(step, size.rows - first);
      piece.assign(rows * size.columns, -1.0f);
      reader->read(first, rows, piece);
      ASSERT_EQ(std::memcmp(piece.data(), whole.data() + first * size.columns,
                            piece.size() * sizeof(float)),
                0)
          << vector.name << " rows from " << first;
      first += rows;
    }
  }
}

/// All weights of the stored quantised folders are of a known scheme.
TEST(ForeignVectors, WeightsOfTheStoredFoldersOpen) {
  const std::filesystem::path root = shared_vectors().parent_path() / "folders";
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "no shared test vectors";
  std::map<std::string_view, size_t> schemes;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    const std::string path = entry.path().string();
    const auto files = FileFolder::from_path(path, System::real());
    const auto folder = TensorFolder::open(files, System::real());
    const QuantConfig config = read_quant_config(*files);
    for (const StoredTensor& tensor : folder->tensors()) {
      std::string weight = tensor.name;
      for (const std::string_view suffix : {".qweight", ".weight_packed", ".trellis", "_blocks"}) {
        if (weight.ends_with(suffix)) weight = weight.substr(0, weight.size() - suffix.size());
      }
      if (weight == tensor.name && !weight.ends_with(".weight")) continue;
      const std::string_view scheme = scheme_of(folder, weight, config);
      EXPECT_NE(scheme, "") << path << " " << tensor.name;
      const auto reader = open_rows(folder, weight, config);
      std::vector<float> row(reader->size().columns);
      reader->read(reader->size().rows - 1, 1, row);
      ++schemes[scheme];
    }
  }
  EXPECT_GT(schemes["plain"], 300u);
  for (const char* scheme : {"GPTQ", "AWQ", "compressed-tensors integers", "scaled FP8 or int8",
                             "block floats", "bitsandbytes 4-bit", "MLX affine", "EXL3"}) {
    EXPECT_GE(schemes[scheme], 4u) << scheme;
  }
}

}  // namespace
}  // namespace tenon::foreign_test
