// A string of a template that marks its foreign (untrusted) bytes: those from outside (messages,
// tools, variables) instead of the template.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::jinja {

class Budget;

/// Well-formed UTF-8 with a flag per byte: foreign, or the template's own. All string operations
/// use slice() and append(), so flags follow their bytes. Text made by other means (uppercase,
/// JSON) is foreign if any source is.
class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool foreign = false)
      : bytes_(std::move(bytes)), foreign_(foreign) {}

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string_view view() const { return bytes_; }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// Memory besides the bytes.
  [[nodiscard]] size_t bytes_of_marks() const { return runs_.size() * sizeof(Run); }
  /// True if any byte is foreign.
  [[nodiscard]] bool has_foreign() const;

  void append(const Text& other) { append(other, 0, other.size()); }
  /// Appends bytes [begin, end) of `other`.
  void append(const Text& other, size_t begin, size_t end);
  void append(std::string_view bytes, bool foreign);
  /// Bytes [begin, end) with their flags.
  [[nodiscard]] Text slice(size_t begin, size_t end) const;

  /// Bytes [begin, end) with equal flags.
  struct Span {
    size_t begin, end;
    bool foreign;
  };
  /// Maximal spans of the text, in order.
  [[nodiscard]] std::vector<Span> spans() const;

 private:
  // Bounds memory: a conversation with more pieces would exceed the output limit.
  static constexpr size_t kMaxRuns = size_t{1} << 20;
  struct Run {
    size_t end;
    bool foreign;
  };
  // Most texts have equal flags: runs_ is empty then, and foreign_ is the flag.
  std::string bytes_;
  std::vector<Run> runs_;  // ascending ends; the last is size()
  bool foreign_ = false;
};

/// Repeats the text `count` times. The caller checks the size first.
Text repeated_text(const Text& text, size_t count, Budget& budget);

}  // namespace tenon::jinja
