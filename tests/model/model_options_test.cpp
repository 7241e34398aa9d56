// Options of a model, each by its entry in model_options.def.
#include "model/model_options.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string_view>
#include <type_traits>

#include "model/model.h"
#include "model/program_facts.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

TEST(ModelOptionTable, WordsOfTheCacheAreTheNamesOfItsTypes) {
  size_t num_words = 0;
  const auto compare = [&]<typename Kind>(const Kind& kind) {
    if constexpr (std::is_same_v<typename Kind::Value, CacheType>) {
      for (const CacheTypeInfo& type : kCacheTypes) {
        EXPECT_EQ(info_of(kind.value(type.name)).type, type.type) << type.name;
      }
      num_words += kind.values.size();
    }
  };
#define OPTION(key, member, kind, doc) compare(kind);
#define OPTION_APART(key, kind, doc)
#include "model/model_options.def"
#undef OPTION
#undef OPTION_APART
  EXPECT_EQ(num_words, std::size(kCacheTypes));
}

TEST(ModelOptionTable, PlansHaveAllOptionsOfTheirModel) {
  ModelOptions options;
  options.backend = "cpu";
  options.device_memory = "0";
  options.devices = "cpu";
  options.gpu_layers = 0;
  options.threads = 2;
  options.cache_type = CacheType::Int8;
  options.context = 100;
  options.slice = 24;
  options.row_cache_bytes = 5000;
  options.check_weights = true;
  options.backend_options = {{"isa", "portable"}};
  options.overrides = {"general.name=str:other"};
  options.progress = [](double) { return true; };
  const auto model = load_tiny({}, std::move(options));
  const ModelOptions copy = runtime_options(*model);
  const auto expect_same = [](std::string_view key, const auto& planned, const auto& loaded) {
    if (key != "rows_on_demand") {
      EXPECT_EQ(planned, loaded) << key;
    }
  };
#define OPTION(key, member, kind, doc) expect_same(#key, copy.member, model->options().member);
#define OPTION_APART(key, kind, doc)
#include "model/model_options.def"
#undef OPTION
#undef OPTION_APART
  EXPECT_EQ(copy.gpu_layers, 0);
  EXPECT_EQ(copy.row_cache_bytes, 5000u);
  EXPECT_EQ(copy.rows_on_demand, Switch::Off) << "auto is decided";
  EXPECT_EQ(copy.backend_options, model->options().backend_options);
  EXPECT_TRUE(copy.overrides.empty());
  EXPECT_FALSE(copy.progress);
}

}  // namespace
}  // namespace tenon
