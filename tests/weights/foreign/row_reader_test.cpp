// Which reader a weight gets, what its arithmetic is on values made by hand, and what is refused.
#include "weights/foreign/row_reader.h"

#include <map>
#include <random>

#include "tests/base/expect_error.h"
#include "tests/file/safetensors_writer.h"
#include "tests/weights/foreign/vectors.h"
#include "weights/foreign/module.h"

namespace tenon::foreign_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string floats(const std::vector<float>& values) { return bytes_of(values); }

/// Tensors in memory, under "m".
class Tensors {
 public:
  Tensors& add(const std::string& suffix, const std::string& type,
               const std::vector<uint64_t>& shape, const std::string& data) {
    writer_.add("m" + suffix, type, shape, data);
    return *this;
  }
  Tensors& metadata(const std::string& key, const std::string& value) {
    writer_.metadata(key, value);
    return *this;
  }
  std::shared_ptr<const TensorFolder> open() {
    bytes_ = writer_.finish();
    const auto source = ByteSource::from_memory(std::as_bytes(std::span(bytes_)), "t.safetensors");
    return TensorFolder::open_files(std::span(&source, 1), "t", System::real());
  }
  std::vector<float> rows(const QuantConfig& config = {}) {
    return all_rows(*open_rows(open(), "m.weight", config));
  }
  std::string_view scheme(const QuantConfig& config = {}) {
    return scheme_of(open(), "m.weight", config);
  }
  void refuse(Code code, const std::string& what, const QuantConfig& config = {}) {
    expect_error(code, HasSubstr(what), [&] { rows(config); });
  }

 private:
  SafetensorsWriter writer_;
  std::string bytes_;
};

TEST(RowReader, PlainNumbersAreRows) {
  EXPECT_THAT(Tensors().add(".weight", "F32", {2, 2}, floats({1, -2, 3, 4})).rows(),
              ElementsAre(1, -2, 3, 4));
  EXPECT_THAT(Tensors().add(".weight", "F16", {2}, bytes_of<uint16_t>({0x3c00, 0xc000})).rows(),
              ElementsAre(1, -2));
  EXPECT_THAT(Tensors().add(".weight", "BF16", {2}, bytes_of<uint16_t>({0x3f80, 0xc000})).rows(),
              ElementsAre(1, -2));
  EXPECT_THAT(Tensors().add("", "F64", {1, 2}, bytes_of<double>({0.5, 8})).rows(),
              ElementsAre(0.5f, 8));
}

TEST(RowReader, ReadsTheRowsThatAreAsked) {
  Tensors tensors;
  tensors.add(".weight", "F32", {3, 2}, floats({0, 1, 2, 3, 4, 5}));
  const auto reader = open_rows(tensors.open(), "m.weight", {});
  std::vector<float> out(2);
  reader->read(2, 1, out);
  EXPECT_THAT(out, ElementsAre(4, 5));
  reader->read(3, 0, std::span(out).first(0));
  expect_error(Code::Argument, HasSubstr("of a weight with 3"), [&] { reader->read(3, 1, out); });
  expect_error(Code::Argument, HasSubstr("of a weight with 3"),
               [&] { reader->read(1, ~uint64_t{0}, out); });
  expect_error(Code::Argument, HasSubstr("2 values for 2 rows of 2"),
               [&] { reader->read(0, 2, out); });
}

