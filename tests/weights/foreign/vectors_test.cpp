// Every stored vector decodes to what is stored beside it: bit for bit, but for the rotations of
// EXL3, whose sums have another order.
#include "tests/weights/foreign/vectors.h"

#include <fmt/format.h>

#include <bit>
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

/// Rows [first, first + count) by way of their packed format.
std::vector<float> packed_rows(const RowReader& reader, uint64_t first, uint64_t count) {
  const FormatInfo& format = *find_format(*reader.packed_format());
  const uint64_t columns = reader.size().columns;
  std::vector<std::byte> blocks(count * *row_bytes(format, columns));
  reader.read_packed(first, count, blocks);
  std::vector<float> values(count * columns);
  format.decode_row(blocks.data(), values.data(), values.size());
  return values;
}

/// Expects that a reader's packed rows have the bits of its values, whole and in pieces. Returns
/// the format's name; "" without one.
std::string expect_packed_exactly(const RowReader& reader) {
  if (!reader.packed_format()) return "";
  const MatrixSize size = reader.size();
  const std::vector<float> values = all_rows(reader);
  const auto expect_equal = [&](uint64_t first, uint64_t count) {
    const std::vector<float> got = packed_rows(reader, first, count);
    for (uint64_t i = 0; i < got.size(); ++i) {
      const float want = values[first * size.columns + i];
      if (std::isnan(want) && std::isnan(got[i])) continue;
      // The blocks of MXFP4 have one zero.
      if (want == 0 && reader.packed_format() == Format::MXFP4) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want))
          << "row " << first + i / size.columns << " column " << i % size.columns;
    }
  };
  expect_equal(0, size.rows);
  for (uint64_t first = 0, step = 1; first < size.rows; first += step) {
    step = std::min(step * 3 % 71 + 1, size.rows - first);
    expect_equal(first, step);
  }
  return find_format(*reader.packed_format())->name;
}

TEST(ForeignVectors, SmallOnesArePackedExactly) {
  std::map<std::string, size_t> formats;
  for (const SmallVector& vector : read_small_vectors()) {
    SCOPED_TRACE(vector.name);
    const auto reader = open_rows(vector.tensors, vector.weight, vector.config, vector.size);
    ++formats[expect_packed_exactly(*reader)];
  }
  for (const auto& [name, count] : formats)
    RecordProperty(name.empty() ? "none" : name, int(count));
  EXPECT_GE(formats.size(), 6u);
}

TEST(ForeignVectors, ArePackedExactly) {
  if (!std::filesystem::exists(shared_vectors())) GTEST_SKIP() << "no shared test vectors";
  std::map<std::string, std::string> formats;  // by vector
  for (const Vector& vector : read_shared_vectors()) {
    SCOPED_TRACE(vector.name);
    const auto expected = open_file(vector.folder / "expected.safetensors");
    for (const StoredTensor& tensor : expected->tensors()) {
      std::unique_ptr<const RowReader> reader;
      try {
        reader = open_rows(vector.tensors, tensor.name, vector.config);
      } catch (const Error&) {
        continue;  // a name of another test
      }
      try {
        const std::string format = expect_packed_exactly(*reader);
        if (!format.empty()) formats[vector.name] = format;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  for (const auto& [name, format] : std::map<std::string, std::string>{
           {"awq/gemm_g128", "u4g128"},
           {"awq/gemv_g64", "u4g64"},
           {"autoround/b4_asym_plain", "u4g64"},
           {"ct/int4_g32_asym", "u4g32"},
           {"ct/int8_channel_asym", "u8g32"},
           {"fp8/block128_deepseek", "f8g32"},
           {"fp8/channel_ct", "f8g128"},
           {"gptq/b3_g64_asym_planar", "u4g64"},
           {"gptq/b4_g64_sym_v1", "u4g64"},
           {"gptq/b4_g64_sym_v1_actorder", ""},
           {"gptq/b8_g64_asym_v1", "u8g32"},
           {"hqq/b4_g64_axis1", "u4p64"},
           {"mlx/affine_b4_g64", "u4p64"},
           {"mlx/affine_b8_g32", "u8p32"},
           {"mxfp4/ct", "mxfp4"},
           {"mxfp8/ct", "f8g32"},
       }) {
    EXPECT_EQ(formats[name], format) << name;
  }
  EXPECT_GE(std::ranges::count_if(formats, [](const auto& one) { return !one.second.empty(); }),
            92);
  for (const auto& [name, format] : formats) RecordProperty(name, format);
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
