#include "sampling_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "api_error.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxStops = 64;

/// Names and ranges that differ from those of the library's options.
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

/// Every option of the samplers that has no range of its own here.
void read_sampler_options(const Fields& fields, tenon::ExtraOptions& into) {
  for (const tenon_option_info& option : tenon::option_list()) {
    if (option.scope != TENON_SCOPE_SAMPLER || is_number_field(option.name)) continue;
    const std::string_view name = option.name;
    if (name == "stop" || name == "seed" || !fields.has(name)) continue;
    if (option.type == TENON_OPTION_INT) {
      // vLLM's -1 turns top_k off, as 0 does here.
      int64_t value =
          *fields.integer(name, name == "top_k" ? -1 : option.int_minimum, option.int_maximum);
      if (name == "top_k" && value < 0) value = 0;
      into.emplace_back(name, std::to_string(value));
    } else if (option.type == TENON_OPTION_FLOAT) {
      into.emplace_back(
          name, number_text(*fields.number(name, option.float_minimum, option.float_maximum)));
    } else if (option.type == TENON_OPTION_BOOL) {
      into.emplace_back(name, *fields.boolean(name) ? "true" : "false");
    }
  }
}

std::vector<std::pair<tenon::Token, double>> read_biases(const Fields& fields,
                                                         const tenon::Tokenizer& tokenizer) {
  std::vector<std::pair<tenon::Token, double>> biases;
  const std::optional<Fields> given = fields.object("logit_bias");
  if (!given) return biases;
  for (const auto& [key, value] : given->json().items()) {
    uint32_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    const bool is_number = error == std::errc() && end == key.data() + key.size();
    if (!is_number || token >= tokenizer.size()) {
      fields.refuse("logit_bias", "\"" + key + "\" is no token of the model, which has 0 to " +
                                      std::to_string(tokenizer.size() - 1));
    }
    if (!value.is_number() || !(std::abs(value.get<double>()) <= 100)) {
      fields.refuse("logit_bias", "the bias of " + key + " must be a number from -100 to 100");
    }
    // At the end of OpenAI's scale a token is banned.
    const double bias = value.get<double>();
    biases.emplace_back(static_cast<tenon::Token>(token),
                        bias == -100 ? -std::numeric_limits<double>::infinity() : bias);
  }
  return biases;
}

tenon::Grammar compile(const Fields& fields, std::string_view name, std::string_view kind) {
  const Json& value = fields.required(name);
  try {
    if (kind == "json") {
      return tenon::Grammar::json_schema(value.is_string() ? value.get<std::string>()
                                                           : to_text(value));
    }
    if (kind == "choice") {
      const bool holds_texts = std::all_of(value.begin(), value.end(),
                                           [](const Json& choice) { return choice.is_string(); });
      if (!value.is_array() || !holds_texts) fields.refuse(name, "must be a list of strings");
      return tenon::Grammar::choices(to_text(value));
    }
    const std::string& text = fields.required_text(name);
    return kind == "regex" ? tenon::Grammar::regular_expression(text) : tenon::Grammar::gbnf(text);
  } catch (const tenon::Error& error) {
    throw api_error_of(error, fields.path_of(name));
  }
}

}  // namespace

std::vector<std::string> read_stops(const Fields& fields, std::string_view name) {
  std::vector<std::string> stops;
  const Json* value = fields.find(name);
  if (value == nullptr) return stops;
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
  sampling.biases = read_biases(fields, tokenizer);
  sampling.stops = read_stops(fields, "stop");
  sampling.options.stop = sampling.stops;
  sampling.options.banned_strings = read_stops(fields, "banned_strings");
  for (std::string& word : read_stops(fields, "bad_words")) {
    sampling.options.banned_strings.push_back(std::move(word));
  }
  const std::optional<int64_t> seed = fields.integer("seed", INT64_MIN, INT64_MAX);
  // The library's seeds are not negative; -1 asks for a random one, as llama.cpp's does.
  if (!seed || *seed == -1) {
    sampling.seed = tenon::Sampler().seed();
  } else {
    sampling.seed = *seed >= 0 ? *seed : static_cast<int64_t>(static_cast<uint64_t>(*seed) >> 1U);
  }
  sampling.ignore_end = fields.boolean("ignore_eos").value_or(false);
  sampling.priority = static_cast<int32_t>(fields.integer("priority", -1000, 1000).value_or(0));
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
    if (!from.has(name)) return;
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
