// Speed of tokenizers: bench_tokenizers TEXT VOCABULARY.gguf[:PRE]... [flags of Google Benchmark].
// :PRE selects the pre-tokenizer of the vocabulary's byte-level BPE. A vocabulary may be a
// tokenizer.json. bench_tokenizers --growth=BYTES VOCABULARY... prints how much longer hostile
// texts take at ten times BYTES.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/text/gguf_vocabulary.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer_json/json_tokenizer.h"

namespace tenon {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<const Tokenizer> load(std::string argument) {
  if (argument.ends_with(".json")) return make_json_tokenizer(read_file(argument), argument);
  const size_t colon = argument.rfind(':');
  std::string pre;
  if (colon != std::string::npos) {
    pre = argument.substr(colon + 1);
    argument.resize(colon);
  }
  Vocabulary vocabulary = read_gguf_vocabulary(argument);
  if (!pre.empty()) vocabulary.pre = pre;
  return make_tokenizer(std::move(vocabulary));
}

/// Hostile texts: a repeated unit, or random characters.
struct Kind {
  const char* name;
  std::vector<std::string> units;
};

std::vector<std::string> random_bytes() {
  std::vector<std::string> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back({static_cast<char>(byte)});
  return bytes;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {
      {"one letter", {"o"}},
      {"spaces", {" "}},
      {"line ends", {"\n"}},
      {"one digit", {"7"}},
      {"digits", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
      {"letters", {"e", "t", "a", "o", "i", "n", "s", "h", "r", "d", "l", "u"}},
      {"punctuation", {".", ",", "!", "?", "-", "'"}},
      {"Chinese", {"\u7684", "\u4E00", "\u662F", "\u5728", "\u4E0D", "\u4E86", "\u6709"}},
      {"one Chinese", {"\u4E00"}},
      {"families", {"\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466"}},
      {"marks", {"\u0301"}},
      {"right to left", {"\u200F\u05D0"}},
      {"no letters", {"\x01", "\x7F"}},
      {"half marks", {"<|im_start"}},
      {"random bytes", random_bytes()},
      {"ill-formed", {"\xC3", "\xFF", "a"}},
      {"long words", {std::string(200, 'e') + "tion "}},
      {"brackets", {">  </"}},
      {"words", {"the ", "quick ", "brown ", "fox, ", "jumps! "}},
  };
  return kKinds;
}

std::string text_of(const Kind& kind, size_t bytes) {
  std::string text;
  text.reserve(bytes + 32);
  uint32_t state = 1;
  while (text.size() < bytes) {
    state = state * 1664525 + 1013904223;
    text += kind.units[(state >> 16) % kind.units.size()];
  }
  return text;
}

double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  const std::clock_t begin = std::clock();  // processor time, which excludes other processes
  benchmark::DoNotOptimize(tokenizer.encode(text).size());
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void show_growth(const Tokenizer& tokenizer, const char* name, size_t bytes) {
  for (const Kind& kind : kinds()) {
    const std::string short_text = text_of(kind, bytes);
    const std::string long_text = text_of(kind, 10 * bytes);
    double small = 1e9;
    double large = 1e9;
    for (int round = 0; round < 4; ++round) {  // alternating, since machines have slow minutes
      for (int i = 0; i < 4; ++i) {
        small = std::min(small, seconds_to_encode(tokenizer, short_text));
      }
      large = std::min(large, seconds_to_encode(tokenizer, long_text));
    }
    std::printf("%-40s %-14s %8.2f ms %9.2f ms  %5.1f times  %6.1f MB/s\n", name, kind.name,
                small * 1e3, large * 1e3, large / small, static_cast<double>(bytes) * 1e-5 / large);
  }
}

void encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  size_t tokens = 0;
  for (auto _ : state) {
    tokens = tokenizer.encode(text).size();
    benchmark::DoNotOptimize(tokens);
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
  state.counters["vocabulary"] = static_cast<double>(tokenizer.size());
  state.counters["bytes/token"] = static_cast<double>(text.size()) / static_cast<double>(tokens);
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  constexpr std::string_view kGrowth = "--growth=";
  if (argc > 2 && std::string_view(argv[1]).starts_with(kGrowth)) {
    const size_t bytes = std::stoul(argv[1] + kGrowth.size());
    for (int i = 2; i < argc; ++i) tenon::show_growth(*tenon::load(argv[i]), argv[i], bytes);
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (argc < 3) {
    std::fputs("bench_tokenizers TEXT VOCABULARY.gguf[:PRE]...\n", stderr);
    return 2;
  }
  const std::string text = tenon::read_file(argv[1]);
  std::vector<std::unique_ptr<const tenon::Tokenizer>> tokenizers;
  for (int i = 2; i < argc; ++i) {
    tokenizers.push_back(tenon::load(argv[i]));
    benchmark::RegisterBenchmark(
        argv[i], [&text, tokenizer = tokenizers.back().get()](benchmark::State& state) {
          tenon::encode(state, *tokenizer, text);
        });
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
