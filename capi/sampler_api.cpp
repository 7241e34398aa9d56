// tenon_sampler_*.
#include <algorithm>
#include <string>
#include <vector>

#include "fence.h"
#include "sampler/logprobs.h"
#include "sampler_handle.h"
#include "tokenizer_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

// Bound beyond any model's number of end tokens.
constexpr size_t kMaxStopTokens = 1000;

}  // namespace

tenon_sampler::tenon_sampler(OptionSet initial) : options(std::move(initial)) {
  const std::vector<std::string> texts = options.strings("stop");
  if (!texts.empty()) ends.stops = std::make_shared<const tenon::StopStrings>(texts);
  const std::vector<std::string> banned = options.strings("banned_strings");
  if (!banned.empty()) {
    ends.banned =
        std::make_shared<const tenon::BannedTexts>(banned, options.boolean("banned_ignore_case"));
  }
  reset();
}

void tenon_sampler::reset() {
  sampler.reset();
  ends.stop_tokens.clear();
  ends.tokens_left = UINT64_MAX;
  options.for_each_number(TENON_SCOPE_SAMPLER,
                          [this](const tenon_option_info& option, int64_t integer, double real) {
                            if (option.type == TENON_OPTION_INT) sampler.set(option.name, integer);
                            if (option.type == TENON_OPTION_FLOAT) sampler.set(option.name, real);
                          });
}

tenon_status tenon_sampler_create(const tenon_options* options, tenon_sampler** sampler) {
  return fence([&] {
    tenon_sampler*& out = checked_out(sampler, "sampler");
    out = new tenon_sampler(options_or_default(options));
  });
}

void tenon_sampler_destroy(tenon_sampler* sampler) { destroy(sampler); }

tenon_status tenon_sampler_set_int(tenon_sampler* sampler, const char* name, int64_t value) {
  return fence([&] { checked(sampler).sampler.set(name_in(name, "name"), value); });
}

tenon_status tenon_sampler_set_float(tenon_sampler* sampler, const char* name, double value) {
  return fence([&] { checked(sampler).sampler.set(name_in(name, "name"), value); });
}

tenon_status tenon_sampler_seed(tenon_sampler* sampler, int64_t* seed) {
  return fence([&] {
    int64_t& out = checked_out(seed, "seed");
    out = static_cast<int64_t>(checked(sampler).sampler.seed());
  });
}

tenon_status tenon_sampler_set_bias(tenon_sampler* sampler, tenon_token token, double bias) {
  return fence([&] { checked(sampler).sampler.set_logit_bias(token, static_cast<float>(bias)); });
}

tenon_status tenon_sampler_add_stop_token(tenon_sampler* sampler, tenon_token token) {
  return fence([&] {
    std::vector<tenon::Token>& tokens = checked(sampler).ends.stop_tokens;
    if (token < 0) tenon::fail(tenon::Code::Argument, "sampler: stop token {}", token);
    const auto at = std::lower_bound(tokens.begin(), tokens.end(), token);
    if (at != tokens.end() && *at == token) return;
    if (tokens.size() >= kMaxStopTokens) {
      tenon::fail(tenon::Code::Limit, "sampler: more than {} stop tokens", kMaxStopTokens);
    }
    tokens.insert(at, token);
  });
}

tenon_status tenon_sampler_add_dry_breaker(tenon_sampler* sampler, const tenon_tokenizer* tokenizer,
                                           const char* text, size_t length) {
  return fence([&] {
    tenon::Sampler& of_handle = checked(sampler).sampler;
    const tenon::Tokenizer& vocabulary = checked(tokenizer).tokenizer;
    const std::string_view wanted = text_in(text, length, "text");
    if (wanted.empty()) tenon::fail(tenon::Code::Argument, "sampler: an empty DRY breaker");
    std::vector<tenon::Token> found;
    for (size_t i = 0; i < vocabulary.size(); ++i) {
      const auto token = static_cast<tenon::Token>(i);
      if (vocabulary.decode(token, true).find(wanted) != std::string_view::npos) {
        found.push_back(token);
      }
    }
    of_handle.add_dry_breakers(found);
  });
}

tenon_status tenon_logprobs(const float* logits, size_t count, const tenon_token* tokens,
                            size_t num_tokens, float* logprobs, tenon_token* top_tokens,
                            float* top_logprobs, size_t num_top) {
  return fence([&] {
    // Write into the result directly: the function throws before it writes.
    tenon::logprobs_of(array_in(logits, count, "logits"), array_in(tokens, num_tokens, "tokens"),
                       array_out(logprobs, num_tokens, "logprobs"),
                       array_out(top_tokens, num_top, "top_tokens"),
                       array_out(top_logprobs, num_top, "top_logprobs"));
  });
}

tenon_status tenon_sampler_reset(tenon_sampler* sampler) {
  return fence([&] { checked(sampler).reset(); });
}

tenon_status tenon_sampler_sample(tenon_sampler* sampler, const float* logits, size_t count,
                                  const tenon_token* history, size_t history_length,
                                  uint64_t position, tenon_token* token) {
  return fence([&] {
    tenon_token& out = checked_out(token, "token");
    out = checked(sampler).sampler.sample(array_in(logits, count, "logits"),
                                          array_in(history, history_length, "history"), position);
  });
}

tenon_status tenon_sampler_roll_back(tenon_sampler* sampler, size_t num_draws) {
  return fence([&] { checked(sampler).sampler.roll_back(num_draws); });
}
