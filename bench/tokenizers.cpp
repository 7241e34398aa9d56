// How fast texts become tokens: bench_tokenizers TEXT VOCABULARY.gguf[:PRE]... [flags of Google
// Benchmark]. With :PRE the byte-level BPE of the vocabulary is used with that pre-tokenizer.
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/text/gguf_vocabulary.h"
#include "text/tokenizer.h"

namespace tenon {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::unique_ptr<const Tokenizer> load(std::string argument) {
  const size_t colon = argument.rfind(':');
  std::string pre;
  if (colon != std::string::npos) {
    pre = argument.substr(colon + 1);
    argument.resize(colon);
  }
  Vocabulary vocabulary = testing::read_gguf_vocabulary(argument);
  if (!pre.empty()) vocabulary.pre = pre;
  return make_tokenizer(std::move(vocabulary));
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
