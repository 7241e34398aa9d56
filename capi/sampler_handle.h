// The object behind a sampler handle; what a sampler does lives in sampler/.
#pragma once

#include <memory>
#include <vector>

#include "handle.h"
#include "option_set.h"
#include "sampler/sampler.h"
#include "sampler/stop_strings.h"
#include "text/vocabulary.h"

struct tenon_sampler : tenon::capi::Handle<tenon_sampler> {
  static constexpr auto kMagic = tenon::capi::Magic::Sampler;
  static constexpr const char* kName = "sampler";

  explicit tenon_sampler(tenon::capi::OptionSet initial);
  void reset();

  tenon::capi::OptionSet options;  ///< what reset() goes back to
  tenon::Sampler sampler;
  std::shared_ptr<const tenon::StopStrings> stops;  ///< null: none
  std::vector<tenon::Token> stop_tokens;            ///< ascending
};
