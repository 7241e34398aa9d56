// Importance matrices: both forms of files, damage, and errors of encoders that follow them.
#include "quantize/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "file/gguf_output.h"
#include "file/open.h"
#include "quantize/quantize.h"
#include "quantize/row_encoders.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorInfo tensor_of(const std::string& name, std::vector<uint64_t> shape) {
  TensorInfo tensor;
  tensor.name = name;
  tensor.rank = static_cast<uint32_t>(shape.size());
  tensor.shape = {1, 1, 1, 1};
  std::ranges::copy(shape, tensor.shape.begin());
  return tensor;
}

class Importance : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  ImportanceMatrix read() { return ImportanceMatrix::read(System::real(), path_); }
  void expect_refused(const char* text) {
    expect_error(Code::Format, HasSubstr(text), [&] { (void)read(); });
  }

  TempFolder folder_;
  std::string path_ = folder_.path("m.gguf");
};

void put(std::string& out, int32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& out, const std::string& text) {
  put(out, static_cast<int32_t>(text.size()));
  out += text;
}
void put(std::string& out, const std::vector<float>& values) {
  put(out, static_cast<int32_t>(values.size()));
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

/// Two weights in the form before GGUF; values are means times calls.
std::string old_form() {
  std::string out;
  put(out, 2);
  put(out, std::string("blk.0.attn_q.weight"));
  put(out, 4);
  put(out, std::vector<float>{4, 8});
  put(out, std::string("blk.0.ffn_up.weight"));
  put(out, 0);
  put(out, std::vector<float>{1, 3});
  put(out, 7);
  put(out, std::string("texts.txt"));
  return out;
}

TEST_F(Importance, IsReadBackAsWritten) {
  ImportanceMatrix matrix;
  matrix.weights = {{"blk.0.a.weight", {1, 2, 3, 4}, {5, 6}}, {"blk.1.b.weight", {7, 8}, {9}}};
  matrix.datasets = {"first.txt", "second.txt"};
  matrix.chunks = 10;
  matrix.chunk_tokens = 512;
  matrix.write(System::real(), path_);
  const ImportanceMatrix again = read();
  ASSERT_EQ(again.weights.size(), 2u);
  EXPECT_EQ(again.weights[0].weight, "blk.0.a.weight");
  EXPECT_THAT(again.weights[0].sums, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(again.weights[0].counts, ElementsAre(5, 6));
  EXPECT_THAT(again.weights[1].sums, ElementsAre(7, 8));
  EXPECT_THAT(again.datasets, ElementsAre("first.txt", "second.txt"));
  EXPECT_EQ(again.chunks, 10u);
  EXPECT_EQ(again.chunk_tokens, 512u);
}

TEST_F(Importance, HasTheOldFormToo) {
  write(old_form());
  const ImportanceMatrix matrix = read();
  ASSERT_EQ(matrix.weights.size(), 2u);
  EXPECT_EQ(matrix.chunks, 7u);
  EXPECT_THAT(matrix.datasets, ElementsAre("texts.txt"));
  EXPECT_THAT(matrix.weights[0].counts, ElementsAre(4));
  EXPECT_THAT(matrix.weights[1].counts, ElementsAre(1));  // no call: values as they are
  const auto weights = matrix.of(tensor_of("blk.0.attn_q.weight", {3, 2}));
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_NEAR(weights[0], 2.0 / 3, 1e-3);
  EXPECT_NEAR(weights[1], 4.0 / 3, 1e-3);
}

TEST_F(Importance, CutShortIsAnErrorAtEveryByte) {
  const std::string whole = old_form();
  // Without the last line the file is that of older programs.
  const size_t end_of_weights = whole.size() - 8 - std::strlen("texts.txt");
  for (size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    if (size >= end_of_weights && size < end_of_weights + 8) {
      EXPECT_EQ(read().weights.size(), 2u) << size;
    } else {
      EXPECT_THROW((void)read(), Error) << size;
    }
  }
}

TEST_F(Importance, DamageOfTheOldFormIsNamed) {
  const auto changed = [](size_t at, int32_t value) {
    std::string bytes = old_form();
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  const size_t calls = 8 + std::strlen("blk.0.attn_q.weight");
  write(changed(0, -1));
  expect_refused("the number of weights is -1");
  write(changed(0, 0));
  expect_refused("the number of weights is 0");
  write(changed(4, 1 << 30));
  expect_refused("the length of a name");
  write(changed(calls, -3));
  expect_refused("the number of calls is -3");
  write(changed(calls + 4, INT32_MAX));
  expect_refused("the number of values");
  write(changed(calls + 8, 0x7fc00000));
  expect_refused("\"blk.0.attn_q.weight\" has a value that is negative or not finite");
  write(changed(calls + 8, static_cast<int32_t>(0xbf800000)));
  expect_refused("negative or not finite");
  std::string twice = old_form();
  const std::string name = "blk.0.ffn_up.weight";
  twice.replace(twice.find(name), name.size(), "blk.0.attn_q.weight");
  write(twice);
  expect_refused("has \"blk.0.attn_q.weight\" twice");
}

/// Either an error or values that quantising can use.
TEST_F(Importance, AnyDamageIsASentenceOrUsable) {
  ImportanceMatrix matrix;
  matrix.weights = {{"blk.0.a.weight", {1, 2, 3, 4}, {5, 6}}, {"blk.1.b.weight", {7, 8}, {9}}};
  matrix.datasets = {"texts"};
  matrix.write(System::real(), path_);
  std::ifstream in(path_, std::ios::binary);
  const std::string gguf{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 random(7);
  for (const std::string& whole : {gguf, old_form()}) {
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      std::string bytes = whole;
      for (int change = 0; change < 1 + i % 3; ++change) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (i % 5 == 0) bytes.resize(random() % bytes.size());
      write(bytes);
      try {
        const ImportanceMatrix read_back = read();
        for (const WeightInputs& each : read_back.weights) {
          for (const uint64_t columns : {uint64_t{1}, uint64_t{2}, uint64_t{3}}) {
            try {
              for (const float weight : read_back.of(tensor_of(each.weight, {2, columns}))) {
                ASSERT_TRUE(std::isfinite(weight) && weight > 0);
              }
            } catch (const Error& error) {
              EXPECT_EQ(error.code(), Code::Argument) << error.what();
            }
          }
        }
      } catch (const Error& error) {
        EXPECT_NE(error.code(), Code::Internal) << error.what();
        ++refused;
      }
    }
    EXPECT_GT(refused, 100);
  }
}

TEST_F(Importance, OtherFilesAreRefused) {
  {
    GgufOutput out(System::real(), path_);
    out.add("general.architecture", "llama");
    out.begin();
    out.commit();
  }
  expect_refused("is not an importance matrix: it has no key");
  const auto with_tensors = [&](const std::vector<std::string>& names, Format format) {
    GgufOutput out(System::real(), path_);
    out.add("imatrix.chunk_count", uint32_t{1});
    for (const std::string& name : names) {
      out.add_tensor(name, std::vector<uint64_t>{1, 32}, format);
    }
    out.begin();
    const std::vector<std::byte> zeros(names.size() * *row_bytes(*find_format(format), 32));
    for (size_t i = 0; i < names.size(); ++i) {
      out.write(std::span(zeros).first(zeros.size() / names.size()));
    }
    out.commit();
  };
  with_tensors({}, Format::F32);
  expect_refused("without sums");
  with_tensors({"a.in_sum2"}, Format::F32);
  expect_refused("sums of \"a\" and no counts");
  with_tensors({"a.in_sum2", "a.counts"}, Format::F16);
  expect_refused("\"a.in_sum2\" is f16, not f32");
  with_tensors({"a.in_sum2", "a.counts"}, Format::F32);
  EXPECT_EQ(read().weights.size(), 1u);
}

TEST_F(Importance, IsOneOnAverageAndNeverZero) {
  ImportanceMatrix matrix;
  matrix.weights = {{"blk.0.ffn_down_exps.weight", {0, 2, 0, 0, 6, 0}, {3, 0, 1}}};
  const auto weights = matrix.of(tensor_of("blk.0.ffn_down_exps.weight", {3, 5, 2}));
  ASSERT_EQ(weights.size(), 6u);
  EXPECT_GT(weights[0], 0);
  EXPECT_NEAR(weights[0] + weights[1], 2, 1e-5);
  EXPECT_THAT(std::span(weights).subspan(2, 2), ElementsAre(1, 1));  // never used
  EXPECT_NEAR(weights[4] + weights[5], 2, 1e-5);
}

TEST_F(Importance, GatesTakeWhatIsKnownOfTheMatrixBeside) {
  ImportanceMatrix matrix;
  matrix.weights = {{"blk.0.ffn_up.weight", {1, 3}, {1}}};
  EXPECT_TRUE(matrix.knows("blk.0.ffn_gate.weight"));
  EXPECT_EQ(matrix.of(tensor_of("blk.0.ffn_gate.weight", {4, 2})),
            matrix.of(tensor_of("blk.0.ffn_up.weight", {4, 2})));
  EXPECT_FALSE(matrix.knows("blk.1.ffn_gate.weight"));
  EXPECT_TRUE(matrix.of(tensor_of("blk.0.attn_q.weight", {4, 2})).empty());
}

TEST_F(Importance, OfAnotherModelIsRefused) {
  ImportanceMatrix matrix;
  matrix.weights = {{"blk.0.ffn_up.weight", {1, 3}, {1}}};
  for (const auto& shape : {std::vector<uint64_t>{4, 3}, std::vector<uint64_t>{3, 4, 1}}) {
    expect_error(Code::Argument, HasSubstr("importance of \"blk.0.ffn_up.weight\": 2 values"),
                 [&] { (void)matrix.of(tensor_of("blk.0.ffn_up.weight", shape)); });
  }
  ImportanceMatrix other;
  other.weights = {{"blk.0.ffn_up.weight", {1, 3, 4}, {1}}};
  expect_error(Code::Argument, HasSubstr("importance of \"blk.0.ffn_up.weight\""),
               [&] { matrix.add(other); });
}

TEST_F(Importance, AddsTexts) {
  ImportanceMatrix matrix;
  matrix.weights = {{"a", {1, 3}, {1}}};
  matrix.chunks = 2;
  ImportanceMatrix other;
  other.weights = {{"b", {5}, {2}}, {"a", {10, 30}, {4}}};
  other.chunks = 3;
  other.chunk_tokens = 64;
  // The old form counts chunks, the new one tokens.
  ImportanceMatrix turned = other;
  turned.add(matrix);
  matrix.add(other);
  ASSERT_EQ(matrix.weights.size(), 2u);
  EXPECT_THAT(matrix.weights[0].sums, ElementsAre(64 + 10, 3 * 64 + 30));
  EXPECT_THAT(matrix.weights[0].counts, ElementsAre(64 + 4));
  EXPECT_EQ(matrix.weights[1].weight, "b");
  EXPECT_EQ(turned.weights[1].sums, matrix.weights[0].sums);
  EXPECT_EQ(turned.weights[1].counts, matrix.weights[0].counts);
  EXPECT_EQ(matrix.chunks, 5u);
  EXPECT_EQ(matrix.chunk_tokens, 64u);
}

TEST_F(Importance, AddsOneCountToThoseOfExperts) {
  const WeightInputs old{"a", {1, 2, 3, 4}, {5}};
  WeightInputs experts{"a", {10, 20, 30, 40}, {7, 8}};
  WeightInputs turned = old;
  turned.add(experts);
  experts.add(old);
  for (const WeightInputs& sum : {experts, turned}) {
    EXPECT_THAT(sum.sums, ElementsAre(11, 22, 33, 44));
    EXPECT_THAT(sum.counts, ElementsAre(12, 13));
  }
}

// ---- Encoders

struct Row {
  std::vector<float> values, weights;
};

/// Normal values with weights over four orders of magnitude, 1 on average.
Row random_row(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Row row;
  double total = 0;
  for (size_t i = 0; i < count; ++i) {
    row.values.push_back(normal(random));
    row.weights.push_back(std::exp(2 * normal(random)));
    total += row.weights.back();
  }
  for (float& weight : row.weights) weight *= static_cast<float>(count) / static_cast<float>(total);
  return row;
}

double weighted_error(const FormatInfo& info, const Row& row, const std::vector<char>& blocks) {
  std::vector<float> decoded(row.values.size());
  info.decode_row(blocks.data(), decoded.data(), decoded.size());
  double error = 0;
  for (size_t i = 0; i < decoded.size(); ++i) {
    const double difference = double{row.values[i]} - decoded[i];
    error += row.weights[i] * difference * difference;
  }
  return error;
}

TEST(RowEncoders, AreThoseOfTheTableForEqualWeights) {
  const Row row = random_row(512, 1);
  const std::vector<float> ones(512, 1.0f);
  for (const FormatInfo& info : kFormats) {
    const EncodeWeightedRow encode = weighted_encoder(info.id);
    if (encode == nullptr) continue;
    SCOPED_TRACE(info.name);
    std::vector<char> expected(*row_bytes(info, 512)), blocks(expected.size());
    info.encode_row(row.values.data(), expected.data(), 512);
    encode(row.values.data(), ones.data(), blocks.data(), 512);
    EXPECT_EQ(blocks, expected);
  }
}

TEST(RowEncoders, LowerTheWeightedError) {
  size_t weighted = 0;
  for (const FormatInfo& info : kFormats) {
    const EncodeWeightedRow encode = weighted_encoder(info.id);
    if (encode == nullptr) continue;
    SCOPED_TRACE(info.name);
    ++weighted;
    double even_error = 0, error = 0;
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      const Row row = random_row(512, seed);
      std::vector<char> blocks(*row_bytes(info, 512));
      info.encode_row(row.values.data(), blocks.data(), 512);
      even_error += weighted_error(info, row, blocks);
      encode(row.values.data(), row.weights.data(), blocks.data(), 512);
      error += weighted_error(info, row, blocks);
    }
    EXPECT_LT(error, 0.97 * even_error);
    RecordProperty(info.name, std::to_string(error / even_error));
  }
  EXPECT_EQ(weighted, 18u);
}

// ---- Files

class QuantizeByImportance : public Importance {
 protected:
  static constexpr uint64_t kLayers = 8;

  std::shared_ptr<const ModelFile> model() {
    GgufOutput out(System::real(), folder_.path("in.gguf"));
    out.add("general.architecture", "llama");
    const std::vector<uint64_t> shape{2, 256};
    for (uint64_t i = 0; i < kLayers; ++i) out.add_tensor(name_of(i), shape, Format::F32);
    out.begin();
    for (uint64_t i = 0; i < kLayers; ++i) {
      const Row row = random_row(512, static_cast<uint32_t>(i));
      out.write(std::as_bytes(std::span(row.values)));
    }
    out.commit();
    return open_model_file(folder_.path("in.gguf"));
  }
  static std::string name_of(uint64_t layer) {
    return "blk." + std::to_string(layer) + ".ffn_down.weight";
  }
  /// Importance of the first `layers`.
  void write_matrix(uint64_t layers) {
    ImportanceMatrix matrix;
    for (uint64_t i = 0; i < layers; ++i) {
      Row row = random_row(256, 100 + static_cast<uint32_t>(i));
      matrix.weights.push_back({name_of(i), std::move(row.weights), {3}});
    }
    matrix.datasets = {"texts.txt"};
    matrix.chunks = 12;
    matrix.write(System::real(), path_);
  }
  std::shared_ptr<const ModelFile> quantized(const QuantizeOptions& options) {
    write_quantized(System::real(), *model(), folder_.path("out.gguf"), options);
    return open_model_file(folder_.path("out.gguf"));
  }
};

TEST_F(QuantizeByImportance, HasTheBlocksOfWeightedEncoders) {
  write_matrix(kLayers);
  const auto out = quantized({.type = "Q4_K_S", .importance = path_, .threads = 2});
  const ImportanceMatrix matrix = read();
  for (uint64_t i = 0; i < kLayers; ++i) {
    const TensorInfo& tensor = *out->find(name_of(i));
    const FormatInfo& info = *find_format(tensor.format);
    const Row row = random_row(512, static_cast<uint32_t>(i));
    const std::vector<float> weights = matrix.of(tensor);
    std::vector<char> expected(tensor.bytes), blocks(tensor.bytes);
    for (uint64_t r = 0; r < 2; ++r) {
      weighted_encoder(info.id)(row.values.data() + r * 256, weights.data(),
                                expected.data() + r * tensor.bytes / 2, 256);
    }
    out->read(tensor, 0, std::as_writable_bytes(std::span(blocks)));
    EXPECT_EQ(blocks, expected) << i;
  }
  EXPECT_EQ(out->metadata().find<std::string_view>("quantize.imatrix.file"), "m.gguf");
  EXPECT_EQ(out->metadata().find<std::string_view>("quantize.imatrix.dataset"), "texts.txt");
  EXPECT_EQ(out->metadata().get_u32("quantize.imatrix.entries_count"), kLayers);
  EXPECT_EQ(out->metadata().get_u32("quantize.imatrix.chunks_count"), 12u);
}

TEST_F(QuantizeByImportance, ChangesTheRulesOfTypes) {
  write_matrix(kLayers);
  const auto format = [&](const QuantizeOptions& options) {
    return plan_quantization(System::real(), *model(), options)[0].to;
  };
  EXPECT_EQ(format({.type = "Q4_0"}), Format::Q4_0);
  EXPECT_EQ(format({.type = "Q4_0", .importance = path_}), Format::Q4_1);
  EXPECT_EQ(format({.type = "IQ4_XS"}), Format::Q5_K);
  EXPECT_EQ(format({.type = "IQ4_XS", .importance = path_}), Format::IQ4_XS);
}

TEST_F(QuantizeByImportance, TypesThatNeedItNeedItOfEachMatrix) {
  write_matrix(kLayers);
  EXPECT_NO_THROW((void)quantized({.type = "IQ2_XS", .importance = path_}));
  write_matrix(kLayers - 1);
  EXPECT_NO_THROW((void)quantized({.type = "Q4_K_S", .importance = path_}));
  expect_error(Code::Unsupported,
               HasSubstr("\"blk.7.ffn_down.weight\" becomes iq2_xs, which needs importance"),
               [&] { (void)quantized({.type = "IQ2_XS", .importance = path_}); });
  EXPECT_NO_THROW(
      (void)quantized({.type = "IQ2_XS", .without_importance = true, .importance = path_}));
}

TEST_F(QuantizeByImportance, ATypeThatNeedsItNeedsItInItsOwnFormat) {
  write_matrix(kLayers - 1);
  EXPECT_NO_THROW((void)quantized({.type = "Q2_K", .importance = path_}));
  expect_error(Code::Unsupported,
               HasSubstr("\"blk.7.ffn_down.weight\" becomes q2_K, which needs importance"),
               [&] { (void)quantized({.type = "Q2_K_S", .importance = path_}); });
  EXPECT_NO_THROW(
      (void)quantized({.type = "Q2_K_S", .without_importance = true, .importance = path_}));
}

}  // namespace
}  // namespace tenon
