#include "server/protocols/sampling_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "server/api_error.h"
#include "server/work/limited_compile.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxStops = 64;

/// Fields whose names or ranges differ from the library's options.
struct NumberField {
  std::string_view name;
  const char* option;
  double minimum;
  double maximum;
};
constexpr auto kNumberFields = std::to_array<NumberField>({
    {"temperature", "temperature", 0, 2},
    {"top_p", "top_p", 0, 1},
    {"presence_penalty", "presence_penalty", -2, 2},
    {"frequency_penalty", "frequency_penalty", -2, 2},
    {"repetition_penalty", "repeat_penalty", 0.1, 10},
});

bool is_number_field(std::string_view name) {
  return std::any_of(kNumberFields.begin(), kNumberFields.end(),
                     [&](const NumberField& field) { return field.name == name; });
}

std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

/// Reads all sampler options without a range of their own in this file.
void read_sampler_options(const Fields& fields, tenon::ExtraOptions& into) {
  for (const tenon_option_info& option : tenon::option_list()) {
    if (option.scope != TENON_SCOPE_SAMPLER || is_number_field(option.name)) continue;
    const std::string_view name = option.name;
    if (name == "stop" || name == "seed" || !fields.has(name)) continue;
    if (option.type == TENON_OPTION_INT) {
      // vLLM disables top_k by -1, the library by 0.
      const std::optional<int64_t> value =
          fields.integer(name, name == "top_k" ? -1 : option.int_minimum, option.int_maximum);
      if (!value) continue;
      into.emplace_back(name, std::to_string(name == "top_k" && *value < 0 ? 0 : *value));
    } else if (option.type == TENON_OPTION_FLOAT) {
      const std::optional<double> value =
          fields.number(name, option.float_minimum, option.float_maximum);
      if (value) into.emplace_back(name, number_text(*value));
    } else if (option.type == TENON_OPTION_BOOL) {
      into.emplace_back(name, *fields.boolean(name) ? "true" : "false");
    }
  }
}

/// Reads "logit_bias": an object of token ids or texts, or a list of pairs. A text stands for all
/// of its tokens.
class BiasReader {
 public:
  BiasReader(const Fields& fields, const tenon::Tokenizer& tokenizer)
      : fields_(fields), tokenizer_(tokenizer) {}

  std::vector<std::pair<tenon::Token, double>> read() {
    const Json* given = fields_.find("logit_bias");
    if (given == nullptr) return {};
    if (given->is_array()) {
      for (const Json& pair : *given) add_pair(pair);
    } else {
      const std::optional<Fields> biases = fields_.object("logit_bias");
      for (const auto& [key, value] : biases->json().items()) add_key(key, value);
    }
    check_that_some_token_is_left();
    return std::move(biases_);
  }

 private:
  void add_pair(const Json& pair) {
    const bool is_pair = pair.is_array() && pair.size() == 2;
    const bool is_id = is_pair && pair[0].is_number_integer();
    if (!is_id && !(is_pair && pair[0].is_string())) {
      refuse("must be an object, or a list of pairs of a token id or a text and its bias");
    }
    if (!is_id) return add_text(pair[0].get<std::string>(), pair[1]);
    if (pair[0] < 0 || pair[0] >= tokenizer_.size()) refuse_id(to_text(pair[0]));
    biases_.emplace_back(pair[0].get<tenon::Token>(), bias_of(to_text(pair[0]), pair[1]));
  }

  /// A key of digits is a token id, as in OpenAI's interface.
  void add_key(const std::string& key, const Json& value) {
    const bool is_number = !key.empty() && std::all_of(key.begin(), key.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) return add_text(key, value);
    uint32_t token = 0;
    const std::errc error = std::from_chars(key.data(), key.data() + key.size(), token).ec;
    if (error != std::errc() || token >= tokenizer_.size()) refuse_id(key);
    biases_.emplace_back(static_cast<tenon::Token>(token), bias_of(key, value));
  }

  void add_text(const std::string& text, const Json& value) {
    const double bias = bias_of(text, value);
    const std::vector<tenon::Token> tokens = tokenizer_.encode(text, {.add_special = false});
    if (tokens.empty()) refuse("has a text without tokens");
    for (const tenon::Token token : tokens) biases_.emplace_back(token, bias);
  }

