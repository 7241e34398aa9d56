// Any bytes as a vocabulary and a text: building the tokenizer, encoding, decoding and streaming
// may throw Error and nothing else, and what they return must hold together.
//
// The input is lines, so that seeds can be read and written by hand:
//   m NAME   tokenizer.ggml.model          p NAME   tokenizer.ggml.pre       n NAME  general.name
//   P N      the name in place N of the table of pre-tokenizers
//   B        the 256 bytes as tokens       S        the 256 tokens <0xNN>
//   t T TEXT a token of type T (a digit) with the score -(its number)        g TEXT  a merge
//   c HEX    tokenizer.ggml.precompiled_charsmap, where R is a run of 64 zero bytes
//   b N, e N, u N, o N, O N, q N, s N   bos, eos, unknown, eot, eom, padding, separator ids
//   + F  flags: b, e, s, p, r, k, x, l, a (true) or in capitals (false)
//   x    all that follows is the text
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/fuzz/tokenizer_checks.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/tokenizer/stream_decoder.h"
#include "text/tokenizer/tokenizer.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

void add_token(Vocabulary& v, std::string spelling, TokenType type) {
  v.scores.push_back(-static_cast<float>(v.tokens.size()));
  v.tokens.push_back(std::move(spelling));
  v.types.push_back(type);
}

void add_bytes(Vocabulary& v, bool sentencepiece) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::string spelling;
    if (sentencepiece) {
      spelling = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    } else {
      utf8_append(byte_to_letter(static_cast<uint8_t>(byte)), spelling);
    }
    add_token(v, spelling, sentencepiece ? TokenType::Byte : TokenType::Normal);
  }
}

/// Half of a byte at a time; what is no digit is nothing.
std::string from_hex(std::string_view digits) {
  std::string out;
  bool half = false;
  for (const char c : digits) {
    if (c == 'R') out.append(64, '\0');
    const size_t value = std::string_view("0123456789ABCDEF").find(c);
    if (value == std::string_view::npos) continue;
    if (half) {
      out.back() = static_cast<char>(out.back() << 4 | static_cast<char>(value));
    } else {
      out.push_back(static_cast<char>(value));
    }
    half = !half;
  }
  return out;
}

void set_flag(Vocabulary& v, char flag) {
  struct Named {
    char name;
    std::optional<bool>& value;
  };
  const Named flags[] = {
      {'b', v.add_bos},          {'e', v.add_eos},         {'s', v.add_sep},
      {'p', v.add_space_prefix}, {'l', v.lowercase},       {'r', v.remove_extra_spaces},
      {'k', v.escape_spaces},    {'x', v.space_as_suffix}, {'a', v.strip_accents}};
  for (const Named& known : flags) {
    if ((flag | 0x20) == known.name) known.value = (flag & 0x20) != 0;
  }
}

void read_line(std::string_view line, Vocabulary& v) {
  const char kind = line.empty() ? ' ' : line[0];
  const std::string rest(line.substr(std::min<size_t>(2, line.size())));
  const auto number = [&rest] { return std::strtoll(rest.c_str(), nullptr, 10); };
  switch (kind) {
    case 'm':
      v.model = rest;
      break;
    case 'p':
      v.pre = rest;
      break;
    case 'P':
      v.pre = pre_tokenizers()[static_cast<size_t>(number()) % pre_tokenizers().size()].name;
      break;
    case 'n':
      v.model_name = rest;
      break;
    case 'B':
      add_bytes(v, false);
      break;
    case 'S':
      add_bytes(v, true);
      break;
    case 'g':
      v.merges.push_back(rest);
      break;
    case 'c':
      v.charsmap = from_hex(rest);
      break;
    case 'b':
      v.bos = number();
      break;
    case 'e':
      v.eos = number();
      break;
    case 'u':
      v.unknown = number();
      break;
    case 'o':
      v.eot = number();
      break;
    case 'O':
      v.eom = number();
      break;
    case 'q':
      v.padding = number();
      break;
    case 's':
      v.separator = number();
      break;
    case '+':
      for (const char flag : rest) set_flag(v, flag);
      break;
    case 't':
      if (rest.size() >= 2) add_token(v, rest.substr(2), static_cast<TokenType>(rest[0] - '0'));
      break;
    default:
      break;
  }
}

void check_round(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  const std::vector<Token> tokens = checked_encode(tokenizer, text, options);
  StreamDecoder stream(tokenizer);
  std::string streamed;
  for (const Token token : tokens) {
    const std::string_view part = stream.push(token);
    require(utf8_valid_prefix(part) == part.size());
    streamed += part;
  }
  streamed += stream.finish();
  std::string whole;
  utf8_append_repaired(tokenizer.decode(tokens, {.strip_space_prefix = false}), whole);
  require(streamed == whole);
  (void)tokenizer.decode(tokens, {.render_special = true});
}

void run(std::string_view input) {
  Vocabulary vocabulary;
  while (!input.empty()) {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    if (line == "x") break;
    read_line(line, vocabulary);
  }
  const auto tokenizer = make_tokenizer(std::move(vocabulary));
  check_round(*tokenizer, input, {});
  check_round(*tokenizer, input, {.add_special = true, .parse_special = true});
  encode_in_parts(*tokenizer, input);
}

}  // namespace
}  // namespace tenon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tenon::run({reinterpret_cast<const char*>(data), size});
  } catch (const tenon::Error&) {
  }
  return 0;
}