TEST(RowReader, SizesAreThoseTheModelExpects) {
  Tensors tensors;
  tensors.add(".weight", "F32", {3, 2}, floats({0, 1, 2, 3, 4, 5}));
  EXPECT_NO_THROW(open_rows(tensors.open(), "m.weight", {}, {3, 2}));
  expect_error(Code::Format, AllOf(HasSubstr("\"m\" is 3 x 2, expected 2 x 2")), [&] {
    open_rows(tensors.open(), "m.weight", {}, {2, 2});
  });
  for (const SmallVector& vector : read_small_vectors()) {
    if (!vector.name.starts_with("exl3_embedding")) continue;
    const auto cut = open_rows(vector.tensors, vector.weight, vector.config, {37, 300});
    const auto whole = open_rows(vector.tensors, vector.weight, vector.config);
    std::vector<float> few(300);
    std::vector<float> many(whole->size().columns);
    cut->read(36, 1, few);
    whole->read(36, 1, many);
    EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
    for (const MatrixSize size : {MatrixSize{41, 384}, MatrixSize{40, 256}, MatrixSize{40, 513}}) {
      expect_error(Code::Format, HasSubstr("expected"),
                   [&] { open_rows(vector.tensors, vector.weight, vector.config, size); });
    }
  }
}

TEST(RowReader, CodesWithoutAScaleAreNeverNumbers) {
  for (const char* type : {"F8_E4M3", "F8_E5M2", "I8", "U8", "I32", "U32", "F8_E8M0", "BOOL"}) {
    Tensors tensors;
    tensors.add(".weight", type, {2, 32},
                std::string(std::string_view(type).ends_with("32") ? 256 : 64, 1));
    tensors.add(".unknown_scale", "F32", {1}, floats({1}));
    tensors.refuse(Code::Unsupported, std::string("tensor \"m.weight\" [2, 32] ") + type +
                                          ": its elements and the tensors beside it");
  }
  Tensors scaled;
  scaled.add(".weight", "F32", {1}, floats({1})).add(".weight_scale", "F32", {1}, floats({1}));
  scaled.refuse(Code::Unsupported, "of no known scheme");
  Tensors other;
  other.add(".codes", "U8", {1}, "x");
  other.refuse(Code::Unsupported, "tensor \"m.codes\" [1] U8: is of no known scheme");
  Tensors none;
  none.refuse(Code::Format, "tensor \"m.weight\" is missing");
}

/// E4M3 codes: 0x38 = 1, 0x40 = 2, 0xb8 = -1.
TEST(RowReader, Fp8IsMultipliedByTheScaleOfItsTile) {
  const std::string codes("\x38\x40\xb8\x38", 4);
  const auto with = [&](const std::string& name, const std::string& type,
                        const std::vector<uint64_t>& shape, const std::string& scale,
                        const QuantConfig& config = {}) {
    return Tensors()
        .add(".weight", "F8_E4M3", {2, 2}, codes)
        .add(name, type, shape, scale)
        .rows(config);
  };
  for (const char* name : {".weight_scale", ".weight_scale_inv", ".scale", ".qscale_weight"}) {
    EXPECT_THAT(with(name, "F32", {}, floats({3})), ElementsAre(3, 6, -3, 3));
  }
  EXPECT_THAT(with(".weight_scale", "F32", {1}, floats({3})), ElementsAre(3, 6, -3, 3));
  EXPECT_THAT(with(".weight_scale", "F32", {2}, floats({3, 5})), ElementsAre(3, 6, -5, 5));
  EXPECT_THAT(with(".weight_scale", "BF16", {2, 1}, bytes_of<uint16_t>({0x4040, 0x40a0})),
              ElementsAre(3, 6, -5, 5));
  QuantConfig tiles;
  tiles.block_rows = 2;
  tiles.block_columns = 1;
  EXPECT_THAT(with(".weight_scale", "F32", {1, 2}, floats({3, 5}), tiles),
              ElementsAre(3, 10, -3, 5));
  EXPECT_THAT(with(".weight_scale", "F32", {1, 1, 2, 1}, floats({3, 5}), tiles),
              ElementsAre(3, 10, -3, 5));
  EXPECT_THAT(with(".scale", "F8_E8M0", {1, 2}, "\x80\x81", tiles), ElementsAre(2, 8, -2, 4));
  QuantConfig inverse;
  inverse.scale_divides = true;
  EXPECT_THAT(with(".weight_scale_inv", "F32", {2}, floats({2, 4}), inverse),
              ElementsAre(0.5f, 1, -0.25f, 0.25f));
  // E5M2: 0x3c = 1.
  EXPECT_THAT(Tensors()
                  .add(".weight", "F8_E5M2", {1, 2}, "\x3c\xbc")
                  .add(".weight_scale", "F32", {}, floats({7}))
                  .rows(),
              ElementsAre(7, -7));
  Tensors three;
  three.add(".weight", "F8_E4M3", {2, 2}, codes)
      .add(".weight_scale", "F32", {3}, floats({1, 2, 3}));
  three.refuse(Code::Format, "fits no tiles of 2 x 2 weights");
  expect_error(Code::Format, HasSubstr("fits no tiles"), [&] {
    with(".weight_scale", "F32", {1, 2}, floats({3, 5}));
  });
}

