// Quantised files, compared value by value with what their formats' encoders give.
#include "quantize/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "file/gguf_output.h"
#include "file/open.h"
#include "quantize/file_types.h"
#include "random_model/random_model.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::byte> bytes_of(const ModelFile& file, const TensorInfo& tensor) {
  std::vector<std::byte> bytes(tensor.bytes);
  file.read(tensor, 0, bytes);
  return bytes;
}

/// The bytes of a tensor in another format, by its decoder and encoder alone.
std::vector<std::byte> encoded(const ModelFile& file, const TensorInfo& tensor, Format to) {
  const std::vector<std::byte> from = bytes_of(file, tensor);
  const FormatInfo& info = *find_format(to);
  const uint64_t rows = tensor.num_values() / tensor.row_values();
  std::vector<float> values(tensor.num_values());
  find_format(tensor.format)->decode_row(from.data(), values.data(), values.size());
  std::vector<std::byte> out(rows * *row_bytes(info, tensor.row_values()));
  info.encode_row(values.data(), out.data(), values.size());
  return out;
}

class Quantize : public testing::Test {
 protected:
  std::shared_ptr<const ModelFile> random(const char* format = "f32") {
    write_random_model(System::real(), folder_.path("in.gguf"), "tiny", format);
    return open_model_file(folder_.path("in.gguf"));
  }

  /// A file of one f32 matrix.
  std::shared_ptr<const ModelFile> one_tensor(const char* name, const std::vector<float>& values,
                                              uint64_t rows) {
    GgufOutput out(System::real(), folder_.path("one.gguf"));
    out.add_tensor(name, std::vector<uint64_t>{rows, values.size() / rows}, Format::F32);
    out.begin();
    out.write(std::as_bytes(std::span(values)));
    out.commit();
    return open_model_file(folder_.path("one.gguf"));
  }

  std::shared_ptr<const ModelFile> quantized(const ModelFile& file, QuantizeOptions options) {
    write_quantized(System::real(), file, folder_.path("out.gguf"), options);
    return open_model_file(folder_.path("out.gguf"));
  }

  void expect_refused(const ModelFile& file, const QuantizeOptions& options, Code code,
                      const char* text) {
    expect_error(code, HasSubstr(text),
                 [&] { write_quantized(System::real(), file, folder_.path("out.gguf"), options); });
    EXPECT_FALSE(std::filesystem::exists(folder_.path("out.gguf")));
  }

  TempFolder folder_;
};

/// Encoders that search a codebook, for a second per tensor.
bool is_slow(const FileType& type) {
  const std::string_view name = type.name;
  return name.starts_with("IQ1") || name.starts_with("IQ2") || name.starts_with("IQ3");
}

TEST_F(Quantize, EveryTypeHasTheBytesOfItsEncoders) {
  const auto large = random();
  std::vector<float> values(2 * 256);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i));
  const auto small = one_tensor("blk.0.attn_q.weight", values, 2);
  for (const FileType& type : file_types()) {
    SCOPED_TRACE(type.name);
    const auto file = is_slow(type) ? small : large;
    const QuantizeOptions options{.type = type.name, .without_importance = true, .threads = 2};
    const auto changes = plan_quantization(System::real(), *file, options);
    const auto out = quantized(*file, options);
    EXPECT_EQ(out->metadata().get_u32("general.file_type"), type.number);
    ASSERT_EQ(out->tensors().size(), changes.size());
    size_t changed = 0;
    for (size_t i = 0; i < changes.size(); ++i) {
      const TensorInfo& before = file->tensors()[i];
      const TensorInfo& after = out->tensors()[i];
      EXPECT_EQ(after.name, before.name);
      EXPECT_EQ(after.shape, before.shape);
      EXPECT_EQ(after.format, changes[i].to) << after.name;
      EXPECT_EQ(after.bytes, changes[i].bytes_after) << after.name;
      EXPECT_EQ(bytes_of(*out, after), after.format == before.format
                                           ? bytes_of(*file, before)
                                           : encoded(*file, before, after.format))
          << after.name;
      changed += after.format != before.format ? 1 : 0;
    }
    EXPECT_EQ(changed > 0, type.format != Format::F32) << changed;
  }
}

TEST_F(Quantize, KeysOfTheModelStay) {
  const auto file = random();
  const auto out = quantized(*file, {.type = "Q8_0"});
  for (const auto& [key, value] : file->metadata().entries()) {
    if (key == "general.file_type") continue;
    const MetadataValue* after = out->metadata().find_value(key);
    ASSERT_NE(after, nullptr) << key;
    EXPECT_EQ(after->type_name(), value.type_name()) << key;
    EXPECT_EQ(metadata_text(*after, 100), metadata_text(value, 100)) << key;
  }
}

