// Template language: recorded results of Jinja2, limits, and flags of untrusted bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "tests/base/expect_error.h"
#include "text/template/chat_template.h"
#include "text/template/jinja_strftime.h"
#include "text/template/json_values.h"

namespace tenon {
namespace {

using jinja::Kind;
using jinja::Limits;
using jinja::Value;

ChatTemplate::Variables variables_of(const std::string& json) {
  const Value object = jinja::value_from_json(json, "variables");
  ChatTemplate::Variables out;
  for (const auto& [key, value] : object.entries().entries) {
    out.emplace(key.text().bytes(), value);
  }
  return out;
}

std::string render(const std::string& source, const std::string& json = "{}",
                   const Limits& limits = {}) {
  return ChatTemplate(source, "T").render(variables_of(json), limits).bytes();
}

std::string error_of(const std::string& source, const Limits& limits = {}) {
  try {
    (void)render(source, "{}", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Template) << source;
    return error.what();
  }
  ADD_FAILURE() << "no error: " << source.substr(0, 200);
  return "";
}

TEST(Template, DoesWhatJinja2Did) {
  std::ifstream file(TENON_TEST_DATA_DIR "/text/template_cases.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), {}};
  const Value recorded = jinja::value_from_json(json, "cases");
  ChatTemplate::Variables variables;
  for (const auto& [key, value] : recorded.entries().find("variables")->entries().entries) {
    variables.emplace(key.text().bytes(), value);
  }
  const jinja::CalendarTime now{
      .year = 2026, .month = 1, .day = 2, .hour = 3, .minute = 4, .second = 5};
  for (const Value& one : recorded.entries().find("cases")->items().values) {
    const std::string& source = one.items().values[0].text().bytes();
    const Value& expected = one.items().values[1];
    try {
      const std::string text = ChatTemplate(source, "T").render(variables, {}, now).bytes();
      EXPECT_TRUE(expected.is(Kind::String)) << source << "\nrendered " << text;
      if (expected.is(Kind::String)) {
        EXPECT_EQ(text, expected.text().bytes()) << source;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Template) << source;
      EXPECT_TRUE(expected.is(Kind::None)) << source << "\n" << error.what();
    }
  }
}

TEST(Template, ErrorsNameTemplateAndLine) {
  EXPECT_THAT(error_of("a\nb\n{{ 1 + }}"), testing::StartsWith("T: line 3: unexpected"));
  EXPECT_THAT(error_of("a\n{{ x.y }}"), testing::StartsWith("T: line 2: 'x' is undefined"));
  EXPECT_THAT(error_of("\n\n{% if x %}"), testing::HasSubstr("endif"));
  EXPECT_THAT(error_of("\n{{ 1|nosuch }}"), testing::StartsWith("T: line 2: no filter named"));
  EXPECT_THAT(error_of("\n{{ raise_exception('no ' ~ 1) }}"), testing::StrEq("T: line 2: no 1"));
  EXPECT_THAT(error_of("\xFF"), testing::HasSubstr("UTF-8"));
  EXPECT_THAT(error_of("{{ 9223372036854775807 + 1 }}"), testing::HasSubstr("64 bits"));
  EXPECT_THAT(error_of("{{ strftime_now('%Y') }}"), testing::HasSubstr("no time was given"));
}

TEST(Template, FillsDatesToAWidth) {
  const auto time = jinja::parse_time("2026-01-02T03:04:05");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(jinja::strftime_text("%10a|%#a|%5d|%_5d|%05e|%5e|%-d", *time),
            "       Fri|FRI|00002|    2|00002|    2|2");
}

TEST(Template, StopsWhatDoesNotEnd) {
  uint64_t clock = 0;
  Limits limits;
  limits.thread_time_ns = [&clock] { return clock += 50'000; };  // per call
  const std::string loops =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}"
      "{% endfor %}";
  EXPECT_THAT(error_of(loops, limits), testing::HasSubstr("more than 100 ms"));
  EXPECT_THAT(error_of(loops), testing::HasSubstr("steps"));
  EXPECT_THAT(error_of("{{ range(10**9) }}"), testing::HasSubstr("Range too big"));
  EXPECT_THAT(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
              testing::HasSubstr("nested deeper than"));
  EXPECT_THAT(error_of("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
              testing::HasSubstr("nested deeper than"));
}

TEST(Template, StopsWhatGrows) {
  EXPECT_THAT(error_of("{{ 'xy' * 10**9 }}"),
              testing::HasSubstr(
                  "1000000000 times a text of 2 bytes is larger than the limit of 16777216"));
  EXPECT_THAT(error_of("{{ [1] * 10**12 }}"), testing::HasSubstr("limit"));
  EXPECT_THAT(error_of("{% set ns = namespace(s='x') %}{% for i in range(40) %}"
                       "{% set ns.s = ns.s ~ ns.s %}{% endfor %}"),
              testing::HasSubstr("larger than the limit"));
  EXPECT_THAT(error_of("{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}"),
              testing::HasSubstr("larger than the limit"));
  EXPECT_THAT(error_of("{% set ns = namespace(l=[]) %}{% for i in range(100000) %}"
                       "{% set ns.l = [ns.l] %}{% endfor %}"),
              testing::HasSubstr("nest deeper than"));
  EXPECT_THAT(error_of("{% set ns = namespace(l=[1]) %}{% for i in range(100) %}"
                       "{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l == ns.l }}"),
              testing::HasSubstr("values"));
  EXPECT_THAT(error_of("{{ '%1000000000d' % 1 }}"), testing::HasSubstr("width"));
  EXPECT_THAT(error_of("{{ 'a'.center(10**9) }}"), testing::HasSubstr("larger than the limit"));
  EXPECT_THAT(error_of("{{ 10**40 }}"), testing::HasSubstr("64 bits"));
}

TEST(Template, StopsWhatNests) {
  const auto nested = [](const std::string& open, const std::string& middle,
                         const std::string& close, int depth = 10000) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += middle;
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  EXPECT_THAT(error_of("{{ " + nested("(", "1", ")") + " }}"), testing::HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{{ " + nested("[", "", "]") + " }}"), testing::HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{{ " + nested("-", "1", "") + " }}"), testing::HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{{ x" + nested("[0]", "", "") + " }}"), testing::HasSubstr("chain"));
  EXPECT_THAT(error_of(nested("{% if 1 %}", "", "{% endif %}", 4000)),
              testing::HasSubstr("nested deeper"));
  EXPECT_THAT(error_of(nested("{% if 1 %}", "", "{% endif %}")),
              testing::HasSubstr("line 1: more than 32768 parts"));
  EXPECT_EQ(render("{{ 1" + nested("+1", "", "") + " }}"), "10001");
  EXPECT_EQ(render("{{ " + nested("not ", "1", "") + " }}"), "True");
}

TEST(Template, KeepsNoCircles) {
  // The address sanitizer would report leaks.
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns] %}x"), "x");
  EXPECT_EQ(render("{% for a in [1] %}{{ loop.changed(loop) }}{% endfor %}"), "True");
  EXPECT_EQ(render("{% set ns = namespace(f=1) %}{% macro m() %}{{ ns.f.name }}{% endmacro %}"
                   "{% set ns.f = m %}{{ m() }}"),
            "m");
}

/// Rendered text with untrusted bytes in brackets.
std::string marked(const std::string& source, const std::string& json) {
  const jinja::Text text = ChatTemplate(source, "T").render(variables_of(json), {});
  std::string out;
  for (const jinja::Text::Span& span : text.spans()) {
    const auto part = std::string(text.view().substr(span.begin, span.end - span.begin));
    out += span.foreign ? "[" + part + "]" : part;
  }
  return out;
}

TEST(Template, KnowsWhichBytesAreForeign) {
  const std::string m = R"({"m": {"role": "user", "content": " <a><b> "}})";
  EXPECT_EQ(marked("<x>{{ m.content }}<y>", m), "<x>[ <a><b> ]<y>");
  EXPECT_EQ(marked("{{ '<' + m.content|trim + '>' }}", m), "<[<a><b>]>");
  EXPECT_EQ(marked("{{ m.content.split('>')[1] ~ '|' }}", m), "[<b]|");
  EXPECT_EQ(marked("{{ ('<i>' ~ m.content)[1:6] }}", m), "i>[ <a]");
  EXPECT_EQ(marked("{{ m.content|replace('a', '!') }}", m), "[ <]![><b> ]");
  EXPECT_EQ(marked("{{ [m.content, 'z']|join('-') }}", m), "[ <a><b> ]-z");
  EXPECT_EQ(marked("{{ '%s|' % m.content }}", m), "[ <a><b> ]|");
  EXPECT_EQ(marked("{{ '{}|'.format(m.content) }}", m), "[ <a><b> ]|");
  EXPECT_EQ(marked("{{ m.content|upper ~ 'x'|upper }}", m), "[ <A><B> ]X");
  EXPECT_EQ(marked("{{ m.content|tojson }}!", m), "[\" <a><b> \"]!");
  EXPECT_EQ(marked("{{ {'k': m} }}", m), "[{'k': {'role': 'user', 'content': ' <a><b> '}}]");
  EXPECT_EQ(marked("{% set x %}<{{ m.content }}>{% endset %}{{ x }}", m), "<[ <a><b> ]>");
  EXPECT_EQ(marked("{% macro f(c) %}<{{ c }}>{% endmacro %}{{ f(m.content) }}", m), "<[ <a><b> ]>");
  EXPECT_EQ(marked("{% for c in m.content %}{{ c }}{% endfor %}", m), "[ <a><b> ]");
  EXPECT_EQ(marked("{% for k in m %}{{ k }},{% endfor %}", m), "[role],[content],");
  // Known roles may be part of a special token; other texts may not.
  EXPECT_EQ(marked("{{ '<|' + m.role + '|>' }}", m), "<|user|>");
  EXPECT_EQ(marked("{{ '<|' + m.role + '|>' }}", R"({"m": {"role": "im_end"}})"), "<|[im_end]|>");
}

TEST(Template, RefusesBadJson) {
  const auto refuses = [](const std::string& json, const std::string& text) {
    expect_error(Code::Argument, testing::HasSubstr(text),
                 [&] { (void)jinja::value_from_json(json, "case"); });
  };
  refuses("{", "case: no JSON at byte");
  refuses(std::string(100000, '['), "nests deeper");
  refuses("\"\xFF\"", "no JSON at byte");
}

}  // namespace
}  // namespace tenon
