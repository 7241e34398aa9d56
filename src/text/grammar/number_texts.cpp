#include "text/grammar/number_texts.h"

#include <algorithm>
#include <string_view>

#include "text/grammar/interner.h"

namespace tenon::grammar {
namespace {

constexpr uint32_t kMaxModulus = 10'000;

enum Order : uint32_t { kLess, kEqual, kGreater };

/// Compares the digits of a number with those of a bound, ignoring signs. While all digits are
/// equal, the position determines the bound's next digit.
class DigitOrder {
 public:
  explicit DigitOrder(const Decimal& bound) : bound_(bound) {}

  /// Order after another digit of the integer part.
  ///   order  of the first `count` digits, compared with the bound's
  [[nodiscard]] Order in_integer(Order order, uint32_t count, uint32_t digit) const {
    if (order != kEqual || count >= bound_.integer.size()) return order;
    return of(digit, bound_.integer[count]);
  }
  /// Order at the end of an integer part of `count` digits.
  [[nodiscard]] Order after_integer(Order order, uint32_t count) const {
    if (count != bound_.integer.size()) return count < bound_.integer.size() ? kLess : kGreater;
    return order;
  }
  [[nodiscard]] Order in_fraction(Order order, uint32_t count, uint32_t digit) const {
    if (order != kEqual) return order;
    return of(digit, count < bound_.fraction.size() ? bound_.fraction[count] : '0');
  }
  /// Order at the end of a fraction of `count` digits.
  [[nodiscard]] Order at_end(Order order, uint32_t count) const {
    return order == kEqual && count < bound_.fraction.size() ? kLess : order;
  }
  [[nodiscard]] uint32_t integer_places() const {
    return static_cast<uint32_t>(bound_.integer.size());
  }
  [[nodiscard]] uint32_t fraction_places() const {
    return static_cast<uint32_t>(bound_.fraction.size());
  }

 private:
  static Order of(uint32_t digit, char other) {
    const auto value = static_cast<uint32_t>(other - '0');
    return digit < value ? kLess : digit > value ? kGreater : kEqual;
  }
  const Decimal& bound_;
};

/// Divisibility by integer x 10^-places.
struct Divisor {
  uint32_t modulus;
  uint32_t places;
  bool wanted;
};

Divisor divisor_of(const Decimal& value, bool wanted, Budget& budget) {
  const std::string digits = value.integer + value.fraction;
  uint64_t modulus = 0;
  for (const char c : digits) {
    modulus = std::min<uint64_t>(modulus * 10 + static_cast<uint64_t>(c - '0'), UINT32_MAX);
  }
  if (modulus > kMaxModulus) {
    budget.refuse_keyword(
        "multipleOf", "multipleOf with more than the digits of {} is not supported", kMaxModulus);
  }
  return {static_cast<uint32_t>(modulus), static_cast<uint32_t>(value.fraction.size()), wanted};
}

class NumberReader {
 public:
  NumberReader(const NumberShape& shape, Budget& budget) : shape_(shape), budget_(budget) {
    if (shape.lower) orders_.emplace_back(shape.lower->value);
    if (shape.upper) orders_.emplace_back(shape.upper->value);
    for (const Decimal& value : shape.multiples) {
      divisors_.push_back(divisor_of(value, true, budget));
    }
    for (const Decimal& value : shape.not_multiples) {
      divisors_.push_back(divisor_of(value, false, budget));
    }
    for (const DigitOrder& order : orders_) {
      integer_cap_ = std::max(integer_cap_, order.integer_places() + 1);
      fraction_cap_ = std::max(fraction_cap_, order.fraction_places());
    }
    for (const Divisor& divisor : divisors_)
      fraction_cap_ = std::max(fraction_cap_, divisor.places);
  }

