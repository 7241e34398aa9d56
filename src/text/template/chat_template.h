// A chat template: source in, rendered prompt out, with the marks of which bytes are the template's
// own. What goes into a conversation, and what a model answers, lives in text/chat.
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

  /// Throws Error(Template) "NAME: line N: ..." for what is no template.
  ChatTemplate(std::string source, std::string name);

  /// Throws Error(Template) where Jinja2 raises an exception, and when a limit is reached.
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
