// Hostile templates: each ends soon after its time limit, whatever an operation costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/system.h"
#include "tests/base/processor_time.h"
#include "text/template/chat_template.h"
#include "text/template/json_values.h"

namespace tenon {
namespace {

constexpr double kMostSecondsOfLimits = 0.25;

/// Renders within 100 ms of processor time; returns the error's message, if any.
std::string outcome(const std::string& source) {
  const std::shared_ptr<System> system = System::real();
  jinja::Limits limits;
  limits.thread_time_ns = [system] { return system->thread_time_ns(); };
  ChatTemplate::Variables variables{{"m", jinja::value_from_json("\"u\"", "m")}};
  std::string message;
  const ChatTemplate chat(source, "T");
  const double seconds = processor_seconds(
      [&] {
        try {
          (void)chat.render(variables, limits);
          message = "rendered";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::Template) << source.substr(0, 200);
          message = error.what();
        }
      },
      kMostSecondsOfLimits);
  EXPECT_LE(seconds, kMostSecondsOfLimits) << source.substr(0, 300);
  EXPECT_LE(message.size(), 1100u);
  return message;
}

std::string looped(const std::string& expression) {
  return "{% for i in range(100000) %}{% if " + expression + " %}{% endif %}{% endfor %}";
}

/// Texts of 8 MB that differ only at their ends.
std::string long_texts(const std::string& expression) {
  return "{% set b = ('a' * 1000) * 8000 %}{% set c = b[1:] + 'b' %}" + looped(expression);
}

/// Lists of a million shared values, equal but not identical; tuples of such.
std::string wide_lists(const std::string& expression) {
  return "{% set ns = namespace(l=[1], m=[1], t=(1,), u=(1,)) %}{% for i in range(20) %}"
         "{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}"
         "{% set ns.t = (ns.t, ns.t) %}{% set ns.u = (ns.u, ns.u) %}{% endfor %}"
         "{% set l = ns.l %}{% set m = ns.m %}{% set t = ns.t %}{% set u = ns.u %}" +
         looped(expression);
}

/// Parses; returns the error's message, if any.
std::string parsed(const std::string& source) {
  std::string message = "parsed";
  const double seconds = processor_seconds(
      [&] {
        try {
          const ChatTemplate chat(source, "T");
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::Template) << source.substr(0, 200);
          message = error.what();
        }
      },
      kMostSecondsOfLimits);
  EXPECT_LE(seconds, kMostSecondsOfLimits) << source.substr(0, 100);
  return message;
}