  Dfa run() {
    Dfa dfa;
    std::vector<uint32_t> state(kFixed + orders_.size() + divisors_.size(), 0);
    for (size_t i = 0; i < orders_.size(); ++i) state[kFixed + i] = kEqual;
    (void)states_.intern(state);
    std::vector<uint32_t> from, to;
    for (uint32_t s = 0; s < states_.size(); ++s) {
      const auto words = states_.words(s);
      from.assign(words.begin(), words.end());
      budget_.add_states(1);
      for (const char c : std::string_view("+-.0123456789Ee")) {
        to = from;
        if (!step(to, c)) continue;
        budget_.spend(to.size());
        const auto byte = static_cast<uint8_t>(c);
        const uint32_t next = states_.intern(to);
        const bool first = dfa.ranges.size() == dfa.begin.back();
        if (!first && dfa.ranges.back().to == next && dfa.ranges.back().high + 1 == byte) {
          dfa.ranges.back().high = byte;
        } else {
          dfa.ranges.push_back({byte, byte, next});
        }
      }
      dfa.begin.push_back(static_cast<uint32_t>(dfa.ranges.size()));
      dfa.label.push_back(is_number(from) ? 1 : 0);
    }
    return minimise(dfa, budget_);
  }

 private:
  // State: phase, sign, number of digits up to a cap, whether any digit was non-zero, whether a
  // fraction digit was non-zero; then an order per bound and a remainder per divisor.
  enum Field : size_t { kPhase, kNegative, kCount, kNonzero, kBroken, kFixed };
  enum Phase : uint32_t {
    kStart,
    kSigned,
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kExponent,
    kExponentSigned,
    kExponentDigit,
    kExponentDigits  // two digits
  };

  bool step(std::vector<uint32_t>& state, char c) const {
    const uint32_t phase = state[kPhase];
    if (c == '-' && phase == kStart) {
      state[kPhase] = kSigned;
      state[kNegative] = 1;
      return true;
    }
    if (c == '.' && !shape_.integer && (phase == kZero || phase == kInteger)) {
      end_integer(state);
      state[kPhase] = kPoint;
      return true;
    }
    if (c == 'e' || c == 'E') return begin_exponent(state);
    if ((c == '+' || c == '-') && phase == kExponent) {
      state[kPhase] = kExponentSigned;
      return true;
    }
    if (c < '0' || c > '9') return false;
    return digit(state, static_cast<uint32_t>(c - '0'));
  }

  bool digit(std::vector<uint32_t>& state, uint32_t d) const {
    switch (state[kPhase]) {
      case kStart:
      case kSigned:
        state[kPhase] = d == 0 ? kZero : kInteger;
        if (d != 0) integer_digit(state, d);
        return true;
      case kInteger:
        integer_digit(state, d);
        return true;
      case kPoint:
      case kFraction:
        state[kPhase] = kFraction;
        fraction_digit(state, d);
        return true;
      case kExponent:
      case kExponentSigned:
        state[kPhase] = kExponentDigit;
        return d == 0 || !exponent_is_zero();
      case kExponentDigit:
        state[kPhase] = kExponentDigits;
        return d == 0 || !exponent_is_zero();
      default:
        return false;
    }
  }

  void integer_digit(std::vector<uint32_t>& state, uint32_t d) const {
    state[kNonzero] |= d != 0 ? 1 : 0;
    for (size_t i = 0; i < orders_.size(); ++i) {
      uint32_t& order = state[kFixed + i];
      order = orders_[i].in_integer(static_cast<Order>(order), state[kCount], d);
    }
    for (size_t i = 0; i < divisors_.size(); ++i) {
      uint32_t& rest = state[kFixed + orders_.size() + i];
      rest = (rest * 10 + d) % divisors_[i].modulus;
    }
    state[kCount] = std::min(state[kCount] + 1, integer_cap_);
  }