TEST(RowReader, StacksHaveAGridForEachMatrix) {
  const std::string codes("\x38\x38\x38\x38", 4);
  EXPECT_THAT(Tensors()
                  .add("", "F8_E4M3", {2, 1, 2}, codes)
                  .add("_scale_inv", "F32", {2, 1, 1}, floats({3, 5}))
                  .rows(),
              ElementsAre(3, 3, 5, 5));
  EXPECT_THAT(Tensors()
                  .add("", "F8_E4M3", {2, 1, 2}, codes)
                  .add("_scale", "F32", {2}, floats({3, 5}))
                  .rows(),
              ElementsAre(3, 3, 5, 5));
}

TEST(RowReader, Int8HasZerosAndScalesOfRowsOrGroups) {
  const std::string codes("\x01\xff\x02\x7f", 4);
  Tensors rows;
  rows.add(".weight", "I8", {2, 2}, codes).add(".weight_scale", "F32", {2, 1}, floats({2, 3}));
  rows.add(".weight_zero_point", "I8", {2, 1}, std::string("\x01\xff", 2));
  EXPECT_THAT(rows.rows(), ElementsAre(0, -4, 9, 384));
  EXPECT_THAT(Tensors()
                  .add(".weight", "I8", {2, 2}, codes)
                  .add(".weight_scale", "F32", {2, 2}, floats({1, 2, 3, 4}))
                  .rows(),
              ElementsAre(1, -2, 6, 508));
  Tensors bnb;
  bnb.add(".weight", "I8", {1, 2}, "\x7f\x81").add(".SCB", "F32", {1}, floats({4}));
  EXPECT_EQ(bnb.scheme(), "bitsandbytes int8");
  EXPECT_THAT(bnb.rows(), ElementsAre(127 * (4 * float(1.0 / 127)), -127 * (4 * float(1.0 / 127))));
  bnb.add(".weight_format", "U8", {}, "\x01");
  bnb.refuse(Code::Format, "only rows (0) are read");
}

TEST(RowReader, Mxfp8HasAScaleForEachBlock) {
  Tensors tensors;
  tensors.add(".weight", "F8_E4M3", {2, 64}, std::string(128, '\x38'));
  tensors.add(".weight_scale", "U8", {2, 2}, "\x80\x81\x82\x7f");
  const std::vector<float> rows = tensors.rows();
  EXPECT_EQ(tensors.scheme(), "block floats");
  EXPECT_THAT((std::vector<float>{rows[0], rows[31], rows[32], rows[63], rows[64], rows[127]}),
              ElementsAre(2, 2, 4, 4, 8, 1));
}

