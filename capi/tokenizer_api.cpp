// tenon_tokenizer_*.
#include <string>
#include <vector>

#include "fence.h"
#include "host.h"
#include "model/tokenizer_file.h"
#include "tokenizer_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

uint32_t attributes_of(const tenon::Tokenizer& tokenizer, tenon_token token) {
  uint32_t attributes = 0;
  if (tokenizer.is_end(token)) attributes |= TENON_TOKEN_END;
  if (tokenizer.is_control(token)) attributes |= TENON_TOKEN_CONTROL;
  switch (tokenizer.type(token)) {
    case tenon::TokenType::UserDefined:
      return attributes | TENON_TOKEN_USER_DEFINED;
    case tenon::TokenType::Byte:
      return attributes | TENON_TOKEN_BYTE;
    case tenon::TokenType::Unknown:
      return attributes | TENON_TOKEN_UNKNOWN;
    case tenon::TokenType::Unused:
      return attributes | TENON_TOKEN_UNUSED;
    default:
      return attributes;
  }
}

std::optional<tenon::Token> token_in_role(const tenon::Tokenizer& tokenizer, int32_t role) {
  switch (role) {
    case TENON_SPECIAL_BEGIN:
      return tokenizer.bos();
    case TENON_SPECIAL_END:
      return tokenizer.eos();
    case TENON_SPECIAL_END_OF_TURN:
      return tokenizer.eot();
    case TENON_SPECIAL_UNKNOWN:
      return tokenizer.unknown();
    case TENON_SPECIAL_PADDING:
      return tokenizer.padding();
    default:
      tenon::fail(tenon::Code::Argument, "role {} is none of TENON_SPECIAL_*", role);
  }
}

}  // namespace

tenon_status tenon_tokenizer_open(const char* path, tenon_tokenizer** tokenizer) {
  return fence([&] {
    tenon_tokenizer*& out = checked_out(tokenizer, "tokenizer");
    const std::string name(name_in(path, "path"));
    out = new tenon_tokenizer(tenon::load_tokenizer(name, tenon::System::real()));
  });
}

tenon_status tenon_tokenizer_load(const tenon_source* source, tenon_tokenizer** tokenizer) {
  return fence([&] {
    tenon_tokenizer*& out = checked_out(tokenizer, "tokenizer");
    const tenon_source known = struct_in(source, "tenon_source");
    Host host;
    out = new tenon_tokenizer(tenon::load_tokenizer(host.open(known), host.system()));
  });
}

void tenon_tokenizer_destroy(tenon_tokenizer* tokenizer) {
  {
    const HandlesInUse call;
    const tenon_tokenizer* live = live_or_null(tokenizer);
    if (live == nullptr || live->owned == nullptr) return;  // a model owns its tokenizer's handle
  }
  destroy(tokenizer);
}

tenon_status tenon_tokenizer_encode(const tenon_tokenizer* tokenizer, const char* text,
                                    size_t length, uint32_t flags, tenon_token* tokens,
                                    size_t capacity, size_t* num_tokens) {
  return fence([&] {
    check_flags(flags, TENON_ADD_SPECIAL | TENON_PARSE_SPECIAL);
    const std::vector<tenon::Token> result = checked(tokenizer).tokenizer.encode(
        text_in(text, length, "text"), {.add_special = (flags & TENON_ADD_SPECIAL) != 0,
                                        .parse_special = (flags & TENON_PARSE_SPECIAL) != 0});
    fill_buffer(std::span<const tenon_token>(result), tokens, capacity, num_tokens);
  });
}

tenon_status tenon_tokenizer_decode(const tenon_tokenizer* tokenizer, const tenon_token* tokens,
                                    size_t num_tokens, uint32_t flags, char* text, size_t capacity,
                                    size_t* length) {
  return fence([&] {
    check_flags(flags, TENON_RENDER_SPECIAL);
    const std::string result = checked(tokenizer).tokenizer.decode(
        array_in(tokens, num_tokens, "tokens"),
        {.render_special = (flags & TENON_RENDER_SPECIAL) != 0});
    fill_buffer(std::span<const char>(result), text, capacity, length);
  });
}

size_t tenon_tokenizer_count(const tenon_tokenizer* tokenizer) {
  const HandlesInUse call;
  const tenon_tokenizer* live = live_or_null(tokenizer);
  return live == nullptr ? 0 : live->tokenizer.size();
}

tenon_status tenon_tokenizer_token_info(const tenon_tokenizer* tokenizer, tenon_token token,
                                        tenon_token_info* details) {
  return fence([&] {
    const tenon::Tokenizer& of_model = checked(tokenizer).tokenizer;
    const std::string_view spelling = of_model.spelling(token);
    const std::string_view text = of_model.decode(token);
    tenon_token_info result{};
    result.attributes = attributes_of(of_model, token);
    result.spelling = spelling.data();
    result.spelling_length = spelling.size();
    result.text = text.data();
    result.text_length = text.size();
    struct_out(result, details, "tenon_token_info");
  });
}

tenon_status tenon_tokenizer_find(const tenon_tokenizer* tokenizer, const char* spelling,
                                  size_t length, tenon_token* token) {
  return fence([&] {
    tenon_token& out = checked_out(token, "token");
    out = checked(tokenizer)
              .tokenizer.find(text_in(spelling, length, "spelling"))
              .value_or(TENON_NO_TOKEN);
  });
}

tenon_status tenon_tokenizer_special(const tenon_tokenizer* tokenizer, int32_t role,
                                     tenon_token* token) {
  return fence([&] {
    tenon_token& out = checked_out(token, "token");
    out = token_in_role(checked(tokenizer).tokenizer, role).value_or(TENON_NO_TOKEN);
  });
}
