// Kinds of JSON values as sets, for the values that a tool's schema allows.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

using JsonKinds = uint8_t;

inline constexpr JsonKinds kStringKind = 1;
inline constexpr JsonKinds kIntegerKind = 2;
inline constexpr JsonKinds kFractionKind = 4;  ///< number with a point or an exponent
inline constexpr JsonKinds kBooleanKind = 8;
inline constexpr JsonKinds kNullKind = 16;
inline constexpr JsonKinds kListKind = 32;
inline constexpr JsonKinds kObjectKind = 64;
inline constexpr JsonKinds kAnyKind = 127;

/// Kind of a JSON value without space around it.
constexpr JsonKinds kind_of_json(std::string_view json) {
  switch (json.empty() ? ' ' : json[0]) {
    case '"':
      return kStringKind;
    case '{':
      return kObjectKind;
    case '[':
      return kListKind;
    case 't':
    case 'f':
      return kBooleanKind;
    case 'n':
      return kNullKind;
    default:
      return json.find_first_of(".eE") == json.npos ? kIntegerKind : kFractionKind;
  }
}

}  // namespace tenon