TEST(RowReader, TorchaoIsNamedByItsMetadata) {
  const auto make = [](const std::string& kind) {
    Tensors tensors;
    tensors.metadata("m.weight", "{\\\"_type\\\":\\\"" + kind +
                                     "\\\",\\\"_data\\\":{\\\"block_size\\\":[1,2]}}");
    tensors.add("._weight_qdata", "I8", {1, 4}, "\x01\x02\x03\xff");
    return tensors;
  };
  Tensors ints = make("IntxUnpackedToInt8Tensor");
  ints.add("._weight_scale", "F32", {2}, floats({2, 3}));
  ints.add("._weight_zero_point", "I8", {1, 2}, std::string("\x01\x00", 2));
  EXPECT_THAT(ints.rows(), ElementsAre(0, 2, 9, -3));
  // Nibbles 1 0 | 2 0 | 3 0 | -1 -1; groups of four columns; scale and zero are [groups, out].
  Tensors int4 = make("Int4Tensor");
  int4.add("._weight_scale", "F32", {2, 1}, floats({2, 3}));
  int4.add("._weight_zero_point", "F32", {2, 1}, floats({10, 20}));
  EXPECT_THAT(int4.rows(), ElementsAre(12, 10, 14, 10, 29, 20, 17, 17));
  Tensors other = make("Int4PlainInt32Tensor");
  other.add("._weight_scale", "F32", {2, 1}, floats({2, 3}));
  other.refuse(Code::Unsupported, "class \"Int4PlainInt32Tensor\"");
  Tensors none;
  none.add("._weight_qdata", "I8", {1, 4}, "abcd").add("._weight_scale", "F32", {1}, floats({1}));
  none.refuse(Code::Format, "do not name its class");
}

TEST(RowReader, ScalesOfTheInputAreInTheRows) {
  Tensors tensors;
  tensors.add(".weight", "F8_E4M3", {1, 2}, "\x38\x40")
      .add(".weight_scale", "F32", {}, floats({3}));
  tensors.add(".pre_quant_scale", "F32", {2}, floats({2, 0.5f}));
  EXPECT_THAT(tensors.rows(), ElementsAre(6, 3));
  Tensors wrong;
  wrong.add(".weight", "F8_E4M3", {1, 2}, "\x38\x40").add(".weight_scale", "F32", {}, floats({3}));
  wrong.add(".pre_quant_scale", "F32", {3}, floats({2, 1, 1}));
  wrong.refuse(Code::Format, "one value for each of 2 columns");
}

TEST(RowReader, IndicesOutsideATensorAreRefused) {
  const auto gptq = [](int32_t group) {
    Tensors tensors;
    tensors.add(".qweight", "I32", {2, 8}, std::string(64, 0));
    tensors.add(".qzeros", "I32", {2, 1}, std::string(8, 0));
    tensors.add(".scales", "F32", {2, 8}, floats(std::vector<float>(16, 1.0f)));
    std::vector<int32_t> groups(16, 1);
    groups[3] = group;
    tensors.add(".g_idx", "I32", {16}, bytes_of(groups));
    return tensors;
  };
  EXPECT_EQ(gptq(0).rows().size(), 128u);
  EXPECT_EQ(gptq(0).scheme(), "GPTQ");
  gptq(2).refuse(Code::Format, "input 3 is in group 2 of 2");
  gptq(-1).refuse(Code::Format, "input 3 is in group -1 of 2");
}

/// Two inputs of 4 bits in a group each, and which group an input is in.
TEST(RowReader, GroupsOfPackedIntegersAreUsedUnlessOneIsUnset) {
  const auto packed = [](const std::vector<int32_t>& groups) {
    Tensors tensors;
    tensors.add(".weight_packed", "I32", {1, 1}, bytes_of<uint32_t>({0x0000009au}));
    tensors.add(".weight_shape", "I64", {2}, bytes_of<int64_t>({1, 2}));
    tensors.add(".weight_scale", "F32", {1, 2}, floats({1, 10}));
    tensors.add(".weight_g_idx", "I32", {groups.size()}, bytes_of(groups));
    return tensors;
  };
  QuantConfig config;
  config.packed_bits = {4};
  EXPECT_THAT(packed({0, 1}).rows(config), ElementsAre(2, 10));
  EXPECT_THAT(packed({1, 0}).rows(config), ElementsAre(20, 1));
  EXPECT_THAT(packed({-1, 0}).rows(config), ElementsAre(2, 10));
  packed({0, 2}).refuse(Code::Format, "one of 2 groups for each of 2 inputs", config);
  packed({0}).refuse(Code::Format, "one of 2 groups for each of 2 inputs", config);
}

