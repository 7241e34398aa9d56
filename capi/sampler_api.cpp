// tenon_sampler_*.
#include "fence.h"
#include "sampler_handle.h"
#include "values.h"

using namespace tenon::capi;

tenon_sampler::tenon_sampler(OptionSet initial) : options(std::move(initial)) { reset(); }

void tenon_sampler::reset() {
  sampler.reset();
  options.for_each_number(TENON_SCOPE_SAMPLER,
                          [this](const tenon_option& option, int64_t integer, double real) {
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

void tenon_sampler_destroy(tenon_sampler* sampler) { delete live_or_null(sampler); }

tenon_status tenon_sampler_set_int(tenon_sampler* sampler, const char* name, int64_t value) {
  return fence([&] { checked(sampler).sampler.set(name_in(name, "name"), value); });
}

tenon_status tenon_sampler_set_float(tenon_sampler* sampler, const char* name, double value) {
  return fence([&] { checked(sampler).sampler.set(name_in(name, "name"), value); });
}

tenon_status tenon_sampler_set_bias(tenon_sampler* sampler, tenon_token token, double bias) {
  return fence([&] { checked(sampler).sampler.set_logit_bias(token, static_cast<float>(bias)); });
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
