// A string of a template and which of its bytes came from outside (messages, tools, variables)
// rather than from the template itself; what strings are used for lives elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::jinja {

class Budget;

/// Well-formed UTF-8 with a mark per byte: foreign or the template's own. Every operation on
/// strings is built from slice() and append(), so that the marks follow the bytes. Text made by
/// other means (upper case, JSON) is foreign when any of its sources is.
class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool foreign = false)
      : bytes_(std::move(bytes)), foreign_(foreign) {}

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string_view view() const { return bytes_; }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// Memory besides that of the bytes.
  [[nodiscard]] size_t bytes_of_marks() const { return runs_.size() * sizeof(Run); }
  /// Whether any byte is foreign.
  [[nodiscard]] bool has_foreign() const;

  void append(const Text& other) { append(other, 0, other.size()); }
  /// Appends bytes [begin, end) of another text.
  void append(const Text& other, size_t begin, size_t end);
  void append(std::string_view bytes, bool foreign);
  /// Bytes [begin, end).
  [[nodiscard]] Text slice(size_t begin, size_t end) const;

  /// Bytes [begin, end) of one kind.
  struct Span {
    size_t begin, end;
    bool foreign;
  };
  /// The text as maximal spans, in order.
  [[nodiscard]] std::vector<Span> spans() const;

 private:
  // A conversation of more pieces does not fit the limit of the output.
  static constexpr size_t kMaxRuns = size_t{1} << 20;
  struct Run {
    size_t end;
    bool foreign;
  };
  // Most texts are of one kind: runs_ is empty then and foreign_ tells it.
  std::string bytes_;
  std::vector<Run> runs_;  // ends ascending, the last is size()
  bool foreign_ = false;
};

/// `count` times the text; the caller has announced its size.
Text repeated_text(const Text& text, size_t count, Budget& budget);

}  // namespace tenon::jinja