TEST(RowReader, WidthsOfPackedIntegersComeFromTheWords) {
  const auto packed = [](uint64_t words, const std::vector<uint32_t>& named) {
    QuantConfig config;
    config.packed_bits = named;
    Tensors tensors;
    tensors.add(".weight_packed", "I32", {1, words}, std::string(4 * words, '\xff'));
    tensors.add(".weight_shape", "I64", {2}, bytes_of<int64_t>({1, 64}));
    tensors.add(".weight_scale", "F32", {1}, floats({1}));
    std::string out;
    try {
      out = std::to_string(static_cast<int>(tensors.rows(config).front()));
    } catch (const Error& error) {
      out = error.what();
    }
    return out;
  };
  // All bits are set: the largest value of the width.
  EXPECT_EQ(packed(2, {}), "0");
  EXPECT_EQ(packed(4, {}), "1");
  EXPECT_EQ(packed(6, {}), "3");
  EXPECT_EQ(packed(7, {}), "3");  // whole fields
  EXPECT_EQ(packed(8, {}), "7");
  EXPECT_EQ(packed(10, {}), "15");
  EXPECT_EQ(packed(14, {}), "63");
  EXPECT_EQ(packed(16, {8}), "127");
  EXPECT_EQ(packed(16, {4, 7}), "63");
  EXPECT_THAT(packed(16, {}), HasSubstr("of more than one width"));
  EXPECT_THAT(packed(5, {4}), HasSubstr("of no width"));
}

TEST(RowReader, ModulesOfMlxHaveGroupsOfTheirOwn) {
  QuantConfig config;
  config.group_size = 16;
  Tensors tensors;
  tensors.add(".weight", "U32", {1, 2}, bytes_of<uint32_t>({0x76543210u, 0xfedcba98u}));
  tensors.add(".scales", "F32", {1, 2}, floats({1, 2}));
  tensors.add(".biases", "F32", {1, 2}, floats({0, 100}));
  EXPECT_EQ(tensors.rows(config).size(), 32u);  // of two bits
  config.module_groups["m"] = 8;
  EXPECT_THAT(tensors.rows(config),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 116, 118, 120, 122, 124, 126, 128, 130));
  config.module_groups["m"] = 5;
  tensors.refuse(Code::Format, "2 groups of 5 inputs take no whole bits", config);
  tensors.refuse(Code::Format, "2 groups of 0 inputs");
}

/// Shapes tell AWQ from GPTQ, whatever the configuration says.
TEST(RowReader, AwqAndGptqAreToldByTheirShapes) {
  const auto scheme = [](std::vector<uint64_t> words, std::vector<uint64_t> zeros,
                         std::vector<uint64_t> scales, const char* type = "I32") {
    const auto data = [](const std::vector<uint64_t>& shape, uint64_t size) {
      return std::string(shape[0] * shape[1] * size, '\0');
    };
    Tensors tensors;
    tensors.add(".qweight", type, words, data(words, type == std::string("I16") ? 2 : 4));
    tensors.add(".qzeros", "I32", zeros, data(zeros, 4));
    tensors.add(".scales", "F16", scales, data(scales, 2));
    return std::string(tensors.scheme());
  };
  EXPECT_EQ(scheme({64, 8}, {2, 8}, {2, 64}), "AWQ");
  EXPECT_EQ(scheme({8, 64}, {2, 8}, {2, 64}), "GPTQ");
  EXPECT_EQ(scheme({64, 8}, {64, 1}, {64, 8}), "AWQ");  // gemv
  EXPECT_EQ(scheme({16, 64}, {2, 64}, {16, 64}, "I16"), "");
}

