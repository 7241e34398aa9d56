// Path of every option from the interface to the struct that a room reads: value, unit, and no
// other option changed. Rows pin values that hosts rely on; the tables provide rows for the other
// options.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "capi/options/cpp_options.h"
#include "model/model.h"
#include "option_readers.h"
#include "option_set.h"
#include "option_table.h"
#include "sampler/banned_texts.h"
#include "sampler_handle.h"
#include "session_handle.h"

namespace tenon::capi {
namespace {

/// Reads a room's value from a set of options, as text.
using Reader = std::function<std::string(const OptionSet&)>;

struct Row {
  std::string key;
  std::string given{};                     ///< value given, as text
  std::optional<std::string> initially{};  ///< value without the option; empty if it varies
  std::string read{};                      ///< value with the option
  Reader reader{};
};

template <typename Value>
std::string shown(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return fmt::format("{}", static_cast<int>(value));
  } else {
    return fmt::format("{}", value);
  }
}
std::string shown(const std::vector<std::string>& texts) {
  return fmt::format("{} {}", texts.size(), fmt::join(texts, " "));
}
template <typename Value>
std::string shown(const std::optional<Value>& value) {
  return value ? shown(*value) : "unset";
}

template <typename Value>
Reader of_model(Value ModelOptions::*member) {
  return [member](const OptionSet& set) {
    return shown(model_options(set, std::make_shared<Host>()).*member);
  };
}
template <typename Value>
Reader of_engine(Value EngineOptions::*member) {
  return [member](const OptionSet& set) {
    return shown(engine_options(set, *System::real()).*member);
  };
}
template <typename Value>
Reader of_session(Value SessionOptions::*member) {
  return [member](const OptionSet& set) { return shown(session_options(set).*member); };
}
template <typename Value>
Reader of_embedder(Value EmbedderOptions::*member) {
  return [member](const OptionSet& set) { return shown(embedder_options(set).*member); };
}
/// "KEY=VALUE" for each backend option.
std::string of_backend(const OptionSet& set) {
  std::string text;
  for (const auto& [key, value] : model_options(set, std::make_shared<Host>()).backend_options) {
    text += (text.empty() ? "" : " ") + key + "=" + value;
  }
  return text;
}

/// Model with a main template, or without a template.
const Model& vocabulary() {
  static const std::shared_ptr<const Model> model = [] {
    ModelOptions options;
    options.vocabulary_only = true;
    return Model::load(TENON_DEMO_MODEL, std::move(options));
  }();
  return *model;
}

template <typename Value>
Reader of_chat(Value ChatOptions::*member) {
  return [member](const OptionSet& set) {
    // Give a template, so that the model's is not needed.
    OptionSet given(set);
    given.set_string("template", "{{ 1 }}");
    return shown(chat_options(given, &vocabulary()).*member);
  };
}

/// Template given, or the place of its lookup.
std::string chosen_template(const OptionSet& set) {
  try {
    const ChatOptions options = chat_options(set, &vocabulary());
    return options.source_name == "template" ? options.source : options.source_name;
  } catch (const Error& error) {
    const std::string text = error.what();
    const size_t at = text.find("tokenizer.chat_template");
    return at == text.npos ? text : text.substr(at, text.find('"', at) - at);
  }
}

Reader of_sampler(const SamplerParameter& parameter) {
  return [parameter](const OptionSet& set) {
    const tenon_sampler sampler(set);
    const SamplerValues& values = sampler.sampler.values();
    return parameter.type == ParameterType::Integer ? shown(values.integer(parameter.name))
                                                    : shown(values.real(parameter.name));
  };
}

/// Values of sampler parameters with a member in the C++ header; others get a value in their range.
const std::map<std::string, std::string>& given_to_samplers() {
  static const std::map<std::string, std::string> given = {
      {"temperature", "0.625"},
      {"top_k", "21"},
      {"top_p", "0.875"},
      {"min_p", "0.125"},
      {"typical_p", "0.75"},
      {"repeat_penalty", "1.25"},
      {"repeat_last_n", "33"},
      {"presence_penalty", "0.5"},
      {"frequency_penalty", "-0.5"},
      {"seed", "4242"},
  };
  return given;
}

/// Value within the range, other than the default.
std::string other_value(const SamplerParameter& parameter) {
  const auto found = given_to_samplers().find(parameter.name);
  if (found != given_to_samplers().end()) return found->second;
  if (parameter.type == ParameterType::Integer) {
    const int64_t up = parameter.initial.integer + 1;
    return shown(up <= parameter.maximum.integer ? up : parameter.minimum.integer);
  }
  const double middle = (parameter.minimum.real + parameter.maximum.real) / 2;
  return shown(middle != parameter.initial.real ? middle : parameter.maximum.real);
}

std::vector<Row> rows() {
  std::vector<Row> all = {
      {"backend", "reference", "auto", "reference", of_model(&ModelOptions::backend)},
      {"devices", "cpu=3", "", "cpu=3", of_model(&ModelOptions::devices)},
      {"device_memory", "5,6", "", "5,6", of_model(&ModelOptions::device_memory)},
      {"gpu_layers", "7", "-1", "7", of_model(&ModelOptions::gpu_layers)},
      {"experts_on", "cpu", shown(ExpertsOn::Auto), shown(ExpertsOn::Cpu),
       of_model(&ModelOptions::experts_on)},
      {"kernel_cache", "/kernels", "", "/kernels", of_model(&ModelOptions::kernel_cache)},
      {"threads", "3", "0", "3", of_model(&ModelOptions::threads)},
      {"cache_type", "int8", shown(CacheType::F16), shown(CacheType::Int8),
       of_model(&ModelOptions::cache_type)},
      {"default_context", "1234", "0", "1234", of_model(&ModelOptions::context)},
      {"slice", "96", "0", "96", of_model(&ModelOptions::slice)},
      {"embeddings", "on", shown(Switch::Auto), shown(Switch::On),
       of_model(&ModelOptions::embeddings)},
      {"rows_on_demand", "off", shown(Switch::Auto), shown(Switch::Off),
       of_model(&ModelOptions::rows_on_demand)},
      {"row_cache_bytes", "4321", "0", "4321", of_model(&ModelOptions::row_cache_bytes)},
      {"vocabulary_only", "true", "false", "true", of_model(&ModelOptions::vocabulary_only)},
      {"inspect", "true", "false", "true", of_model(&ModelOptions::inspect)},
      {"metadata_only", "true", "false", "true", of_model(&ModelOptions::metadata_only)},
      {"check_weights", "true", "false", "true", of_model(&ModelOptions::check_weights)},
      {"plugin", "/a.so", "0 ", "1 /a.so", of_model(&ModelOptions::plugin_paths)},
      {"override", "general.name=str:x", "0 ", "1 general.name=str:x",
       of_model(&ModelOptions::overrides)},
      {kBackendKey, "", "", "", of_backend},
      {"isa", "avx2", "", "isa=avx2", of_backend},
      {"bf16_activations", "f32", "", "bf16_activations=f32", of_backend},

      {"context", "77", "0", "77", of_session(&SessionOptions::context)},
      {"salt", "grain", "", "grain", of_session(&SessionOptions::salt)},
      {"priority", "-3", "0", "-3", of_session(&SessionOptions::priority)},
      {"client", "ann", "", "ann", of_session(&SessionOptions::client)},
      {"weight", "2.5", "1", "2.5", of_session(&SessionOptions::weight)},

      {"cache_bytes", "123456", std::nullopt, "123456", of_engine(&EngineOptions::cache_bytes)},
      {"step_tokens", "48", "0", "48", of_engine(&EngineOptions::step_tokens)},
      {"running", "9", "64", "9", of_engine(&EngineOptions::max_running)},
      {"queue", "11", "1024", "11", of_engine(&EngineOptions::max_queued)},
      {"queue_tokens", "13", shown(UINT64_MAX), "13", of_engine(&EngineOptions::max_queued_tokens)},
      {"ageing", "2.5", "2000000000", "2500000000", of_engine(&EngineOptions::ageing_ns)},
      {"decode_stretch", "3.25", "1.4", "3.25", of_engine(&EngineOptions::decode_stretch)},
      {"max_stall_ms", "1.5", "0", "1500000", of_engine(&EngineOptions::max_stall_ns)},
      {"prefix_cache", "false", "true", "false", of_engine(&EngineOptions::prefix_cache)},
      {"state_checkpoints", "5", "4", "5", of_engine(&EngineOptions::state_checkpoints)},
      {"state_checkpoint_tokens", "333", "1024", "333",
       of_engine(&EngineOptions::state_checkpoint_tokens)},

      {"pooling", "last", "unset", shown(Pooling::Last), of_embedder(&EmbedderOptions::pooling)},
      {"normalize", "none", "unset", "false", of_embedder(&EmbedderOptions::normalize)},
      {"dimensions", "17", "0", "17", of_embedder(&EmbedderOptions::dimensions)},
      {"truncate", "true", "false", "true", of_embedder(&EmbedderOptions::truncate)},
      {"query_prefix", "q: ", "unset", "q: ", of_embedder(&EmbedderOptions::query_prefix)},
      {"document_prefix", "d: ", "unset", "d: ", of_embedder(&EmbedderOptions::document_prefix)},

      {"template", "{{ 1 }}", "tokenizer.chat_template", "{{ 1 }}", chosen_template},
      {"template_name", "other", "tokenizer.chat_template", "tokenizer.chat_template.other",
       chosen_template},
      {"chat_format", "hermes", "auto", "hermes", of_chat(&ChatOptions::format)},
      {"template_raw", "true", "false", "true", of_chat(&ChatOptions::raw)},
      {"constrain_calls", "false", "true", "false", of_chat(&ChatOptions::constrain_calls)},
      {"generic_tools", "true", "false", "true", of_chat(&ChatOptions::generic_tools)},
      {"template_time_ms", "250", "100", "250", of_chat(&ChatOptions::time_ms)},

      {"stop", "END", "none", "set",
       [](const OptionSet& set) -> std::string {
         return tenon_sampler(set).ends.stops == nullptr ? "none" : "set";
       }},
      {"banned_strings", "no", "none", "set",
       [](const OptionSet& set) -> std::string {
         return tenon_sampler(set).ends.banned == nullptr ? "none" : "set";
       }},
      {"banned_ignore_case", "true", "false", "true",
       [](const OptionSet& set) { return shown(set.boolean("banned_ignore_case")); }},
  };
  for_each_sampler_parameter([&all](const SamplerParameter& parameter) {
    const bool is_integer = parameter.type == ParameterType::Integer;
    const std::string initially =
        is_integer ? shown(parameter.initial.integer) : shown(parameter.initial.real);
    const std::string other = other_value(parameter);
    all.push_back({parameter.name, other, initially, other, of_sampler(parameter)});
  });
  return all;
}

// ---- Rows of options that are only in the tables ------------------------------------------------

/// Value other than the default, for a host and as text.
template <typename T>
std::pair<int64_t, std::string> other_of(const option::Whole<T>& kind) {
  const int64_t value = kind.standard == kind.maximum ? kind.minimum : kind.standard + 1;
  return {value, shown(value)};
}
std::pair<int64_t, std::string> other_of(const option::Bound& kind) {
  return {kind.standard + 1, shown(kind.standard + 1)};
}
template <typename Kind>
requires std::same_as<typename Kind::Given, double> std::pair<double, std::string> other_of(
    const Kind& kind) {
  const double value = kind.standard == kind.maximum ? kind.minimum : kind.maximum;
  return {value, shown(value)};
}
std::pair<bool, std::string> other_of(const option::Flag& kind) {
  return {!kind.standard, shown(!kind.standard)};
}
std::pair<std::vector<std::string>, std::string> other_of(const option::Texts&) {
  return {{"other"}, "other"};
}
template <typename Kind>
requires std::same_as<typename Kind::Given, std::string> std::pair<std::string, std::string>
other_of(const Kind& kind) {
  const std::string words = kind.words;
  const std::string last = words.empty() ? "other" : words.substr(words.rfind('|') + 1);
  return {last, last};
}

/// Row of an option by its table.
template <typename Kind>
Row row_of(const char* key, const Kind& kind, Reader reader) {
  const auto [given, text] = other_of(kind);
  return {key, text, shown(option::initial(kind)), shown(kind.value(given)), std::move(reader)};
}

/// Rows of every option with a member.
std::vector<Row> rows_of_tables() {
  std::vector<Row> all;
#define OPTION_APART(key, kind, doc)
#define OPTION(key, member, kind, doc) \
  all.push_back(row_of(#key, kind, of_model(&ModelOptions::member)));
#include "model/model_options.def"
#undef OPTION
#define OPTION(key, member, kind, doc) \
  all.push_back(row_of(#key, kind, of_session(&SessionOptions::member)));
#include "engine/session_options.def"
#undef OPTION
#define OPTION(key, member, kind, doc) \
  all.push_back(row_of(#key, kind, of_engine(&EngineOptions::member)));
#include "engine/engine_options.def"
#undef OPTION
#define OPTION(key, member, kind, doc) \
  all.push_back(row_of(#key, kind, of_embedder(&EmbedderOptions::member)));
#include "engine/embedder_options.def"
#undef OPTION
#define OPTION(key, member, kind, doc) \
  all.push_back(row_of(#key, kind, of_chat(&ChatOptions::member)));
#include "text/chat/chat_options.def"
#undef OPTION
#undef OPTION_APART
  return all;
}

/// rows(), and rows of the options that it lacks.
std::vector<Row> all_rows() {
  std::vector<Row> all = rows();
  for (Row& row : rows_of_tables()) {
    if (std::ranges::find(all, row.key, &Row::key) == all.end()) all.push_back(std::move(row));
  }
  return all;
}

/// backend.KEY has no value of its own.
bool stands_for_others(const Row& row) { return row.key == kBackendKey; }

/// Options in the list that all backends read.
bool goes_to_backend(const Row& row) {
  return stands_for_others(row) || row.key == "isa" || row.key == "bf16_activations";
}

bool names_template(const Row& row) { return row.key == "template" || row.key == "template_name"; }

/// Values that all rows read from a set.
std::vector<std::string> read_all(const std::vector<Row>& rows, const OptionSet& set) {
  std::vector<std::string> values;
  for (const Row& row : rows) values.push_back(row.reader(set));
  return values;
}

/// Checks the row's value in the set; all other values must equal those of an empty set.
void expect_only(const std::vector<Row>& rows, size_t changed, const OptionSet& set) {
  static const std::vector<std::string> kInitially = read_all(rows, OptionSet());
  const std::vector<std::string> values = read_all(rows, set);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool same_reader = (goes_to_backend(rows[i]) && goes_to_backend(rows[changed])) ||
                             (names_template(rows[i]) && names_template(rows[changed]));
    if (i == changed || same_reader) {
      EXPECT_EQ(values[i], rows[changed].read) << rows[changed].key;
    } else if (rows[i].key == "cache_bytes") {
      continue;  // free memory varies
    } else {
      EXPECT_EQ(values[i], kInitially[i]) << rows[i].key << ", set is " << rows[changed].key;
    }
  }
}

OptionSet set_of(const tenon_options* options) { return options->set; }

std::shared_ptr<tenon_options> new_options() {
  tenon_options* raw = nullptr;
  EXPECT_EQ(tenon_options_create(&raw), TENON_OK);
  return {raw, tenon_options_destroy};
}

TEST(OptionValues, EveryOptionHasARow) {
  std::vector<std::string> listed, known;
  for (size_t i = 0; i < num_options(); ++i) listed.emplace_back(option_at(i).name);
  for (const Row& row : all_rows()) known.push_back(row.key);
  EXPECT_THAT(known, testing::UnorderedElementsAreArray(listed));
}

TEST(OptionValues, WithoutThemTheRoomsHaveTheDefaults) {
  for (const Row& row : all_rows()) {
    if (!row.initially) continue;
    EXPECT_EQ(row.reader(OptionSet()), *row.initially) << row.key;
    if (stands_for_others(row)) continue;
    EXPECT_NE(row.read, *row.initially) << row.key << ": the value given is the default";
  }
}

TEST(OptionValues, AsTextReachTheirMemberAlone) {
  const std::vector<Row> all = all_rows();
  for (size_t i = 0; i < all.size(); ++i) {
    if (stands_for_others(all[i])) continue;
    const auto options = new_options();
    ASSERT_EQ(tenon_options_parse(options.get(), all[i].key.c_str(), all[i].given.data(),
                                  all[i].given.size()),
              TENON_OK)
        << tenon_last_error();
    expect_only(all, i, set_of(options.get()));
  }
}

TEST(OptionValues, AsNumbersAndTextsReachTheirMemberAlone) {
  const std::vector<Row> all = all_rows();
  for (size_t i = 0; i < all.size(); ++i) {
    const Row& row = all[i];
    if (stands_for_others(row)) continue;
    const auto options = new_options();
    const char* key = row.key.c_str();
    tenon_status status = TENON_ERROR_INTERNAL;
    switch (find_option(row.key).type) {
      case TENON_OPTION_INT:
        status = tenon_options_set_int(options.get(), key, std::stoll(row.given));
        break;
      case TENON_OPTION_FLOAT:
        status = tenon_options_set_float(options.get(), key, std::stod(row.given));
        break;
      case TENON_OPTION_BOOL:
        status = tenon_options_set_bool(options.get(), key, row.given == "true" ? 1 : 0);
        break;
      case TENON_OPTION_STRING:
        status = tenon_options_set_string(options.get(), key, row.given.data(), row.given.size());
        break;
      case TENON_OPTION_STRING_LIST:
        status = tenon_options_add_string(options.get(), key, row.given.data(), row.given.size());
        break;
      default:
        break;
    }
    ASSERT_EQ(status, TENON_OK) << tenon_last_error();
    expect_only(all, i, set_of(options.get()));
  }
}

TEST(OptionValues, OfTheCppHeaderReachTheirMemberAlone) {
  const std::vector<Row> all = all_rows();
  for (const CppOption& option : cpp_options()) {
    const auto row =
        std::ranges::find_if(all, [&](const Row& known) { return known.key == option.key; });
    ASSERT_NE(row, all.end()) << option.key;
    OptionSet set = set_of(option.options.get());
    if (option.key == "banned_ignore_case") {
      EXPECT_EQ(row->reader(set), row->read);
      continue;  // has no effect without texts
    }
    expect_only(all, static_cast<size_t>(row - all.begin()), set);
  }
}

TEST(OptionValues, OfTheCppHeaderMayComeByTheirKey) {
  const std::vector<Row> all = all_rows();
  for (size_t i = 0; i < all.size(); ++i) {
    if (stands_for_others(all[i])) continue;
    const auto options = cpp_extra_option(find_option(all[i].key).scope, all[i].key, all[i].given);
    if (options == nullptr) continue;
    expect_only(all, i, set_of(options.get()));
  }
}

TEST(OptionValues, OfABackendGoToItAsTheyAre) {
  const auto options = new_options();
  ASSERT_EQ(tenon_options_set_string(options.get(), "backend.colour", "red", 3), TENON_OK);
  ASSERT_EQ(tenon_options_set_string(options.get(), "isa", "avx2", 4), TENON_OK);
  EXPECT_EQ(of_backend(set_of(options.get())), "colour=red isa=avx2");
}

TEST(OptionValues, AListKeepsItsOrder) {
  const auto options = new_options();
  for (const char* path : {"/b.so", "/a.so"}) {
    ASSERT_EQ(tenon_options_add_string(options.get(), "plugin", path, 5), TENON_OK);
  }
  EXPECT_THAT(model_options(set_of(options.get()), std::make_shared<Host>()).plugin_paths,
              testing::ElementsAre("/b.so", "/a.so"));
}

/// Times become whole nanoseconds, up to the longest in the range.
TEST(OptionValues, AtTheEndsOfTheirRangeKeepTheirUnit) {
  const auto engine = [](const char* key, double value) {
    const auto options = new_options();
    EXPECT_EQ(tenon_options_set_float(options.get(), key, value), TENON_OK);
    return engine_options(set_of(options.get()), *System::real());
  };
  EXPECT_EQ(engine("ageing", 0).ageing_ns, 0u);
  EXPECT_EQ(engine("ageing", 86400).ageing_ns, 86'400'000'000'000u);
  EXPECT_EQ(engine("max_stall_ms", 1e6).max_stall_ns, 1'000'000'000'000u);
  EXPECT_EQ(engine("max_stall_ms", 1e-6).max_stall_ns, 1u);
}

TEST(OptionValues, ACacheThatIsNotSaidIsAQuarterOfWhatIsFree) {
  const uint64_t before = System::real()->available_memory();
  const uint64_t bytes = engine_options(OptionSet(), *System::real()).cache_bytes;
  // Free memory varies meanwhile, but not by half.
  EXPECT_GT(bytes, before / 8);
  EXPECT_LT(bytes, before / 2);
}

}  // namespace
}  // namespace tenon::capi