  /// Bias of a value. The lowest value of OpenAI's scale bans a token, as does llama-server's
  /// false.
  [[nodiscard]] double bias_of(const std::string& key, const Json& value) const {
    constexpr double kBanned = -std::numeric_limits<double>::infinity();
    if (value.is_boolean() && !value.get<bool>()) return kBanned;
    if (!value.is_number() || !(std::abs(value.get<double>()) <= 100)) {
      refuse("the bias of " + key + " must be a number from -100 to 100");
    }
    return value.get<double>() == -100 ? kBanned : value.get<double>();
  }

  void check_that_some_token_is_left() const {
    if (biases_.size() < tokenizer_.size()) return;
    std::vector<bool> is_banned(tokenizer_.size(), false);
    for (const auto& [token, bias] : biases_) {
      is_banned[static_cast<size_t>(token)] = std::isinf(bias);
    }
    if (std::find(is_banned.begin(), is_banned.end(), false) == is_banned.end()) {
      refuse("bans every token of the model: none is left for an answer");
    }
  }

  [[noreturn]] void refuse_id(const std::string& id) const {
    refuse("\"" + id + "\" is no token of the model, which has 0 to " +
           std::to_string(tokenizer_.size() - 1));
  }
  [[noreturn]] void refuse(const std::string& message) const {
    fields_.refuse("logit_bias", message);
  }

  const Fields& fields_;
  const tenon::Tokenizer& tokenizer_;
  std::vector<std::pair<tenon::Token, double>> biases_;
};

std::vector<tenon::Token> read_stop_tokens(const Fields& fields,
                                           const tenon::Tokenizer& tokenizer) {
  const Json* list = fields.list("stop_token_ids");
  if (list == nullptr) return {};
  return read_token_ids(*list, "stop_token_ids", tokenizer);
}

/// True for a random seed: absent, -1 or "random".
bool is_drawn_seed(const Fields& fields) {
  const Json* seed = fields.find("seed");
  return seed == nullptr || *seed == -1 || *seed == "" || *seed == "random";
}

/// Drawn if there is none. The library takes seeds from 0 on.
int64_t read_seed(const Fields& fields) {
  if (!is_drawn_seed(fields)) {
    if (const std::optional<int64_t> seed = fields.integer("seed", INT64_MIN, INT64_MAX)) {
      return *seed >= 0 ? *seed : static_cast<int64_t>(static_cast<uint64_t>(*seed) >> 1U);
    }
  }
  return tenon::Sampler().seed();
}

tenon::Grammar compile(const Fields& fields, std::string_view name, std::string_view kind) {
  const Json& value = fields.required(name);
  try {
    if (kind == "json") {
      return tenon::Grammar::compile(
          TENON_GRAMMAR_JSON_SCHEMA,
          value.is_string() ? value.get_ref<const std::string&>() : to_text(value),
          under_work_limit());
    }
    if (kind == "choice") {
      const bool holds_texts = std::all_of(value.begin(), value.end(),
                                           [](const Json& choice) { return choice.is_string(); });
      if (!value.is_array() || !holds_texts) fields.refuse(name, "must be a list of strings");
      return tenon::Grammar::compile(TENON_GRAMMAR_CHOICES, to_text(value), under_work_limit());
    }
    const std::string& text = fields.required_text(name);
    return tenon::Grammar::compile(kind == "regex" ? TENON_GRAMMAR_REGEX : TENON_GRAMMAR_GBNF, text,
                                   under_work_limit());
  } catch (const tenon::Error& error) {
    throw api_error_of(error, fields.path_of(name));
  }
}

/// Whether tokens of the answer are guessed.
int32_t read_speculation(const Fields& fields) {
  const std::string* word = fields.text("speculation");
  if (word == nullptr) return TENON_SPECULATION_DEFAULT;
  if (*word == "auto") return TENON_SPECULATION_AUTO;
  if (*word == "off") return TENON_SPECULATION_OFF;
  if (*word == "forced") return TENON_SPECULATION_FORCED;
  fields.refuse("speculation", "must be one of auto, off and forced");
}

}  // namespace

bool Sampling::bans_tokens() const {
  return std::any_of(biases.begin(), biases.end(),
                     [](const auto& bias) { return std::isinf(bias.second); });
}