/// More outputs than are decoded at once: the rows alone are those of the whole.
TEST(RowReader, BandsOfOutputsLeaveNoTrace) {
  std::mt19937 random(3);
  const auto words = [&](uint64_t count) {
    std::string bytes(count * 4, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  };
  const auto scales = [&](uint64_t count) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = 1.0f + static_cast<float>(i);
    return floats(out);
  };
  constexpr uint64_t kOutputs = 576;
  const auto check = [&](Tensors& tensors, std::string_view scheme) {
    EXPECT_EQ(tensors.scheme(), scheme);
    const auto reader = open_rows(tensors.open(), "m.weight", {});
    ASSERT_EQ(reader->size(), (MatrixSize{kOutputs, 32}));
    const std::vector<float> whole = all_rows(*reader);
    std::vector<float> row(32);
    for (uint64_t o = 0; o < kOutputs; ++o) {
      reader->read(o, 1, row);
      ASSERT_TRUE(std::equal(row.begin(), row.end(), whole.begin() + static_cast<int64_t>(o * 32)))
          << scheme << " " << o;
    }
  };
  for (const uint64_t bits : {3, 4, 7}) {
    Tensors gptq;
    gptq.add(".qweight", "I32", {bits, kOutputs}, words(bits * kOutputs));
    gptq.add(".qzeros", "I32", {2, kOutputs * bits / 32}, words(2 * kOutputs * bits / 32));
    gptq.add(".scales", "F32", {2, kOutputs}, scales(2 * kOutputs));
    check(gptq, "GPTQ");
  }
  Tensors awq;
  awq.add(".qweight", "I32", {32, kOutputs / 8}, words(4 * kOutputs));
  awq.add(".qzeros", "I32", {2, kOutputs / 8}, words(kOutputs / 4));
  awq.add(".scales", "F32", {2, kOutputs}, scales(2 * kOutputs));
  check(awq, "AWQ");
  Tensors exl2;
  exl2.add(".q_weight", "I32", {4, kOutputs}, words(4 * kOutputs));
  exl2.add(".q_scale", "I32", {1, kOutputs / 8}, words(kOutputs / 8));
  exl2.add(".q_scale_max", "F16", {1}, bytes_of<uint16_t>({0x3c00}));
  exl2.add(".q_groups", "I16", {2}, bytes_of<int16_t>({4, 0}));
  std::vector<int32_t> order(32);
  for (int i = 0; i < 32; ++i) order[i] = (i * 5) % 32;
  exl2.add(".q_invperm", "I32", {32}, bytes_of(order));
  check(exl2, "EXL2");
}

