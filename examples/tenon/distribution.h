// Random lengths from a description on the command line: "128", "uniform:64-256", ...
#pragma once

#include <cstdint>
#include <string>

#include "random.h"

namespace tenon_program {

/// Distribution of whole numbers from 1 to kMost; values beyond are clamped.
class Distribution {
 public:
  static constexpr uint64_t kMost = 1 << 20;

  /// All forms and their meaning, in one sentence for the help.
  static std::string forms();

  /// Throws Failure naming the text and the available forms.
  explicit Distribution(const std::string& text);

  uint64_t draw(Random& random) const;
  /// Description as given.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  double (*draw_)(Random& random, double a, double b);
  double a_ = 0;
  double b_ = 0;
};

}  // namespace tenon_program
