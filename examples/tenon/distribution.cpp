#include "distribution.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "failure.h"
#include "terminal.h"

namespace tenon_program {
namespace {

// Largest sigma; five standard deviations are then a factor of 150,000.
constexpr double kMostSigma = 2.4;

bool is_length(double x) {
  return x >= 1 && x <= static_cast<double>(Distribution::kMost) && x == std::floor(x);
}

struct Kind {
  std::string_view prefix;  ///< prefix of the description
  char separator;           ///< between its two parameters; 0 for a single parameter
  const char* form;
  const char* meaning;
  bool (*valid)(double a, double b);
  double (*draw)(Random& random, double a, double b);
};

constexpr std::array kKinds = {
    Kind{"uniform:", '-', "uniform:LEAST-MOST", "each equally often",
         [](double a, double b) { return is_length(a) && is_length(b) && a <= b; },
         [](Random& random, double a, double b) {
           return a + std::floor(random.unit() * (b - a + 1));
         }},
    Kind{"lognormal:", ',', "lognormal:MEDIAN,SIGMA",
         "MEDIAN * exp(SIGMA * z), z standard normal, SIGMA up to 2.4",
         [](double a, double b) { return is_length(a) && b >= 0 && b <= kMostSigma; },
         [](Random& random, double a, double b) { return a * std::exp(b * random.normal()); }},
    Kind{"exponential:", 0, "exponential:MEAN", "many short ones, few long ones",
         [](double a, double) { return is_length(a); },
         [](Random& random, double a, double) { return a * random.exponential(); }},
    // Last entry, since every text begins with the empty prefix.
    Kind{"", 0, "N", "always N", [](double a, double) { return is_length(a); },
         [](Random&, double a, double) { return a; }},
};

/// Parses the whole text as a number.
std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string Distribution::forms() {
  std::string text;
  for (const Kind& kind : kKinds) {
    text += (text.empty() ? "" : "; ") + std::string(kind.form) + " (" + kind.meaning + ")";
  }
  return text;
}

Distribution::Distribution(const std::string& text) : text_(text), draw_(nullptr) {
  const std::string_view all = text_;
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                 [&](const Kind& k) { return all.starts_with(k.prefix); });
  std::string_view rest = all.substr(kind->prefix.size());
  std::optional<double> second = 0.0;
  if (kind->separator != 0) {
    const size_t border = std::min(rest.find(kind->separator), rest.size());
    second = number(rest.substr(std::min(border + 1, rest.size())));
    rest = rest.substr(0, border);
  }
  const std::optional<double> first = number(rest);
  if (!first || !second || !kind->valid(*first, *second)) {
    throw Failure("\"" + printable(text, 64) + "\" is no distribution of lengths from 1 to " +
                  std::to_string(kMost) + "; there are " + forms());
  }
  a_ = *first;
  b_ = *second;
  draw_ = kind->draw;
}

uint64_t Distribution::draw(Random& random) const {
  const double drawn = std::round(draw_(random, a_, b_));
  return static_cast<uint64_t>(std::clamp(drawn, 1.0, static_cast<double>(kMost)));
}

}  // namespace tenon_program
