#include "text/bpe/pre_tokenizer.h"

#include <iterator>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/utf8.h"

// Text shared by many patterns.
#define TENON_ANY_CASE_ENDINGS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define TENON_LETTER_WORDS R"([^\r\n\p{L}\p{N}]?\p{L}+)"
#define TENON_SIGNS_TO_LINE_END R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define TENON_SIGNS_TO_SLASH R"( ?[^\s\p{L}\p{N}]+[\r\n/]*)"
#define TENON_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define TENON_UPPER R"(\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M})"
#define TENON_LOWER R"(\p{Ll}\p{Lm}\p{Lo}\p{M})"
// Words of capitals, then small letters: HelloWorld becomes two.
#define TENON_CASED_WORDS(ENDINGS)                                    \
  R"([^\r\n\p{L}\p{N}]?[)" TENON_UPPER "]*[" TENON_LOWER "]+" ENDINGS \
  R"(|[^\r\n\p{L}\p{N}]?[)" TENON_UPPER "]+[" TENON_LOWER "]*" ENDINGS
#define TENON_GPT2 R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"
#define TENON_ASCII_SIGN_WORDS R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
#define TENON_SIGN_AND_MARK_WORDS \
  TENON_ASCII_SIGN_WORDS          \
  R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" TENON_SPACES

namespace tenon {
namespace {

using Text = std::string_view;

constexpr Text kGpt2[] = {TENON_GPT2};
constexpr Text kLlama3[] = {TENON_ANY_CASE_ENDINGS "|" TENON_LETTER_WORDS
                                                   R"(|\p{N}{1,3}|)" TENON_SIGNS_TO_LINE_END
                                                   "|" TENON_SPACES};
constexpr Text kQwen2[] = {TENON_ANY_CASE_ENDINGS "|" TENON_LETTER_WORDS
                                                  R"(|\p{N}|)" TENON_SIGNS_TO_LINE_END
                                                  "|" TENON_SPACES};
constexpr Text kQwen35[] = {
    TENON_ANY_CASE_ENDINGS
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" TENON_SPACES};
// qwen2 without the English endings: Turkish words keep theirs.
constexpr Text kUfakzeka[] = {TENON_LETTER_WORDS R"(|\p{N}|)" TENON_SIGNS_TO_LINE_END
                                                 "|" TENON_SPACES};
constexpr Text kStarcoder[] = {R"(\p{N})", TENON_GPT2};
constexpr Text kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", TENON_GPT2, R"([0-9][0-9][0-9])"};
// For files without the key, written before it existed. Read as in llama.cpp, which introduced the
// key.
constexpr Text kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", TENON_GPT2, R"(\p{N}+)",
                             R"([0-9][0-9][0-9])"};
// The letters are those of deepseek-llm's published tokenizer.json, in order.
constexpr Text kDeepseekLlm[] = {
    R"([\r\n])",
    R"(\s?[)"
    R"(\x{41}-\x{5A}\x{61}-\x{7A}\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA})"
    R"(\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377})"
    R"(\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5})"
    R"(\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15})"
    R"(\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59})"
    R"(\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107})"
    R"(\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128})"
    R"(\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149})"
    R"(\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE})"
    R"(\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F})"
    R"(\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06})"
    R"(\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2})"
    R"(\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)",
    R"(\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+)",
    R"(\s+$)",
    R"([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)",
    R"(\p{N}+)"};
constexpr Text kDeepseekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                   R"([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)", R"(\p{N})"};
constexpr Text kDeepseekV3[] = {R"(\p{N}{1,3})", R"([\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+)",
                                TENON_SIGN_AND_MARK_WORDS};
constexpr Text kSpark25[] = {R"(\p{N}{1,3})", R"([\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+)",
                             TENON_ASCII_SIGN_WORDS
                             R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n])"
                             R"(|\s+(?!\S)|\s+)",
                             R"(\p{N})"};
constexpr Text kYoutu[] = {
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019})"
    R"(\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}])"
    R"(+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
    TENON_CASED_WORDS(TENON_ANY_CASE_ENDINGS "?") R"(|\p{N}|)" TENON_SIGNS_TO_SLASH
                                                  "|" TENON_SPACES};
#define TENON_BLOOM_WORDS R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)"
constexpr Text kBloom[] = {TENON_BLOOM_WORDS};
constexpr Text kViking[] = {TENON_BLOOM_WORDS, R"(\p{N})"};
constexpr Text kTekken[] = {TENON_CASED_WORDS("") R"(|\p{N}|)" TENON_SIGNS_TO_SLASH
                                                  "|" TENON_SPACES};
