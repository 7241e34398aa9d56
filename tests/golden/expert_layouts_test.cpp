// Layouts of a layer's experts, by converter and year: three stacked tensors, two with gate and up
// fused, or a tensor per matrix and expert. Every architecture accepts all, with equal logits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "file/gguf.h"
#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_model.h"
#include "tests/golden/program_run.h"

namespace tenon::golden {
namespace {

enum class Layout { AsWritten, Fused, Separate };

using Bytes = std::vector<std::byte>;

/// Parts of a model file in a new layout.
class Relaid {
 public:
  explicit Relaid(const std::string& path) : source_(ByteSource::from_path(path, System::real())) {
    GgufContents contents = read_gguf(*source_, System::real());
    metadata_ = std::move(contents.metadata);
    for (const TensorInfo& tensor : contents.tensors) {
      Bytes bytes(tensor.bytes);
      source_->read(tensor.offset, bytes);
      add(tensor.name, {tensor.shape.begin(), tensor.shape.begin() + tensor.rank}, tensor.format,
          std::move(bytes));
    }
  }

  /// Changes the layout; returns the number of tensors replaced.
  size_t change(Layout layout) {
    size_t changed = 0;
    for (const auto& [name, tensor] : std::map(tensors_)) {
      if (layout == Layout::Fused) changed += fuse(name, tensor);
      if (layout == Layout::Separate) changed += separate(name, tensor);
    }
    return changed;
  }

  std::shared_ptr<const ModelFile> file() && {
    Bytes blob;
    std::vector<TensorInfo> infos;
    for (auto& [name, tensor] : tensors_) {
      TensorInfo info;
      info.name = name;
      info.rank = static_cast<uint32_t>(tensor.shape.size());
      info.shape.fill(1);
      std::copy(tensor.shape.begin(), tensor.shape.end(), info.shape.begin());
      info.format = tensor.format;
      info.offset = blob.size();
      info.bytes = tensor.bytes.size();
      blob.insert(blob.end(), tensor.bytes.begin(), tensor.bytes.end());
      infos.push_back(std::move(info));
    }
    std::vector<std::shared_ptr<const ByteSource>> sources{
        std::make_shared<OwnedSource>(std::move(blob), "relaid.gguf")};
    return std::make_shared<const ModelFile>(std::move(metadata_), std::move(infos),
                                             std::move(sources), std::vector<uint64_t>{0});
  }

 private:
  struct Tensor {
    std::vector<uint64_t> shape;
    Format format;
    Bytes bytes;
  };

  void add(const std::string& name, std::vector<uint64_t> shape, Format format, Bytes bytes) {
    tensors_[name] = {std::move(shape), format, std::move(bytes)};
  }

  /// Fuses "blk.0.ffn_gate_exps.weight" with the tensor of up.
  bool fuse(const std::string& name, const Tensor& gate) {
    const size_t at = name.find(".ffn_gate_exps.");
    if (at == name.npos) return false;
    const std::string stem = name.substr(0, at);
    const std::string ending = name.substr(name.rfind('.'));
    const Tensor up = tensors_.at(stem + ".ffn_up_exps" + ending);
    const uint64_t experts = gate.shape[0];
    const uint64_t each = gate.bytes.size() / experts;
    Bytes bytes;
    for (uint64_t e = 0; e < experts; ++e) {
      for (const Bytes* part : {&gate.bytes, &up.bytes}) {
        bytes.insert(bytes.end(), part->begin() + static_cast<ptrdiff_t>(e * each),
                     part->begin() + static_cast<ptrdiff_t>((e + 1) * each));
      }
    }
    std::vector<uint64_t> shape = gate.shape;
    shape[1] *= 2;
    add(stem + ".ffn_gate_up_exps" + ending, shape, gate.format, std::move(bytes));
    tensors_.erase(name);
    tensors_.erase(stem + ".ffn_up_exps" + ending);
    return true;
  }

  /// Splits "blk.0.ffn_up_exps.weight" into "blk.0.ffn_up.0.weight" and so on.
  bool separate(const std::string& name, const Tensor& stacked) {
    constexpr std::string_view kEnding = "_exps.weight";
    if (!name.ends_with(kEnding) || stacked.shape.size() != 3) return false;
    const std::string stem = name.substr(0, name.size() - kEnding.size());
    const uint64_t experts = stacked.shape[0];
    const auto each = static_cast<ptrdiff_t>(stacked.bytes.size() / experts);
    for (uint64_t e = 0; e < experts; ++e) {
      const auto begin = stacked.bytes.begin() + static_cast<ptrdiff_t>(e) * each;
      add(fmt::format("{}.{}.weight", stem, e), {stacked.shape[1], stacked.shape[2]},
          stacked.format, Bytes(begin, begin + each));
    }
    tensors_.erase(name);
    return true;
  }

  std::shared_ptr<const ByteSource> source_;
  Metadata metadata_;
  std::map<std::string, Tensor> tensors_;
};

std::vector<float> logits_of(const ModelFile& file) {
  ProgramOptions options;
  options.cache_type = TENON_TYPE_F32;
  options.limits = {8, 8};
  const BuiltProgram built = build_program(file, options);
  ProgramRun run(device_of("cpu"), file, built, 8);
  const std::vector<int32_t> tokens{1, 5, 9, 2, 7};
  return run.run(tokens);
}

TEST(ExpertLayouts, GiveEqualLogitsInEveryArchitecture) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  size_t fused = 0;
  size_t separate = 0;
  for (const NamedArchitecture& one : architectures()) {
    const std::string name(one.name);
    SCOPED_TRACE(name);
    if (std::ranges::none_of(one.architecture->example, [](const KeyValue& key) {
          return std::string_view(key.name) == "expert_count";
        })) {
      continue;
    }
    write_random_model(System::real(), path, "tiny-" + name, "f32");
    Relaid split(path);
    const std::vector<float> expected = logits_of(*std::move(split).file());
    ASSERT_FALSE(expected.empty());
    for (const Layout layout : {Layout::Fused, Layout::Separate}) {
      Relaid relaid(path);
      if (relaid.change(layout) == 0) continue;
      ++(layout == Layout::Fused ? fused : separate);
      try {
        EXPECT_EQ(logits_of(*std::move(relaid).file()), expected);
      } catch (const Error& error) {
        ADD_FAILURE() << (layout == Layout::Fused ? "fused: " : "separate: ") << error.what();
      }
    }
    std::filesystem::remove(path);
  }
  EXPECT_GT(fused, 30u);
  EXPECT_GT(separate, fused) << "some experts have no gate";
}

}  // namespace
}  // namespace tenon::golden
