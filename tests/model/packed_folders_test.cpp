// Quantised folders keep their bits in memory: formats of their tensors, and logits by each way.
#include <gtest/gtest.h>

#include <map>

#include "arch/architectures.h"
#include "model/model.h"
#include "quant/formats.h"
#include "tests/model/shared_folders.h"

namespace tenon::folders {
namespace {

struct PackedCase {
  const char* folder;
  std::map<std::string, std::string> formats;  ///< of tensors
  /// Of logits, with activations in bytes: more where a token may change its experts.
  double bytes_error;
};

void PrintTo(const PackedCase& one, std::ostream* out) { *out << one.folder; }

class PackedFolder : public testing::TestWithParam<PackedCase> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << path_ << " is absent";
  }
  const std::string path_ = shared_folder(GetParam().folder);
};

TEST_P(PackedFolder, NamesTheFormatOfEachTensor) {
  ModelOptions options;
  options.inspect = true;
  const auto model = Model::load(path_, std::move(options));
  for (const auto& [tensor, format] : GetParam().formats) {
    const TensorInfo* found = model->file().find(tensor);
    ASSERT_NE(found, nullptr) << tensor;
    EXPECT_EQ(find_format(found->format)->name, format) << tensor;
  }
}

double rmse_on(const std::string& path, const ModelOptions& options) {
  const std::vector<Token> prompt = read_json(path + "/expected.json").at("prompt_ids");
  const Expected expected = read_expected(path + "/expected_logits.st", "logits");
  Session session(Engine::create(Model::load(path, options)));
  const std::vector<float> got = evaluate_all(session, prompt);
  const uint64_t columns = got.size() / prompt.size();
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want = expected.values[i / columns * expected.columns + i % columns];
    error += (got[i] - want) * (got[i] - want);
    power += want * want;
  }
  return std::sqrt(error / power);
}

TEST_P(PackedFolder, HasNearLogitsWithActivationsInBytes) {
  ModelOptions options = exact_options();
  options.backend_options = {{"code_activations", "bytes"}};
  const double error = rmse_on(path_, options);
  RecordProperty("error", std::to_string(error));
  EXPECT_LE(error, GetParam().bytes_error);
}

TEST_P(PackedFolder, HasTheSameLogitsPackedAndDecoded) {
  // The reference multiplies decoded rows: exact formats leave no difference.
  ModelOptions options = exact_options();
  options.backend = "reference";
  options.backend_options = {};
  EXPECT_LE(rmse_on(path_, options), 1e-4);
  const auto file = Model::load(path_, options);
  ProgramOptions packed;
  ProgramOptions decoded;
  decoded.decodes_packed = true;
  const BuiltProgram with = build_program(file->file(), packed);
  const BuiltProgram without = build_program(file->file(), decoded);
  ASSERT_EQ(with.weights.size(), without.weights.size());
  size_t num_packed = 0;
  for (size_t i = 0; i < with.weights.size(); ++i) {
    const RowSource& one = with.weights[i].source;
    const RowSource& other = without.weights[i].source;
    if (!is_memory_format(one.format())) continue;
    ++num_packed;
    ASSERT_EQ(other.format(), Format::F32);
    std::vector<std::byte> blocks(one.num_rows() * one.row_bytes());
    one.read(file->file(), 0, one.num_rows(), blocks);
    std::vector<float> want(one.num_rows() * one.num_columns());
    find_format(one.format())->decode_row(blocks.data(), want.data(), want.size());
    std::vector<float> got(want.size());
    other.read(file->file(), 0, one.num_rows(), std::as_writable_bytes(std::span(got)));
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << i;
  }
  const bool has_memory_formats = GetParam().formats.begin()->second.find("g") == 2 ||
                                  GetParam().formats.begin()->second.find("p") == 2;
  EXPECT_EQ(num_packed > 0, has_memory_formats);
}

const PackedCase kCases[] = {
    {"qwen2_awq", {{"blk.0.attn_q.weight", "u4g32"}, {"blk.0.ffn_down.weight", "u4g32"}}, 0.05},
    {"qwen3_ct_int4", {{"blk.0.attn_q.weight", "u4g32"}, {"blk.0.ffn_down.weight", "u4g32"}}, 0.05},
    {"qwen3_mlx_mixed",
     {{"blk.0.attn_q.weight", "u4p32"},
      {"blk.0.attn_v.weight", "u8p32"},
      {"blk.0.ffn_down.weight", "u8p32"},
      {"token_embd.weight", "u8p32"}},
     0.05},
    {"qwen3_moe_fp8", {{"blk.0.attn_q.weight", "f8g32"}}, 0.01},
    {"gpt_oss_mxfp4",
     {{"blk.0.ffn_down_exps.weight", "mxfp4"}, {"blk.0.ffn_gate_exps.weight", "mxfp4"}},
     0.2},
};
INSTANTIATE_TEST_SUITE_P(All, PackedFolder, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.folder); });

}  // namespace
}  // namespace tenon::folders
