// Any bytes as a tokenizer.json and a text: reading, encoding and decoding may throw Error and
// nothing else, and what they return must hold together.
//
// What stands after the first line "x" is the text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/fuzz/tokenizer_checks.h"
#include "text/tokenizer/stream_decoder.h"
#include "text/tokenizer_json/json_tokenizer.h"

namespace tenon {
namespace {

void check_round(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  const std::vector<Token> tokens = checked_encode(tokenizer, text, options);
  StreamDecoder stream(tokenizer);
  for (const Token token : tokens) (void)stream.push(token);
  (void)stream.finish();
  (void)tokenizer.decode(tokens);
  (void)tokenizer.decode(tokens, {.render_special = true});
}

void run(std::string_view input) {
  constexpr std::string_view kBorder = "\nx\n";
  const size_t border = input.find(kBorder);
  const std::string_view json = input.substr(0, border);
  const std::string_view text =
      border == std::string_view::npos ? "the text" : input.substr(border + kBorder.size());
  const auto tokenizer = make_json_tokenizer(json, "input");
  check_round(*tokenizer, text, {});
  check_round(*tokenizer, text, {.add_special = true, .parse_special = true});
  encode_in_parts(*tokenizer, text);
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