/// Vectors whose tensors were left out, swapped or given other types and shapes are read or refused
/// with a sentence; never more than that.
TEST(RowReader, DamagedVectorsAreReadOrRefused) {
  const char* const types[] = {"U8",  "I8",   "I16", "I32",     "U32",     "I64",
                               "F16", "BF16", "F32", "F8_E4M3", "F8_E8M0", "F64"};
  std::mt19937 random(11);
  size_t refused = 0;
  size_t tried = 0;
  for (const SmallVector& vector : read_small_vectors()) {
    for (int round = 0; round < 60; ++round) {
      SafetensorsWriter writer;
      const std::span<const StoredTensor> tensors = vector.tensors->tensors();
      const size_t chosen = random() % tensors.size();
      const uint32_t kind = random() % 5;
      for (size_t i = 0; i < tensors.size(); ++i) {
        const StoredTensor& tensor = tensors[i];
        std::string data(tensor.bytes, '\0');
        vector.tensors->read(tensor, 0, std::as_writable_bytes(std::span(data)));
        std::string type(info_of(tensor.type).name);
        std::vector<uint64_t> shape(tensor.shape.begin(), tensor.shape.begin() + tensor.rank);
        if (i == chosen) {
          if (kind == 0) continue;  // left out
          if (kind == 1 && !data.empty()) {
            for (int n = 0; n < 20; ++n) data[random() % data.size()] = static_cast<char>(random());
          }
          if (kind == 2) {  // another type of as many bytes
            type = types[random() % std::size(types)];
            const uint64_t size = info_of(tensor.type).bits / 8;
            const uint64_t other = type.ends_with("64")   ? 8
                                   : type.ends_with("32") ? 4
                                   : type.ends_with("16") ? 2
                                                          : 1;
            if (!shape.empty()) shape.back() = shape.back() * size / other;
            uint64_t values = 1;
            for (const uint64_t extent : shape) values *= extent;
            data.resize(values * other);
          }
          if (kind == 3) std::ranges::reverse(shape);
          if (kind == 4 && !shape.empty()) {  // fewer or more rows
            const uint64_t rows = random() % 3 == 0 ? 0 : random() % (2 * shape[0] + 1);
            data.resize(shape[0] == 0 ? 0 : data.size() / shape[0] * rows);
            shape[0] = rows;
          }
        }
        writer.add(tensor.name, type, shape, data);
      }
      const std::string bytes = writer.finish();
      const auto source = ByteSource::from_memory(std::as_bytes(std::span(bytes)), "t.safetensors");
      const auto folder = TensorFolder::open_files(std::span(&source, 1), "t", System::real());
      ++tried;
      try {
        const auto reader = open_rows(folder, vector.weight, vector.config);
        ASSERT_LT(reader->size().rows * reader->size().columns, 10'000'000u) << vector.name;
        all_rows(*reader);
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == Code::Format || error.code() == Code::Unsupported ||
                    error.code() == Code::Limit)
            << vector.name << ": " << error.what();
        EXPECT_THAT(std::string(error.what()), HasSubstr("t")) << vector.name;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, tried / 3);
}

TEST(QuantConfig, ReadsWhatTensorsCannotTell) {
  const auto read = [](const char* text) {
    return read_quant_config(parse_json_tree(text, "config.json"), "config.json");
  };
  EXPECT_EQ(read("{}").method, "");
  EXPECT_EQ(read(R"({"quantization_config":null,"quantization":{"group_size":32}})").group_size,
            32u);
  const QuantConfig gptq = read(
      R"({"text_config":{"quantization_config":{"quant_method":"gptq","sym":true,"format":"gptq_p"}}})");
  EXPECT_EQ(gptq.method, "gptq");
  EXPECT_TRUE(gptq.is_symmetric);
  EXPECT_EQ(gptq.gptq_format, "gptq_p");
  const QuantConfig mlx =
      read(R"({"quantization":{"group_size":64,"bits":4,"a.b":{"group_size":32},"c":false}})");
  EXPECT_EQ(mlx.group_size_of("a.b"), 32u);
  EXPECT_EQ(mlx.group_size_of("c"), 64u);
  const QuantConfig fp8 = read(
      R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,64],"weight_scale_semantics":"inverse"}})");
  EXPECT_EQ(fp8.block_rows, 128u);
  EXPECT_EQ(fp8.block_columns, 64u);
  EXPECT_TRUE(fp8.scale_divides);
  const QuantConfig ct = read(
      R"({"quantization_config":{"config_groups":{"a":{"weights":{"num_bits":4}},"b":{"weights":{"num_bits":8,"block_structure":[128,128]}}},"transform_config":{"config_groups":{"u":{"apply":[{"location":"weight_input"}]}}}}})");
  EXPECT_THAT(ct.packed_bits, ElementsAre(4, 8));
  EXPECT_EQ(ct.block_rows, 128u);
  expect_error(Code::Unsupported, HasSubstr("transform of \"input\""), [&] {
    read(
        R"({"quantization_config":{"transform_config":{"config_groups":{"u":{"apply":[{"location":"input"}]}}}}})");
  });
  for (const char* text :
       {R"({"quantization_config":{"format":"marlin-24"}})",
        R"({"quantization_config":{"format":"sparse-24-bitmask"}})",
        R"({"quantization_config":{"sparsity_config":{"format":"sparse-bitmask"}}})"}) {
    expect_error(Code::Unsupported, HasSubstr("is not supported"), [&] { read(text); });
  }
}

