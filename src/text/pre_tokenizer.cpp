#include "text/pre_tokenizer.h"

#include <string>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

constexpr FindMatch kGpt2[] = {find_gpt2};
constexpr FindMatch kLlama3[] = {find_llama3};
constexpr FindMatch kQwen2[] = {find_qwen2};
constexpr FindMatch kStarcoder[] = {find_digit, find_gpt2};
constexpr FindMatch kFalcon[] = {find_punctuation_run, find_gpt2, find_three_ascii_digits};
constexpr FindMatch kDeepseekLlm[] = {find_newline,          find_deepseek_letters,
                                      find_deepseek_symbols, find_trailing_space,
                                      find_deepseek_cjk,     find_digits};
constexpr FindMatch kDeepseekCoder[] = {find_newline, find_spaced_letters, find_spaced_punctuation,
                                        find_deepseek_cjk, find_digit};
// For files that name none, written before the key existed. The reading is that of llama.cpp, which
// introduced the key.
constexpr FindMatch kDefault[] = {find_punctuation_run_without_backtick, find_gpt2, find_digits,
                                  find_three_ascii_digits};

constexpr bool kWholeWords = true;
constexpr bool kAddBos = true;

constexpr PreTokenizer kPreTokenizers[] = {
    {"default", kDefault},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"mpt", kGpt2},
    {"llama-bpe", kLlama3, kWholeWords, kAddBos},
    {"llama3", kLlama3, kWholeWords, kAddBos},
    {"llama-v3", kLlama3, kWholeWords, kAddBos},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"falcon", kFalcon},
    {"starcoder", kStarcoder},
    {"refact", kStarcoder},
    {"command-r", kStarcoder},
    {"smollm", kStarcoder},
};

}  // namespace

const PreTokenizer& pre_tokenizer_of(std::string_view name) {
  const std::string_view wanted = name.empty() ? "default" : name;
  std::string known;
  for (const PreTokenizer& entry : kPreTokenizers) {
    if (entry.name == wanted) return entry;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  fail(Code::Unsupported, "tokenizer.ggml.pre: unknown pre-tokenizer {} (known: {})", quoted(name),
       known);
}

}  // namespace tenon