  void fraction_digit(std::vector<uint32_t>& state, uint32_t d) const {
    state[kNonzero] |= d != 0 ? 1 : 0;
    state[kBroken] |= d != 0 ? 1 : 0;
    for (size_t i = 0; i < orders_.size(); ++i) {
      uint32_t& order = state[kFixed + i];
      order = orders_[i].in_fraction(static_cast<Order>(order), state[kCount], d);
    }
    for (size_t i = 0; i < divisors_.size(); ++i) {
      uint32_t& rest = state[kFixed + orders_.size() + i];
      const Divisor& divisor = divisors_[i];
      if (state[kCount] < divisor.places) {
        rest = rest == divisor.modulus ? rest : (rest * 10 + d) % divisor.modulus;
      } else if (d != 0) {
        rest = divisor.modulus;  // can no longer become a multiple
      }
    }
    state[kCount] = std::min(state[kCount] + 1, fraction_cap_);
  }

  void end_integer(std::vector<uint32_t>& state) const {
    for (size_t i = 0; i < orders_.size(); ++i) {
      uint32_t& order = state[kFixed + i];
      order = orders_[i].after_integer(static_cast<Order>(order), state[kCount]);
    }
    state[kCount] = 0;
  }

  /// True if an exponent must be 0, because the conditions depend on the position of the digits.
  [[nodiscard]] bool exponent_is_zero() const {
    return !orders_.empty() || !divisors_.empty() || shape_.not_integer;
  }

  bool begin_exponent(std::vector<uint32_t>& state) const {
    const uint32_t phase = state[kPhase];
    if (shape_.integer || (phase != kZero && phase != kInteger && phase != kFraction)) return false;
    if (phase != kFraction) end_integer(state);
    if (exponent_is_zero() && !accepts_value(state)) return false;
    if (!exponent_is_zero()) state[kCount] = 0;
    state[kPhase] = kExponent;
    return true;
  }

  [[nodiscard]] bool is_number(std::vector<uint32_t> state) const {
    switch (state[kPhase]) {
      case kZero:
      case kInteger:
        end_integer(state);
        return accepts_value(state);
      case kFraction:
      case kExponentDigit:
      case kExponentDigits:
        return accepts_value(state);
      default:
        return false;
    }
  }

  /// True if the digits so far, after the integer part, form a number of the shape.
  [[nodiscard]] bool accepts_value(const std::vector<uint32_t>& state) const {
    if (shape_.not_integer && state[kBroken] == 0) return false;
    size_t next = kFixed;
    if (shape_.lower && !is_beyond(state, *shape_.lower, state[next++], orders_[0], 1))
      return false;
    if (shape_.upper && !is_beyond(state, *shape_.upper, state[next], orders_[next - kFixed], -1)) {
      return false;
    }
    next = kFixed + orders_.size();
    for (const Divisor& divisor : divisors_) {
      uint32_t rest = state[next++];
      for (uint32_t i = state[kCount]; rest != divisor.modulus && i < divisor.places; ++i) {
        rest = rest * 10 % divisor.modulus;
      }
      if ((rest == 0) != divisor.wanted) return false;
    }
    return true;
  }

  /// True if the number lies above a bound (`side` 1) or below it (-1).
  [[nodiscard]] bool is_beyond(const std::vector<uint32_t>& state, const NumberShape::Bound& bound,
                               uint32_t order, const DigitOrder& digits, int side) const {
    const bool negative = state[kNegative] != 0 && state[kNonzero] != 0;
    int sign = 0;  // sign of number - bound
    if (negative != bound.value.negative) {
      sign = negative ? -1 : 1;
    } else {
      sign = static_cast<int>(digits.at_end(static_cast<Order>(order), state[kCount])) - kEqual;
      if (negative) sign = -sign;
    }
    // Correct also for -0 against 0, and for 0 against a negative bound: 0 is not negative.
    return sign == 0 ? !bound.exclusive : sign == side;
  }

  const NumberShape& shape_;
  Budget& budget_;
  std::vector<DigitOrder> orders_;
  std::vector<Divisor> divisors_;
  uint32_t integer_cap_ = 1;
  uint32_t fraction_cap_ = 0;
  Interner states_;
};

}  // namespace

Dfa number_texts(const NumberShape& shape, Budget& budget) {
  return NumberReader(shape, budget).run();
}

}  // namespace tenon::grammar