std::string copies(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(TemplateLimits, ManyPartsAreRefusedWithTheirLine) {
  for (const std::string& source :
       {"a\n{{ 1" + copies("+1", 500'000) + " }}", "a\n{{ [" + copies("1,", 500'000) + "] }}",
        "a\n" + copies("{{a}}", 200'000), "a\n" + copies("{%set a=1%}", 90'000),
        "a\n{% set " + copies("a,", 500'000) + " = 1 %}",
        "a\n{{ " + copies("'a' ", 200'000) + "}}"}) {
    EXPECT_THAT(parsed(source), ::testing::HasSubstr("T: line 2: more than 32768 parts"));
  }
  // The newline after each tag counts, too.
  EXPECT_THAT(parsed(copies("{{ a }}\n", 20'000)),
              ::testing::HasSubstr("line 8193: more than 32768 parts"));
}

TEST(TemplateLimits, LargeTemplatesAreNotRefused) {
  // 32768 tokens: the tags and brackets around 16382 items with their commas.
  EXPECT_EQ(parsed("{{ [" + copies("1,", 16'382) + "] }}"), "parsed");
  EXPECT_THAT(parsed("{{ [" + copies("1,", 16'382) + "1] }}"), ::testing::HasSubstr("more than"));
  EXPECT_EQ(parsed(copies("{{ a }}b\n", 8'000)), "parsed");
  EXPECT_EQ(parsed(std::string(1'000'000, 'x')), "parsed");
  EXPECT_EQ(parsed("{{ '" + std::string(1'000'000, 'x') + "' }}"), "parsed");
  // Comments do not count, nor does the text that they split.
  EXPECT_EQ(parsed(copies("a{##}", 200'000)), "parsed");
}

TEST(TemplateLimits, SearchesAreNotTheProductOfTheLengths) {
  const std::string texts =
      "{% set b = ('a' * 1000) * 16000 %}{% set n = ('a' * 1000) * 8000 + 'b' %}"
      "{% set r = 'b' + ('a' * 1000) * 8000 %}";
  for (const char* search :
       {"n in b", "b.find(n)", "b.count(n)", "b.replace(n, '')", "b|replace(n, '')", "b.split(n)",
        "b.partition(n)", "b.rfind(r)", "b.rsplit(r)", "b.rpartition(r)",
        "b.strip(('b' * 1000) * 8000 + 'a')", "b|trim(('b' * 1000) * 8000 + 'a')"}) {
    (void)outcome(texts + "{% set x = " + search + " %}");
  }
}

TEST(TemplateLimits, OperationsOnLongTextsCount) {
  for (const char* operation : {"b == c",
                                "b < c",
                                "b|length",
                                "b.strip('a')",
                                "b.zfill(3)",
                                "b.isidentifier()",
                                "b.istitle()",
                                "b|float",
                                "b.lstrip('b')",
                                "b.expandtabs()",
                                "b|truncate",
                                "'%s' % b",
                                "'{}'.format(b)",
                                "b.center(3)",
                                "{}[b]",
                                "1|attr(b)",
                                "[b, c]|max",
                                "[b, c]|sort",
                                "[b, c]|unique|list",
                                "range(1)|map(attribute=b)",
                                "[1]|sort(attribute=b)",
                                "(b,) == (c,)",
                                "{(b,): 1}.get((c,))",
                                "loop.changed(b if i % 2 else c)",
                                "b is lt c"}) {
    EXPECT_THAT(outcome(long_texts(operation)), ::testing::HasSubstr("more than")) << operation;
  }
}

TEST(TemplateLimits, ComparisonsOfWideValuesCount) {
  for (const char* comparison :
       {"l == m", "l < m", "l is lt m", "l is eq m", "l in [m]", "[l, m]|sort",
        "loop.changed(l if i % 2 else m)", "{'a': l} == {'a': m}", "{}.get(t)", "t in {}", "{t: 1}",
        "dict([(t, 1)])", "{t: 1}.get(u)", "t is filter", "[t, u]|unique|list"}) {
    EXPECT_THAT(outcome(wide_lists(comparison)), ::testing::HasSubstr("more than")) << comparison;
  }
}

TEST(TemplateLimits, NamesAndArgumentsCount) {
  const auto names = [](int count, const std::string& after) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i == 0 ? "k" : ",k") + std::to_string(i) + after;
    return out;
  };
  EXPECT_THAT(outcome("{% macro f(" + names(5'000, "") + ") %}{% endmacro %}" +
                      looped("f(" + names(5'000, "=1") + ")")),
              ::testing::HasSubstr("more than"));
  EXPECT_THAT(outcome("{% macro f(" + names(5'000, "=1") + ") %}{% endmacro %}" + looped("f()")),
              ::testing::HasSubstr("more than"));
  EXPECT_THAT(outcome("{% set d = dict(range(100000)|map('string')|batch(2)) %}"
                      "{% macro f() %}{{ kwargs }}{% endmacro %}" +
                      looped("f(**d)")),
              ::testing::HasSubstr("more than"));
  EXPECT_THAT(outcome("{% set ns = namespace(dict(range(100000)|map('string')|batch(2))) %}" +
                      looped("ns.none")),
              ::testing::HasSubstr("more than"));
  EXPECT_THAT(outcome("{{ [1]|map(attribute='.' * 1000000) }}"), ::testing::HasSubstr("a path of"));
  EXPECT_THAT(outcome("{{ [1]|sort(attribute=',' * 1000000) }}"),
              ::testing::HasSubstr("attributes"));
}

TEST(TemplateLimits, LinesAreWrappedInLinearTime) {
  for (const char* line : {"'-' * 4000000", "'a-' * 2000000", "'!--' * 1000000", "'a' * 4000000"}) {
    (void)outcome("{{ (" + std::string(line) + ")|wordwrap(10) }}");
  }
  EXPECT_THAT(outcome("{{ (('a-' * 1000) * 3000)|wordwrap }}"), ::testing::HasSubstr("more than"));
}

TEST(TemplateLimits, MessagesAndMarksTakeLittleRoom) {
  // Messages hold the beginning of a text and end with a whole character.
  EXPECT_THAT(outcome("{{ raise_exception('x' + '\xC3\xA9' * 100000) }}"),
              ::testing::EndsWith("\xC3\xA9"));
  EXPECT_THAT(outcome("{{ ('1' * 1000000)|int }}"), ::testing::HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(outcome("{{ {}['a' * 1000000].x }}"), ::testing::HasSubstr("has no attribute 'aaa"));
  // Each byte has another origin than the byte before.
  EXPECT_THAT(outcome("{{ ('a' * 2000000).replace('a', 'b' + m) }}"),
              ::testing::HasSubstr("more than"));
}

}  // namespace
}  // namespace tenon
