// Object behind a sampler handle; sampler/ implements samplers.
#pragma once

#include <memory>
#include <vector>

#include "engine/answer_text.h"
#include "handle.h"
#include "option_set.h"
#include "sampler/sampler.h"
#include "text/tokenizer/vocabulary.h"

struct tenon_sampler : tenon::capi::Handle<tenon_sampler> {
  static constexpr auto kMagic = tenon::capi::Magic::Sampler;
  static constexpr const char* kName = "sampler";

  explicit tenon_sampler(tenon::capi::OptionSet initial);
  void reset();

  tenon::capi::OptionSet options;  ///< state that reset() restores
  tenon::Sampler sampler;
  tenon::EndRules ends;  ///< except min_tokens, which belongs to the sampler
};
