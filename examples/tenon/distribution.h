// Lengths drawn at random, as a command line describes them: "128", "uniform:64-256", ...
#pragma once

#include <cstdint>
#include <string>

#include "random.h"

namespace tenon_program {

/// A distribution of whole numbers from 1 to kMost; what is drawn beyond counts as the nearest.
class Distribution {
 public:
  static constexpr uint64_t kMost = 1 << 20;

  /// Every form with its meaning, one sentence for the help.
  static std::string forms();

  /// Throws Failure naming the text and the forms there are.
  explicit Distribution(const std::string& text);

  uint64_t draw(Random& random) const;
  /// As it was given.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  double (*draw_)(Random& random, double a, double b);
  double a_ = 0;
  double b_ = 0;
};

}  // namespace tenon_program
