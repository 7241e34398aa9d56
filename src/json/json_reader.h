// Reads a JSON text as a sequence of events. The engine's only instance of a JSON parser, which
// takes ten kilobytes for each kind of receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class JsonFault : uint8_t {
  Syntax,  ///< the text is not JSON
  Range,   ///< a number is beyond the range of doubles
};

/// Receives the parts of a JSON text in their order. A function that returns false ends the
/// reading; all may throw. Depth and number of values are for the receiver to limit.
class JsonEvents {
 public:
  virtual bool null() = 0;
  virtual bool boolean(bool value) = 0;
  /// A whole number from 0 to 2^64-1 without a sign.
  virtual bool count(uint64_t value) = 0;
  /// A whole number with a sign, from -2^63.
  virtual bool integer(int64_t value) = 0;
  /// Any other number; text: as written.
  virtual bool real(double value, const std::string& text) = 0;
  /// The text may be moved from.
  virtual bool string(std::string& text) = 0;
  virtual bool begin_array() = 0;
  virtual bool end_array() = 0;
  virtual bool begin_object() = 0;
  /// Key of the value that follows; may be moved from.
  virtual bool key(std::string& text) = 0;
  virtual bool end_object() = 0;
  /// The reading ends with a fault. position: number of bytes read.
  virtual void refuse(JsonFault fault, size_t position) = 0;

 protected:
  ~JsonEvents() = default;
};

/// Reads one value and nothing after it but blanks. False if the events ended the reading or
/// refused the text. Uses a bit of memory per open array or object, and no stack.
bool read_json(std::string_view text, JsonEvents& events);

}  // namespace tenon