constexpr Text kGpt4o[] = {TENON_CASED_WORDS(
    TENON_ANY_CASE_ENDINGS "?") R"(|\p{N}{1,3}|)" TENON_SIGNS_TO_SLASH "|" TENON_SPACES};
constexpr Text kTinyAya[] = {
    R"(\d{1,3}(?=(?:\d{3})*\b))",
    TENON_CASED_WORDS(TENON_ANY_CASE_ENDINGS "?") R"(|\p{N}{1,3}|)" TENON_SIGNS_TO_SLASH
                                                  "|" TENON_SPACES};
constexpr Text kChameleon[] = {R"(<sentinel:[0-9]+>)",    R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)",
                               R"(([\t\n]|    |  ))",     R"(\p{N})",
                               R"([\p{P}!-/:-@\[-`{-~])", TENON_GPT2};
// Kimi's published pattern excludes Han from the sets of cased letters.
constexpr Text kKimiK2[] = {
    R"(\p{Han}+|[^\r\n\p{L}\p{N}]?[)" TENON_UPPER R"(&&[^\p{Han}]]*[)" TENON_LOWER
    R"(&&[^\p{Han}]]+)" TENON_ANY_CASE_ENDINGS R"(?|[^\r\n\p{L}\p{N}]?[)" TENON_UPPER
    R"(&&[^\p{Han}]]+[)" TENON_LOWER R"(&&[^\p{Han}]]*)" TENON_ANY_CASE_ENDINGS
    R"(?|\p{N}{1,3}|)" TENON_SIGNS_TO_LINE_END "|" TENON_SPACES};
constexpr Text kSuperBpe[] = {R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"};
constexpr Text kBailing[] = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n])"
    R"(|\s+(?!\S)|\s+)"};
constexpr Text kSeedCoder[] = {TENON_ANY_CASE_ENDINGS
                               "|" TENON_LETTER_WORDS
                               R"(|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|)" TENON_SPACES};
constexpr Text kJais2[] = {
    TENON_ANY_CASE_ENDINGS
    "|" TENON_LETTER_WORDS R"(|\p{N}{1,3}|)" TENON_SIGNS_TO_LINE_END
    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S))"
    R"(|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"};
// Groups numbers by threes from their end; cuts groups inside runs of digits, which no later
// pattern joins again.
constexpr Text kAfmoe[] = {
    R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))",
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})"
    R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF})"
    R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)",
    TENON_SIGN_AND_MARK_WORDS};
constexpr Text kLaguna[] = {R"([^\n]+|[\n]+)", TENON_ANY_CASE_ENDINGS
                            "|" TENON_LETTER_WORDS R"(|\p{N}|)" TENON_SIGNS_TO_LINE_END
                            "|" TENON_SPACES};
constexpr Text kExaoneMoe[] = {TENON_ANY_CASE_ENDINGS
                               R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N})"
                               R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr Text kLines[] = {R"([^\n]+|[\n]+)"};
constexpr Text kMiniCpm5[] = {R"(\p{N}{1,3})", TENON_ANY_CASE_ENDINGS
                              "|" TENON_LETTER_WORDS R"(|\p{N}+|)" TENON_SIGNS_TO_LINE_END
                              "|" TENON_SPACES};
constexpr Text kNotSpaces[] = {R"(\S+)"};

/// Flags of a pre-tokenizer besides its patterns.
enum : unsigned { kWhole = 1, kBos = 2, kCharacters = 4, kDropsSpaces = 8 };

constexpr PreTokenizer entry(Text name, std::span<const Text> patterns, unsigned flags = 0) {
  return {name,
          patterns,
          (flags & kWhole) != 0,
          (flags & kBos) != 0,
          (flags & kCharacters) != 0,
          (flags & kDropsSpaces) != 0};
}

