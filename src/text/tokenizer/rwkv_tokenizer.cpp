#include "text/tokenizer/rwkv_tokenizer.h"

#include <string>

#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/token_buffer.h"
#include "text/tokenizer/token_table.h"

namespace tenon {
namespace {

class RwkvTokenizer final : public Tokenizer {
 public:
  RwkvTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system)
      : Tokenizer(std::move(token_table), std::move(system)) {
    ByteTrie::Builder tokens;
    for (Token token = 0; table().contains(token); ++token) {
      const std::string_view text = table().piece(token);
      if (table().is_reserved(token) || table().is_twin(token) || text.empty()) continue;
      tokens.insert(text, token);
    }
    tokens_ = tokens.build();
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    TokenBuffer buffer(system(), out, text.size());
    for (size_t at = 0; at < text.size();) {
      buffer.reserve(1, at);
      Token best = ByteTrie::kNoValue;
      size_t best_end = at + 1;
      uint32_t node = ByteTrie::kRoot;
      for (size_t end = at; end < text.size();) {
        node = tokens_.child(node, static_cast<uint8_t>(text[end++]));
        if (node == ByteTrie::kNone) break;
        if (tokens_.value(node) == ByteTrie::kNoValue) continue;
        best = tokens_.value(node);
        best_end = end;
      }
      if (best != ByteTrie::kNoValue) {
        out.push_back(best);
      } else if (table().unknown) {
        out.push_back(*table().unknown);
      }
      at = best_end;
    }
  }

  ByteTrie tokens_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_rwkv_tokenizer(Vocabulary vocabulary,
                                                     std::shared_ptr<System> system) {
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Escaped;
  return std::make_unique<RwkvTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), std::move(system));
}

}  // namespace tenon
