// An adapter of the demo model, written as PEFT does, and the model with room for it.
#pragma once

#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/temp_folder.h"
#include "handles.h"

namespace tenon_test {

/// A folder of rank 1 that changes attention's values in the first layer.
class DemoAdapter {
 public:
  DemoAdapter() {
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_int(options.get(), "adapter_slots", 1));
    tenon_model* model = nullptr;
    EXPECT_OK(tenon_model_open(TENON_DEMO_MODEL, options.get(), &model));
    model_.reset(model);
    auto info = sized<tenon_model_info>();
    EXPECT_OK(tenon_model_get_info(model, &info));
    folder_.write(
        "adapter_config.json",
        R"({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["v_proj"]})");
    const std::string name = R"("base_model.model.model.layers.0.self_attn.v_proj.lora_)";
    const uint64_t rows = info.kv_heads * info.value_dim;
    const uint64_t middle = info.width * sizeof(float);
    const std::string header = "{" + name + R"(A.weight": {"dtype": "F32", "shape": [1, )" +
                               std::to_string(info.width) + R"(], "data_offsets": [0, )" +
                               std::to_string(middle) + "]}, " + name +
                               R"(B.weight": {"dtype": "F32", "shape": [)" + std::to_string(rows) +
                               R"(, 1], "data_offsets": [)" + std::to_string(middle) + ", " +
                               std::to_string(middle + rows * sizeof(float)) + "]}}";
    const uint64_t length = header.size();
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    const std::vector<float> values(info.width + rows, 0.25f);
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    folder_.write("adapter_model.safetensors", bytes);
  }

  [[nodiscard]] tenon_model* model() const { return model_.get(); }
  [[nodiscard]] std::string path() const { return folder_.path(""); }
  [[nodiscard]] tenon_adapter* open() const {
    tenon_adapter* adapter = nullptr;
    EXPECT_OK(tenon_adapter_open(model(), path().c_str(), &adapter));
    return adapter;
  }

 private:
  tenon::TempFolder folder_;
  ModelPtr model_;
};

}  // namespace tenon_test
