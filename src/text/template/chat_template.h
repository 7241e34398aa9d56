// A chat template: renders its source to a prompt and marks which bytes are the template's own.
// text/chat has conversations and answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/jinja_interpreter.h"

namespace tenon {

/// Immutable after construction, so any number of threads may render.
class ChatTemplate {
 public:
  using Variables = jinja::Variables;

  /// Parses a template. Throws Template "NAME: line N: ..." if it is malformed.
  ChatTemplate(std::string source, std::string name);

  /// Renders the template. now: for strftime_now. Throws Template for exceptions that Jinja2 would
  /// raise, and at a limit.
  [[nodiscard]] jinja::Text render(const Variables& variables, const jinja::Limits& limits,
                                   std::optional<jinja::CalendarTime> now = {}) const;

  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string source_;
  std::string name_;
  std::unique_ptr<const jinja::Syntax> syntax_;
};

}  // namespace tenon