TEST_F(Quantize, AnswersStayNear) {
  const auto file = random();
  const auto logits = [](const std::string& path) {
    ModelOptions options;
    options.threads = 1;
    Session session(Engine::create(Model::load(path, std::move(options))));
    session.append(make_tokens(9, 1, 512));
    return std::vector<float>(session.logits().begin(), session.logits().end());
  };
  const std::vector<float> exact = logits(folder_.path("in.gguf"));
  (void)quantized(*file, {.type = "Q8_0"});
  const std::vector<float> near = logits(folder_.path("out.gguf"));
  double square = 0, error = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    square += double(exact[i]) * exact[i];
    error += double(exact[i] - near[i]) * (exact[i] - near[i]);
  }
  EXPECT_LT(error, 1e-3 * square);
  EXPECT_GT(error, 0);
}

TEST_F(Quantize, ThreadsDoNotChangeTheBytes) {
  const auto file = random();
  (void)quantized(*file, {.type = "Q4_K_M", .threads = 1});
  const std::string one = content(folder_.path("out.gguf"));
  (void)quantized(*file, {.type = "Q4_K_M", .threads = 5});
  EXPECT_EQ(content(folder_.path("out.gguf")), one);
}

Format format_of(const std::vector<TensorChange>& changes, const std::string& name) {
  for (const TensorChange& change : changes) {
    if (change.name == name) return change.to;
  }
  ADD_FAILURE() << name;
  return Format::F32;
}

TEST_F(Quantize, FormatsOfSingleTensorsOutrankTheType) {
  const auto file = random();
  QuantizeOptions options{.type = "Q4_0",
                          .formats =
                              "attn_v=q5_0\n^blk\\.0\\.attn_k\\.weight$=Q4_1\n"
                              "attn_k=q4_0\n(ffn|attn)_output=Q8_0\n"};
  auto changes = plan_quantization(System::real(), *file, options);
  EXPECT_EQ(format_of(changes, "blk.0.attn_v.weight"), Format::Q5_0);
  EXPECT_EQ(format_of(changes, "blk.0.attn_k.weight"), Format::Q4_1);
  EXPECT_EQ(format_of(changes, "blk.1.attn_k.weight"), Format::Q4_0);
  EXPECT_EQ(format_of(changes, "blk.1.attn_output.weight"), Format::Q8_0);
  EXPECT_EQ(format_of(changes, "blk.0.attn_norm.weight"), Format::F32);
  options = {.type = "Q4_0", .formats = "@embedding=f16"};
  EXPECT_EQ(format_of(plan_quantization(System::real(), *file, options), "token_embd.weight"),
            Format::F16);
}

TEST_F(Quantize, TheOutputMatrixHasAFormatOfItsOwn) {
  const auto file = one_tensor("output.weight", std::vector<float>(512, 1.0f), 2);
  const auto format = [&](const QuantizeOptions& options) {
    return format_of(plan_quantization(System::real(), *file, options), "output.weight");
  };
  EXPECT_EQ(format({.type = "Q4_0"}), Format::Q6_K);
  EXPECT_EQ(format({.type = "Q4_0", .formats = "@output=q5_1"}), Format::Q5_1);
  EXPECT_EQ(format({.type = "Q4_0", .formats = "out=q8_0\n@output=q5_1"}), Format::Q5_1);
  EXPECT_EQ(format({.type = "Q4_0", .pure = true}), Format::Q4_0);
  EXPECT_EQ(format({.type = "Q4_0", .keep_output = true}), Format::F32);
}

TEST_F(Quantize, ATiedEmbeddingIsTheOutputMatrix) {
  const auto file = random();  // tied
  EXPECT_EQ(format_of(plan_quantization(System::real(), *file,
                                        {.type = "Q4_0", .formats = "@output=q5_0"}),
                      "token_embd.weight"),
            Format::Q5_0);
}

/// A file of f32 tensors of these shapes.
std::shared_ptr<const ModelFile> shaped(
    const std::string& path,
    const std::vector<std::pair<std::string, std::vector<uint64_t>>>& tensors) {
  GgufOutput out(System::real(), path);
  for (const auto& [name, shape] : tensors) out.add_tensor(name, shape, Format::F32);
  out.begin();
  for (const auto& [name, shape] : tensors) {
    uint64_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    const std::vector<float> values(count, 0.5f);
    out.write(std::as_bytes(std::span(values)));
  }
  out.commit();
  return open_model_file(path);
}

TEST_F(Quantize, LayersCountInTheirOwnOrder) {
  std::vector<std::pair<std::string, std::vector<uint64_t>>> tensors;
  for (const int layer : {0, 1, 10, 11, 12, 13, 14, 15, 2, 3, 4, 5, 6, 7, 8, 9}) {
    tensors.push_back({"blk." + std::to_string(layer) + ".attn_v.weight", {2, 256}});
  }
  const auto file = shaped(folder_.path("in.gguf"), tensors);
  const auto changes = plan_quantization(System::real(), *file, {.type = "Q3_K_M"});
  EXPECT_EQ(format_of(changes, "blk.1.attn_v.weight"), Format::Q5_K);
  EXPECT_EQ(format_of(changes, "blk.2.attn_v.weight"), Format::Q4_K);
  EXPECT_EQ(format_of(changes, "blk.10.attn_v.weight"), Format::Q4_K);
}

