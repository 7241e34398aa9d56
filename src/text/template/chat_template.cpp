#include "text/template/chat_template.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/template/jinja_parser.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

/// Beginning of a failure's message, which may contain texts of the template.
std::string_view shown(const std::exception& failure) {
  constexpr size_t kMaxBytes = 1000;
  return utf8_prefix(failure.what(), kMaxBytes);
}

}  // namespace

ChatTemplate::ChatTemplate(std::string source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {
  if (!is_utf8(source_)) fail(Code::Template, "{}: line 1: the source is no UTF-8", name_);
  try {
    syntax_ = std::make_unique<const jinja::Syntax>(jinja::parse(source_));
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", name_, error.what());
  } catch (const jinja::Failure& failure) {
    fail(Code::Template, "{}: line 1: {}", name_, shown(failure));
  }
}

jinja::Text ChatTemplate::render(const Variables& variables, const jinja::Limits& limits,
                                 std::optional<jinja::CalendarTime> now) const {
  jinja::Budget budget(limits);
  jinja::Interpreter interpreter(*syntax_, variables, budget, now);
  try {
    return interpreter.run();
  } catch (const jinja::Failure& failure) {
    fail(Code::Template, "{}: line {}: {}", name_, interpreter.line(), shown(failure));
  }
}

}  // namespace tenon