std::optional<uint64_t> read_max_tokens(const Fields& fields, std::string_view name) {
  const std::optional<int64_t> limit = fields.integer(name, -1, INT64_MAX);
  if (!limit || *limit <= 0) return std::nullopt;
  return static_cast<uint64_t>(*limit);
}

std::vector<std::string> read_stops(const Fields& fields, std::string_view name) {
  std::vector<std::string> stops;
  const Json* value = fields.find(name);
  if (value == nullptr || *value == "") return stops;
  const bool is_one = value->is_string();
  if (!is_one && !value->is_array()) fields.refuse(name, "must be a string or a list of strings");
  for (size_t i = 0; i < (is_one ? 1 : value->size()); ++i) {
    const Json& stop = is_one ? *value : (*value)[i];
    if (!stop.is_string()) fields.refuse(name, "must be a string or a list of strings");
    if (stop.get_ref<const std::string&>().empty()) fields.refuse(name, "must not be empty");
    stops.push_back(stop.get<std::string>());
  }
  if (stops.size() > kMaxStops) {
    fields.refuse(name, "has more than " + std::to_string(kMaxStops) + " texts");
  }
  return stops;
}

std::vector<tenon::Token> read_token_ids(const Json& list, const std::string& path,
                                         const tenon::Tokenizer& tokenizer) {
  std::vector<tenon::Token> tokens;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id < 0 || id >= tokenizer.size()) {
      throw invalid_request(
          path + ": must hold token ids from 0 to " + std::to_string(tokenizer.size() - 1), path);
    }
    tokens.push_back(id.get<tenon::Token>());
  }
  return tokens;
}

Sampling read_sampling(const Fields& fields, const tenon::Tokenizer& tokenizer) {
  Sampling sampling;
  for (const NumberField& field : kNumberFields) {
    const std::optional<double> value = fields.number(field.name, field.minimum, field.maximum);
    if (value) sampling.options.extra.emplace_back(field.option, number_text(*value));
  }
  read_sampler_options(fields, sampling.options.extra);
  sampling.biases = BiasReader(fields, tokenizer).read();
  sampling.stops = read_stops(fields, "stop");
  sampling.stop_tokens = read_stop_tokens(fields, tokenizer);
  sampling.options.stop = sampling.stops;
  sampling.options.banned_strings = read_stops(fields, "banned_strings");
  for (std::string& word : read_stops(fields, "bad_words")) {
    sampling.options.banned_strings.push_back(std::move(word));
  }
  sampling.seed = read_seed(fields);
  sampling.ignore_end = fields.boolean("ignore_eos").value_or(false);
  sampling.priority = static_cast<int32_t>(fields.integer("priority", -1000, 1000).value_or(0));
  sampling.speculation = read_speculation(fields);
  const std::optional<int64_t> draft_max = fields.integer("draft_max", 0, 16);
  sampling.draft_max = static_cast<uint32_t>(draft_max.value_or(0));
  if (draft_max && *draft_max == 0) sampling.speculation = TENON_SPECULATION_OFF;
  return sampling;
}

tenon::Sampler make_sampler(const Sampling& sampling, size_t index) {
  tenon::SamplerOptions options = sampling.options;
  options.seed =
      static_cast<int64_t>((static_cast<uint64_t>(sampling.seed) + index) & uint64_t{INT64_MAX});
  tenon::Sampler sampler(options);
  for (const auto& [token, bias] : sampling.biases) sampler.set_bias(token, bias);
  return sampler;
}

std::optional<tenon::Grammar> read_structured_outputs(const Fields& fields) {
  static constexpr auto kKinds =
      std::to_array<std::string_view>({"json", "regex", "choice", "grammar"});
  std::optional<tenon::Grammar> grammar;
  const auto read = [&](const Fields& from, const std::string& name, std::string_view kind) {
    const Json* value = from.find(name);
    if (value == nullptr || *value == "") return;
    if (grammar) from.refuse(name, "is one constraint too many: only one can be kept");
    grammar.emplace(compile(from, name, kind));
  };
  const std::optional<Fields> inner = fields.object("structured_outputs");
  for (const std::string_view kind : kKinds) {
    if (inner) read(*inner, std::string(kind), kind);
    read(fields, "guided_" + std::string(kind), kind);
  }
  if (inner && !grammar) {
    fields.refuse("structured_outputs", "must have one of json, regex, choice and grammar");
  }
  return grammar;
}

}  // namespace tenon_http
