// Every operation of a template on a huge text or list ends soon after its time limit.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/system.h"
#include "tests/base/processor_time.h"
#include "text/template/chat_template.h"
#include "text/template/jinja_builtins.h"

namespace tenon {
namespace {

constexpr uint64_t kLimitNs = 10'000'000;
// Values made before the limit are freed after it, which takes as long again for a million values.
// A copy of 15 MB is not interrupted; a slow machine needs 0.05 s for it.
constexpr double kMostSecondsOfOperation = 0.1;
constexpr size_t kTextBytes = 15'000'000;  // a little below the limit of one text

/// Processor time of an expression over texts `s`, `t`, or over the values made by `setting`.
double seconds_of(const ChatTemplate::Variables& variables, const std::string& setting,
                  const std::string& expression) {
  const std::shared_ptr<System> system = System::real();
  jinja::Limits limits;
  limits.time_ns = kLimitNs;
  limits.thread_time_ns = [system] { return system->thread_time_ns(); };
  const ChatTemplate chat(setting + "{% set x = " + expression + " %}", "T");
  return processor_seconds(
      [&] {
        try {
          (void)chat.render(variables, limits, jinja::CalendarTime{.year = 2026});
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::Template) << expression;
        }
      },
      kMostSecondsOfOperation);
}

std::string arguments_of(const jinja::Builtin& builtin, const char* argument) {
  std::string out;
  for (size_t i = 0; i < builtin.required; ++i) out += (i == 0 ? "" : ", ") + std::string(argument);
  return out;
}

/// Every filter, test and method of texts, with arguments, and all operators.
std::vector<std::string> text_operations() {
  std::vector<std::string> out;
  for (const auto table : {jinja::text_filters(), jinja::number_filters(),
                           jinja::sequence_filters(), jinja::selecting_filters()}) {
    for (const jinja::Builtin& filter : table) {
      const std::string name(filter.name);
      out.push_back("s|" + name + "(" + arguments_of(filter, "t") + ")");
      out.push_back("s|" + name + "(" + arguments_of(filter, "2") + ")");
    }
  }
  for (const jinja::Builtin& test : jinja::tests()) {
    const std::string name(test.name);
    if (name.find_first_of("=<>!") != name.npos) continue;
    out.push_back("s is " + name + (test.required > 0 ? "(t)" : ""));
  }
  for (const auto table : {jinja::str_methods(), jinja::str_queries()}) {
    for (const jinja::Builtin& method : table) {
      const std::string name(method.name);
      out.push_back("s." + name + "(" + arguments_of(method, "t") + ")");
      out.push_back("s." + name + "(" + arguments_of(method, "'a'") + ")");
      if (name.find("just") != name.npos || name == "center" || name == "zfill") {
        out.push_back("'a'." + name + "(16000000)");
      }
    }
  }
  for (const char* more : {"s + t",
                           "s ~ t",
                           "s == t",
                           "s < t",
                           "t in s",
                           "s[::2]",
                           "s[::-1]",
                           "s[5:]",
                           "s[-5:]",
                           "s[-1]",
                           "[s, t]|sort",
                           "[s, t]|unique|list",
                           "[s, t]|max",
                           "[s, t]|join(s)",
                           "s|list",
                           "s.split('a')",
                           "s.split(s[:1])",
                           "s.rsplit('a')",
                           "s.rsplit(s[:1])",
                           "s.count(s[:1])",
                           "s.replace(s[:1], 'xy')",
                           "s.replace('', 'x')",
                           "s|replace(s[:1], '')",
                           "s.strip(t)",
                           "s.rstrip(s)",
                           "s|indent(first=true)",
                           "s|wordwrap(1)",
                           "s|wordwrap(70)",
                           "s|truncate",
                           "s % ()",
                           "s % s",
                           "s.format(s)",
                           "s.format()",
                           "'%a' % s",
                           "'%r' % s",
                           "'{!r}'.format(s)",
                           "'{:>16000000}'.format('a')",
                           "'%16000000s' % 'a'",
                           "s|tojson(ensure_ascii=true)",
                           "[s, s]|tojson",
                           "{s: s}|tojson",
                           "{s: t}|string",
                           "{s: t}[s]",
                           "namespace(a=s)|string",
                           "strftime_now(s)",
                           "raise_exception(s)",
                           "s.startswith((t, t))",
                           "s|map('upper')|list",
                           "s|select('eq', 'a')|list",
                           "s|e|e",
                           "(s|e) % t",
                           "(s|e) ~ t",
                           "s|safe|upper",
                           "s|reverse",
                           "s|batch(2)|list",
                           "s|groupby(0)",
                           "s|sum",
                           "s|first",
                           "s|last",
                           "s * 8",
                           "(s[:1] * 8000000).splitlines()",
                           "{'a': s}|urlencode",
                           "{'a': s}|xmlattr",
                           "dict([(s, t)])",
                           "s * 2",
                           "('a' ~ s) * 2",
                           "s.join([s])",
                           "'a'.join(s)",
                           "s.join('ab')",
                           "s.partition('b')",
                           "s.rpartition('b')",
                           "s.find('b')",
                           "s.rfind('b')",
                           "s.index('b')",
                           "s.encode",
                           "s is filter",
                           "s|int",
                           "s|float",
                           "s|wordcount",
                           "s.title()",
                           "s|title",
                           "s.splitlines(true)"}) {
    out.push_back(more);
  }
  return out;
}

TEST(TemplateWork, EveryOperationOnATextKeepsToTheTime) {
  for (const char* unit : {"a", "\n", " ", "<a>", "%%", "{{", "\x01", "\xC3\x9F"}) {
    SCOPED_TRACE(unit);
    std::string text;
    while (text.size() < kTextBytes) text += unit;
    const ChatTemplate::Variables variables{
        {"s", jinja::Value::string(jinja::Text(text, true))},
        {"t", jinja::Value::string(jinja::Text(text.substr(0, text.size() - 2) + "b", true))}};
    for (const std::string& operation : text_operations()) {
      EXPECT_LE(seconds_of(variables, "", operation), kMostSecondsOfOperation) << operation;
    }
  }
}

TEST(TemplateWork, EveryOperationOnAListKeepsToTheTime) {
  const std::string setting = "{% set l = range(10000)|list * 50 %}{% set w = ['ab'] * 500000 %}";
  std::vector<std::string> operations;
  for (const auto table : {jinja::text_filters(), jinja::number_filters(),
                           jinja::sequence_filters(), jinja::selecting_filters()}) {
    for (const jinja::Builtin& filter : table) {
      for (const char* list : {"l", "w"}) {
        const std::string call = "|" + std::string(filter.name) + "(";
        operations.push_back(list + call + arguments_of(filter, "2") + ")");
        operations.push_back(list + call + arguments_of(filter, "'a'") + ")");
      }
    }
  }
  for (const char* more : {"l + l",
                           "l == l|list",
                           "l < w",
                           "-1 in l",
                           "l|sort(reverse=true)",
                           "w|sort",
                           "l[::2]",
                           "l[::-1]",
                           "l|map('string')|list",
                           "w|map('upper')|list",
                           "w|select('eq', 'a')|list",
                           "l|string",
                           "w|string",
                           "l|tojson",
                           "w|tojson(indent=2)",
                           "w|join(', ')",
                           "', '.join(w)",
                           "w|map('list')|list",
                           "l|batch(2)|map('list')|list",
                           "dict(l|map('string')|batch(2))",
                           "l.count(-1)",
                           "l.index(-1)",
                           "l|sum",
                           "l|groupby(0)",
                           "w|unique|list",
                           "l|unique|list",
                           "w|map(attribute=0)|list",
                           "[l, l]|sum(start=[])",
                           "l * 2",
                           "'%s' % (w,)",
                           "(l,)|string",
                           "w|map('replace', 'a', 'b')|list",
                           "w|dictsort",
                           "w|items",
                           "w|slice(100000)|list",
                           "cycler(*w)",
                           "'ab'.startswith((w|list)[0])",
                           "w|map('e')|list|join",
                           "{'a': l}|tojson"}) {
    operations.push_back(more);
  }
  for (const std::string& operation : operations) {
    EXPECT_LE(seconds_of({}, setting, operation), kMostSecondsOfOperation) << operation;
  }
}

}  // namespace
}  // namespace tenon
