// Cooperative matrix shaders in the form of drivers, against the tables of
// SPV_KHR_cooperative_matrix. spirv-val knows the extension from 2023.4 on; Debian 12's does not.
#include "backends/vulkan/matrix_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "abi/failure.h"
#include "backends/vulkan/cooperative_matrix.h"
#include "backends/vulkan/vulkan_shaders.h"

namespace tenon::vulkan {
namespace {

using Words = std::vector<uint32_t>;

/// Instructions by number, each with its words.
std::multimap<uint32_t, Words> instructions(std::span<const uint32_t> module) {
  std::multimap<uint32_t, Words> all;
  for (size_t at = 5; at < module.size(); at += module[at] >> 16) {
    const auto words = module.subspan(at, module[at] >> 16);
    all.emplace(words[0] & 0xFFFF, Words(words.begin(), words.end()));
  }
  return all;
}

const Words& only(const std::multimap<uint32_t, Words>& all, uint32_t op,
                  const std::function<bool(const Words&)>& wanted) {
  const auto [begin, end] = all.equal_range(op);
  const auto found = std::find_if(begin, end, [&](const auto& one) { return wanted(one.second); });
  EXPECT_NE(found, end) << "no instruction " << op;
  return found->second;
}

/// The value of a constant.
uint32_t value_of(const std::multimap<uint32_t, Words>& all, uint32_t id) {
  return only(all, 43, [id](const Words& words) { return words[2] == id; })[3];
}

std::vector<gpu::Kernel> kernels_of_matrices() {
  std::vector<gpu::Kernel> kernels;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(gpu::Kernel::linear_wide_q6_k); ++i) {
    if (has_matrices(static_cast<gpu::Kernel>(i))) kernels.push_back(static_cast<gpu::Kernel>(i));
  }
  return kernels;
}

bool has_capability(std::span<const uint32_t> module, uint32_t capability) {
  const auto all = instructions(module);
  const auto [begin, end] = all.equal_range(17);
  return std::any_of(begin, end, [&](const auto& one) { return one.second[1] == capability; });
}

TEST(MatrixModules, AreOfTheExtensionThatDriversHave) {
  ASSERT_EQ(kernels_of_matrices().size(), 8u);
  for (const gpu::Kernel kernel : kernels_of_matrices()) {
    const std::span<const uint32_t> given = shader_words(kernel);
    const Words module = with_khr_matrices(given);
    EXPECT_TRUE(has_capability(given, 5357));
    EXPECT_FALSE(has_capability(module, 5357));
    EXPECT_TRUE(has_capability(module, 6022));
    const auto all = instructions(module);
    for (uint32_t op = 5358; op <= 5362; ++op) EXPECT_EQ(all.count(op), 0u) << op;
    const auto names = all.equal_range(10);
    std::vector<std::string> extensions;
    for (auto i = names.first; i != names.second; ++i) {
      extensions.emplace_back(reinterpret_cast<const char*>(&i->second[1]));
    }
    EXPECT_THAT(extensions, testing::Contains("SPV_KHR_cooperative_matrix"));
    EXPECT_THAT(extensions, testing::Not(testing::Contains("SPV_NV_cooperative_matrix")));
  }
}

TEST(MatrixModules, NameTheUseOfEachOperand) {
  for (const gpu::Kernel kernel : kernels_of_matrices()) {
    const Words module = with_khr_matrices(shader_words(kernel));
    const auto all = instructions(module);
    ASSERT_EQ(all.count(4456), 3u);          // types
    const auto type_of = [&](uint32_t id) {  // of a loaded value
      return only(all, 61, [id](const Words& words) { return words[2] == id; })[1];
    };
    const auto use_of = [&](uint32_t type) {
      return value_of(all,
                      only(all, 4456, [type](const Words& words) { return words[1] == type; })[6]);
    };
    const auto products = all.equal_range(4459);
    ASSERT_NE(products.first, products.second);
    for (auto i = products.first; i != products.second; ++i) {
      const Words& words = i->second;  // type, result, A, B, C
      EXPECT_EQ(use_of(type_of(words[3])), 0u);
      EXPECT_EQ(use_of(type_of(words[4])), 1u);
      EXPECT_EQ(use_of(type_of(words[5])), 2u);
      EXPECT_EQ(use_of(words[1]), 2u);
    }
    // Weights and places are row-major, with strides of 20 words and 16 numbers; x is column-major.
    const auto loads = all.equal_range(4457);
    for (auto i = loads.first; i != loads.second; ++i) {
      const Words& words = i->second;  // type, result, pointer, layout, stride
      const uint32_t use = use_of(words[1]);
      EXPECT_EQ(value_of(all, words[4]), use == 1 ? 1u : 0u);
      EXPECT_EQ(value_of(all, words[5]), use == 2 ? 16u : 20u);
    }
    const auto constants = all.equal_range(43);
    for (auto i = constants.first; i != constants.second; ++i) {
      EXPECT_LT(i->second[2], module[3]) << "ids are below the bound";
    }
  }
}

TEST(MatrixModules, EmulatedOnesHaveNone) {
  for (const gpu::Kernel kernel : kernels_of_matrices()) {
    EXPECT_FALSE(has_capability(shader_words(kernel, true), 5357));
  }
}

TEST(MatrixModules, RefuseWhatIsNoneOfThem) {
  const std::span<const uint32_t> given = shader_words(gpu::Kernel::linear_wide_f16);
  EXPECT_THROW(with_khr_matrices({}), backends::Failure);
  EXPECT_THROW(with_khr_matrices(given.first(3)), backends::Failure);
  EXPECT_THROW(with_khr_matrices(given.first(6)), backends::Failure);  // half an instruction
  Words wrong(given.begin(), given.end());
  wrong[0] ^= 1;  // the magic number
  EXPECT_THROW(with_khr_matrices(wrong), backends::Failure);
  wrong[0] ^= 1;
  wrong[5] = 0;  // an instruction of no words
  EXPECT_THROW(with_khr_matrices(wrong), backends::Failure);
}

TEST(MatrixShapes, OneIsUsed) {
  const MatrixShape used{.m = 16,
                         .n = 16,
                         .k = 16,
                         .c_type = kMatrixFloat32,
                         .result_type = kMatrixFloat32,
                         .scope = kMatrixScopeSubgroup};
  EXPECT_TRUE(is_used_shape(used));
  const std::vector<std::function<void(MatrixShape&)>> changes = {
      [](MatrixShape& shape) { shape.m = 8; },
      [](MatrixShape& shape) { shape.n = 8; },
      [](MatrixShape& shape) { shape.k = 8; },
      [](MatrixShape& shape) { shape.a_type = kMatrixFloat32; },
      [](MatrixShape& shape) { shape.b_type = kMatrixFloat32; },
      [](MatrixShape& shape) { shape.c_type = kMatrixFloat16; },
      [](MatrixShape& shape) { shape.result_type = kMatrixFloat16; },
      [](MatrixShape& shape) { shape.saturates = VK_TRUE; },
      [](MatrixShape& shape) { shape.scope = 2; },
  };
  for (const auto& change : changes) {
    MatrixShape other = used;
    change(other);
    EXPECT_FALSE(is_used_shape(other));
  }
}

}  // namespace
}  // namespace tenon::vulkan
