// Processor time of answer grammars for many tools, each with formats, a pattern, lengths and
// bounds: for the first compilation, for a list with a new tool, and for a known list.
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench bench_tool_lists
//   build-bench/bin/bench_tool_lists [TOOLS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "text/chat/chat.h"

namespace {

using namespace tenon;

constexpr int kRounds = 7;

double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

std::string parameters(int n, bool open) {
  const std::string own = std::to_string(n);
  return R"({"type": "object", "properties": {
      "id": {"type": "string", "format": "uuid"},
      "mail": {"type": "string", "format": "email"},
      "since)" +
         own + R"(": {"type": "string", "format": "date-time"},
      "link": {"type": "string", "format": "uri", "maxLength": 2048},
      "slug": {"type": "string", "pattern": "^[a-z]+-)" +
         own + R"([a-z0-9-]*$", "maxLength": )" + std::to_string(100 + n) + R"(},
      "title": {"type": "string", "minLength": 1, "maxLength": )" +
         std::to_string(200 + n) + R"(},
      "page": {"type": "integer", "minimum": 1, "maximum": )" +
         std::to_string(1000 + n) + R"(},
      "ratio": {"type": "number", "minimum": 0, "maximum": 1},
      "tags": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 10},
      "order": {"enum": ["up", "down", "none"]}},
      "required": ["id", "page"])" +
         (open ? "}" : R"(, "additionalProperties": false})");
}

std::string conversation(int count, int changed, bool open) {
  std::string tools;
  for (int i = 0; i < count; ++i) {
    const int n = i == changed ? count + 1 + i : i;
    tools += (i > 0 ? "," : "") + (R"({"function": {"name": "tool_)" + std::to_string(n) +
                                   R"(", "parameters": )" + parameters(n, open) + "}}");
  }
  return R"({"messages": [], "tools": [)" + tools + "]}";
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

void measure(const char* format, int count, bool open) {
  std::vector<double> first, one_new, known;
  size_t bytes = 0;
  const auto time = [](const Chat& chat, const ChatPrompt& prompt, std::vector<double>& into) {
    const double begin = processor_ms();
    const auto grammar = chat.answer_grammar(prompt);
    into.push_back(processor_ms() - begin);
    return grammar->size_bytes();
  };
  for (int round = 0; round < kRounds; ++round) {
    const Chat chat({.source = "{% if add_generation_prompt %}{% endif %}{# [ARGS] #}",
                     .source_name = "t",
                     .format = format,
                     .raw = true},
                    nullptr);
    const ChatPrompt given = chat.render(conversation(count, -1, open));
    const ChatPrompt changed = chat.render(conversation(count, count / 2, open));
    bytes = time(chat, given, first);
    (void)time(chat, changed, one_new);
    (void)time(chat, changed, known);
  }
  std::printf(
      "%-12s %4d tools, %s objects: first %7.1f ms, one new %7.1f ms, known %6.2f ms, %zu KiB\n",
      format, count, open ? "open" : "shut", median(first), median(one_new), median(known),
      bytes >> 10);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 200;
  for (const char* format : {"hermes", "llama3", "qwen3-coder", "gemma-4"}) {
    for (const bool open : {false, true}) measure(format, count, open);
  }
}
