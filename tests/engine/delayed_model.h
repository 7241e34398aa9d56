// Models on the delayed reference: a device with a queue of several steps. For tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "random_model/random_model.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {

struct DelayedOptions {
  uint32_t steps = 2;    ///< under way
  uint32_t step_us = 0;  ///< least time of a step
  uint32_t draw_us = 0;
  uint32_t slice = 32;
  uint32_t fail_step = 0;  ///< index of the failing step, from 1; 0 means none
  uint32_t fail_draw = 0;
};

inline ModelOptions on_delayed(const DelayedOptions& delayed) {
  ModelOptions options;
  options.backend = "delayed";
  options.plugin_paths = {TENON_TEST_PLUGIN_DELAYED};
  options.backend_options = {{"steps", std::to_string(delayed.steps)},
                             {"step_us", std::to_string(delayed.step_us)},
                             {"draw_us", std::to_string(delayed.draw_us)},
                             {"fail_step", std::to_string(delayed.fail_step)},
                             {"fail_draw", std::to_string(delayed.fail_draw)}};
  options.slice = delayed.slice;
  options.context = 512;
  return options;
}

inline std::shared_ptr<const Model> load_delayed(const TinyModel& tiny,
                                                 const DelayedOptions& delayed) {
  return load_tiny(tiny, on_delayed(delayed));
}

inline std::shared_ptr<const Model> load_delayed_random(const std::string& architecture,
                                                        const DelayedOptions& delayed) {
  const TempFolder folder;
  const std::string path = folder.path("model.gguf");
  write_random_model(System::real(), path, "tiny-" + architecture, "q8_0");
  return Model::load(path, on_delayed(delayed));
}

}  // namespace tenon