constexpr PreTokenizer kPreTokenizers[] = {
    entry("default", kDefault),
    entry("gpt-2", kGpt2),
    entry("phi-2", kGpt2),
    entry("mpt", kGpt2),
    entry("olmo", kGpt2),
    entry("jais", kGpt2),
    entry("jina-es", kGpt2),
    entry("jina-de", kGpt2),
    entry("jina-v2-es", kGpt2),
    entry("jina-v2-de", kGpt2),
    entry("jina-v1-en", kGpt2),
    entry("jina-v2-code", kGpt2),
    entry("roberta-bpe", kGpt2),
    entry("gigachat", kGpt2),
    entry("a.x-4.0", kGpt2),
    entry("mellum", kGpt2),
    entry("modern-bert", kGpt2),
    entry("exaone4", kGpt2),
    entry("trillion", kGpt2),
    entry("granite-docling", kGpt2),
    entry("llama-bpe", kLlama3, kWhole | kBos),
    entry("llama3", kLlama3, kWhole | kBos),
    entry("llama-v3", kLlama3, kWhole | kBos),
    entry("falcon3", kLlama3, kWhole | kBos),
    entry("falcon-h1", kLlama3, kWhole | kBos),
    entry("pixtral", kLlama3, kWhole | kBos),
    entry("midm-2.0", kLlama3, kWhole | kBos),
    entry("lfm2", kLlama3, kWhole | kBos),
    entry("jina-v5-nano", kLlama3, kWhole | kBos),
    entry("dbrx", kLlama3),
    entry("smaug-bpe", kLlama3),
    entry("glm4", kLlama3),
    entry("chatglm-bpe", kLlama3),
    entry("minicpm5", kMiniCpm5, kWhole),
    entry("qwen2", kQwen2),
    entry("deepseek-r1-qwen", kQwen2),
    entry("kormo", kQwen2),
    entry("f2llmv2", kQwen2),
    entry("megrez", kQwen2),
    entry("stablelm2", kQwen2),
    entry("hunyuan", kQwen2),
    entry("solar-open", kQwen2),
    entry("grok-2", kQwen2),
    entry("qwen35", kQwen35),
    entry("ufakzeka", kUfakzeka),
    entry("deepseek-llm", kDeepseekLlm),
    entry("deepseek-coder", kDeepseekCoder),
    entry("deepseek-v3", kDeepseekV3),
    entry("hunyuan-dense", kDeepseekV3),
    entry("joyai-llm", kDeepseekV3),
    entry("hy_v4", kDeepseekV3),
    entry("spark2_5", kSpark25),
    entry("youtu", kYoutu, kWhole),
    entry("falcon", kFalcon),
    entry("starcoder", kStarcoder),
    entry("refact", kStarcoder),
    entry("command-r", kStarcoder),
    entry("smollm", kStarcoder),
    entry("codeshell", kStarcoder),
    entry("exaone", kStarcoder),
    entry("minerva-7b", kStarcoder),
    entry("mellum2", kStarcoder),
    entry("poro-chat", kBloom),
    entry("bloom", kBloom),
    entry("gpt3-finnish", kBloom),
    entry("viking", kViking),
    entry("tekken", kTekken, kWhole | kBos),
    entry("chameleon", kChameleon, kBos),
    entry("gpt-4o", kGpt4o),
    entry("llama4", kGpt4o),
    entry("kanana2", kGpt4o),
    entry("talkie", kGpt4o),
    entry("minimax-m2", kGpt4o),
    entry("granite-embed-multi-97m", kGpt4o, kWhole),
    entry("tiny_aya", kTinyAya),
    entry("cohere2moe", kTinyAya),
    entry("kimi-k2", kKimiK2),
    entry("superbpe", kSuperBpe),
    entry("bailingmoe", kBailing),
    entry("bailingmoe2", kBailing),
    entry("llada-moe", kBailing),
    entry("seed-coder", kSeedCoder),
    entry("jais-2", kJais2),
    entry("afmoe", kAfmoe),
    entry("laguna", kLaguna),
    entry("exaone-moe", kExaoneMoe),
    entry("gemma4", kLines, kCharacters | kBos),
    entry("granite-embed-multi-311m", kLines, kCharacters | kBos),
    entry("sarvam-moe", kLines, kCharacters),
    entry("whitespace", kNotSpaces, kCharacters | kDropsSpaces),
};

}  // namespace

std::span<const PreTokenizer> pre_tokenizers() { return kPreTokenizers; }

const PreTokenizer& pre_tokenizer_of(std::string_view name) {
  const std::string_view wanted = name.empty() ? "default" : name;
  NearestName nearest(wanted);
  for (const PreTokenizer& known : kPreTokenizers) {
    if (known.name == wanted) return known;
    nearest.consider(known.name);
  }
  fail(Code::Unsupported, "tokenizer.ggml.pre: unknown pre-tokenizer {}; {} are known{}",
       quoted(name), std::size(kPreTokenizers), nearest.hint());
}

SplitPatterns compile_patterns(std::span<const std::string_view> patterns) {
  SplitPatterns out{.patterns = {patterns.begin(), patterns.end()}};
  for (size_t i = 0; i < out.patterns.size(); ++i) {
    const auto bit = static_cast<uint8_t>(1u << std::min<size_t>(i, 7));
    for (size_t byte = 0; byte < out.beginnings.size(); ++byte) {
      const bool may = out.patterns[i].may_begin(static_cast<uint8_t>(byte));
      out.beginnings[byte] |= may ? bit : uint8_t{0};
    }
  }
  return out;
}

}  // namespace tenon