TEST_F(Quantize, LeadingExtentsOfOneAreNone) {
  const auto file = shaped(folder_.path("in.gguf"), {{"blk.0.ffn_gate_inp_shexp.weight", {1, 256}},
                                                     {"blk.0.time_mix_lerp_x.weight", {1, 1, 256}},
                                                     {"blk.0.ffn_up.weight", {1, 4, 256}},
                                                     {"blk.0.ffn_up_exps.weight", {2, 4, 256}},
                                                     {"dec.blk.0.ffn_down.weight", {4, 256}}});
  auto changes = plan_quantization(System::real(), *file, {.type = "MXFP4_MOE"});
  EXPECT_EQ(format_of(changes, "blk.0.ffn_gate_inp_shexp.weight"), Format::F32);
  EXPECT_EQ(format_of(changes, "blk.0.time_mix_lerp_x.weight"), Format::F32);
  EXPECT_EQ(format_of(changes, "blk.0.ffn_up.weight"), Format::Q8_0);
  EXPECT_EQ(format_of(changes, "blk.0.ffn_up_exps.weight"), Format::MXFP4);
  changes = plan_quantization(System::real(), *file, {.type = "Q3_K_L"});
  EXPECT_EQ(format_of(changes, "dec.blk.0.ffn_down.weight"), Format::Q5_K);
}

TEST_F(Quantize, FilesAndTypesThatWouldBeBadAreRefused) {
  const auto file = random();
  expect_refused(*file, {.type = "IQ2_XS"}, Code::Unsupported, "IQ2_XS needs an importance matrix");
  GgufOutput out(System::real(), folder_.path("mmproj.gguf"));
  out.add("general.architecture", "clip");
  out.begin();
  out.commit();
  const auto projector = open_model_file(folder_.path("mmproj.gguf"));
  expect_refused(*projector, {.type = "Q4_0"}, Code::Unsupported, "is a projector");
}

TEST_F(Quantize, UnknownNamesAreRefused) {
  const auto file = random();
  expect_refused(*file, {.type = "Q4_Z"}, Code::Argument, "no file type \"Q4_Z\"");
  expect_refused(*file, {.type = "Q4_0", .formats = "attn_v"}, Code::Argument,
                 "\"attn_v\" is not PATTERN=FORMAT");
  expect_refused(*file, {.type = "Q4_0", .formats = "attn_v=q9"}, Code::Argument,
                 "no weight format \"q9\"");
  expect_refused(*file, {.type = "Q4_0", .formats = "atn_v=q8_0"}, Code::Argument,
                 "\"atn_v=q8_0\" fits no matrix");
  expect_refused(*file, {.type = "Q4_0", .formats = "(=q8_0"}, Code::Format, "(");
  expect_refused(*file, {.type = "Q4_0", .formats = "@output=q"}, Code::Argument, "\"q\"");
}

TEST_F(Quantize, QuantisedMatricesAreRefusedUnlessAllowed) {
  const auto file = random("q8_0");
  expect_refused(*file, {.type = "Q4_0"}, Code::Unsupported, "is q8_0 already");
  (void)quantized(*file, {.type = "Q8_0"});  // a copy
  const auto out = quantized(*file, {.type = "Q4_0", .requantize = true});
  EXPECT_EQ(out->find("blk.0.attn_q.weight")->format, Format::Q4_0);
}

TEST_F(Quantize, TheModelItselfIsNotOverwritten) {
  const auto file = random();
  expect_error(Code::Argument, HasSubstr("is a file of the model itself"), [&] {
    write_quantized(System::real(), *file, folder_.path("./in.gguf"), {.type = "Q4_0"});
  });
}

TEST_F(Quantize, CancellingLeavesNoFile) {
  const auto file = random();
  std::vector<std::string> seen;
  double last = -1;
  QuantizeOptions options{.type = "Q4_0",
                          .progress = [&](std::string_view tensor, double fraction) {
                            EXPECT_GE(fraction, last);
                            last = fraction;
                            seen.emplace_back(tensor);
                            return seen.size() < 4;
                          }};
  expect_refused(*file, options, Code::Cancelled, "cancelled");
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], file->tensors()[0].name);
}

TEST_F(Quantize, ValuesThatAreNotFiniteAreNamed) {
  const float kBad[] = {std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity(), -70000.0f};
  for (const float bad : kBad) {
    std::vector<float> values(64 * 32, 1.0f);
    values[17 * 32 + 3] = bad;
    const auto file = one_tensor("blk.0.attn_q.weight", values, 64);
    expect_refused(*file, {.type = "F16", .threads = 3}, Code::Format,
                   "tensor \"blk.0.attn_q.weight\": row 17 has a value that f16 cannot hold");
    if (bad < 0) {
      EXPECT_EQ(quantized(*file, {.type = "Q8_0"})->tensors()[0].format, Format::Q8_0);
      std::filesystem::remove(folder_.path("out.gguf"));
    }
  }
}

}  // namespace
}  // namespace tenon
