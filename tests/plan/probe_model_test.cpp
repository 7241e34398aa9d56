#include "plan/probe_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/hardware.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

TEST(ProbeModel, TakesAsManyLayersAsFit) {
  TinyModel tiny;
  tiny.layers = 6;
  const auto model = header_of(tiny);
  EXPECT_EQ(make_probe_model(*model, 0, 8).built.model.layers.size(), 1u);
  EXPECT_EQ(make_probe_model(*model, 1 << 30, 8).built.model.layers.size(), 6u);
  const size_t some =
      make_probe_model(*model, model->file().tensor_bytes() / 2, 8).built.model.layers.size();
  EXPECT_GT(some, 1u);
  EXPECT_LT(some, 6u);
}

TEST(ProbeModel, LayersComeEvenlyFromAll) {
  TinyModel tiny;
  tiny.layers = 4;
  const auto model = header_of(tiny);
  const uint64_t two = [&] {
    uint64_t bytes = 0;
    for (const TensorInfo& tensor : model->file().tensors()) {
      const bool dropped = tensor.name.starts_with("blk.1.") || tensor.name.starts_with("blk.3.");
      if (!dropped) bytes += tensor.bytes;
    }
    return bytes;
  }();
  const ProbeModel probe = make_probe_model(*model, two, 8);
  ASSERT_EQ(probe.built.model.layers.size(), 2u);
  // A tiny model's formats change per matrix and so identify its source.
  const auto format_of = [](const ModelFile& file, const std::string& name) {
    const TensorInfo* tensor = file.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    return tensor == nullptr ? Format::F32 : tensor->format;
  };
  for (const char* rest : {".attn_q.weight", ".ffn_down.weight"}) {
    EXPECT_EQ(format_of(*probe.file, "blk.0" + std::string(rest)),
              format_of(model->file(), "blk.0" + std::string(rest)));
    EXPECT_EQ(format_of(*probe.file, "blk.1" + std::string(rest)),
              format_of(model->file(), "blk.2" + std::string(rest)));
  }
  EXPECT_EQ(probe.file->find("blk.2.attn_q.weight"), nullptr);
}

TEST(ProbeModel, LayersKeepTheSizesOfTheirOwn) {
  TinyModel tiny;
  tiny.layers = 4;
  tiny.left_out = {"llama.feed_forward_length"};
  for (const char* layer : {"blk.2", "blk.3"}) {
    for (const char* matrix : {".ffn_gate.weight", ".ffn_up.weight", ".ffn_down.weight"}) {
      tiny.left_out.insert(std::string(layer) + matrix);
    }
  }
  tiny.more = [](GgufWriter& writer) {
    writer.add("llama.feed_forward_length", std::vector<uint32_t>{160, 160, 64, 64});
    const std::vector<float> values(64 * 96);
    for (const char* layer : {"blk.2", "blk.3"}) {
      writer.add_tensor(std::string(layer) + ".ffn_gate.weight", {64, 96}, values);
      writer.add_tensor(std::string(layer) + ".ffn_up.weight", {64, 96}, values);
      writer.add_tensor(std::string(layer) + ".ffn_down.weight", {96, 64}, values);
    }
  };
  const auto model = header_of(tiny);
  const ModelSpec probe =
      make_probe_model(*model, model->file().tensor_bytes() * 3 / 4, 8).built.model;
  ASSERT_GT(probe.layers.size(), 1u);
  EXPECT_EQ(probe.layers.front().feed_forward.width, 160u);
  EXPECT_EQ(probe.layers.back().feed_forward.width, 64u);
}

TEST(ProbeModel, WeightsAreMadeUpAndFinite) {
  const auto model = header_of();
  const ProbeModel probe = make_probe_model(*model, 1 << 30, 8);
  for (const TensorInfo& tensor : probe.file->tensors()) {
    std::vector<std::byte> bytes(tensor.bytes);
    probe.file->read(tensor, 0, bytes);
    std::vector<float> values(tensor.num_values());
    find_format(tensor.format)->decode_row(bytes.data(), values.data(), values.size());
    const bool vector = tensor.num_values() == tensor.row_values();
    double sum = 0;
    for (const float value : values) {
      ASSERT_TRUE(std::isfinite(value)) << tensor.name;
      if (vector && tensor.format == Format::F32) {
        ASSERT_EQ(value, 1.0f) << tensor.name;
      }
      sum += std::abs(value);
    }
    EXPECT_GT(sum, 0) << tensor.name;
  }
}

TEST(ProbeModel, LeavesTablesInTheFileAsTheModelDoes) {
  TinyModel tiny;
  tiny.tied = false;
  tiny.layers = 4;
  tiny.vocab = 5000;
  tiny.formats = {Format::Q8_0};
  ModelOptions options;
  options.rows_on_demand = Switch::On;
  const auto model = header_of(tiny, std::move(options));
  const uint64_t table = table_bytes(model->trunk().tables);
  ASSERT_GT(table, model->file().tensor_bytes() / 4);
  const ProbeModel probe = make_probe_model(*model, model->file().tensor_bytes() - table, 8);
  EXPECT_EQ(probe.built.model.layers.size(), 4u);
  ASSERT_EQ(probe.built.tables.size(), 1u);
  EXPECT_EQ(probe.built.tables[0].source.num_rows(), 5000u);
  const Hardware hardware = measure_hardware(*model);
  EXPECT_GT(hardware.decode_bytes_per_second[0], 0);
}

}  // namespace
}  // namespace tenon