TEST(QuantConfig, IsThatOfTheFilesOfAFolder) {
  const auto read = [](const std::map<std::string, std::string>& files) {
    std::vector<FolderFile> given;
    for (const auto& [name, text] : files) {
      given.push_back({name, ByteSource::from_memory(std::as_bytes(std::span(text)), name)});
    }
    return read_quant_config(*FileFolder::from_files(std::move(given), "given"));
  };
  const std::string quantized = R"({"quantization_config":{"quant_method":"fp8"}})";
  const std::string gptq = R"({"bits":4,"group_size":128,"sym":true})";
  EXPECT_EQ(read({}).method, "");
  EXPECT_EQ(read({{"config.json", "{}"}}).method, "");
  EXPECT_EQ(read({{"config.json", quantized}, {"quantize_config.json", gptq}}).method, "fp8");
  const QuantConfig old = read({{"config.json", "{}"}, {"quantize_config.json", gptq}});
  EXPECT_EQ(old.method, "gptq");
  EXPECT_TRUE(old.is_symmetric);
  const QuantConfig awq = read({{"quant_config.json", R"({"w_bit":4,"q_group_size":64})"}});
  EXPECT_EQ(awq.method, "awq");
  EXPECT_EQ(awq.group_size, 64u);
  expect_error(Code::Format, HasSubstr("given/config.json: not JSON"), [&] {
    read({{"config.json", "{"}});
  });
}

/// Codes at the edges of the small floats, as their specifications have them.
TEST(SmallFloats, HaveTheSpecifiedValues) {
  const auto value = [](ElementType type, uint8_t code) {
    float out = 0;
    EXPECT_TRUE(foreign::decode_elements(type, reinterpret_cast<const std::byte*>(&code), 1, &out));
    return out;
  };
  EXPECT_EQ(value(ElementType::E4M3, 0x01), 0.001953125f);
  EXPECT_EQ(value(ElementType::E4M3, 0x08), 0x1p-6f);
  EXPECT_EQ(value(ElementType::E4M3, 0x7e), 448);
  EXPECT_EQ(value(ElementType::E4M3, 0xfe), -448);
  EXPECT_NE(value(ElementType::E4M3, 0x7f), value(ElementType::E4M3, 0x7f));
  EXPECT_EQ(value(ElementType::E5M2, 0x7b), 57344);
  EXPECT_EQ(value(ElementType::E5M2, 0xfc), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(value(ElementType::E8M0, 0), 0x1p-127f);
  EXPECT_EQ(value(ElementType::E8M0, 254), 0x1p127f);
  EXPECT_NE(value(ElementType::E8M0, 255), value(ElementType::E8M0, 255));
}

TEST(SmallFloats, AreTheStoredTables) {
  if (!std::filesystem::exists(shared_vectors())) GTEST_SKIP() << "no shared test vectors";
  for (const char* name : {"all_codes_e4m3", "all_codes_e5m2", "all_codes_e8m0"}) {
    const auto folder = shared_vectors() / "fp8" / name;
    const auto tensors = open_file(folder / "model.safetensors");
    const auto expected = open_file(folder / "expected.safetensors");
    const StoredTensor& tensor = tensors->tensors()[0];
    std::vector<std::byte> codes(tensor.bytes);
    tensors->read(tensor, 0, codes);
    std::vector<float> values(codes.size());
    ASSERT_TRUE(foreign::decode_elements(tensor.type, codes.data(), codes.size(), values.data()));
    EXPECT_EQ(fingerprint(values), fingerprint(floats_of(*expected, expected->tensors()[0])))
        << name;
  }
}

}  // namespace
}  // namespace tenon::foreign_test
