#include "text/grammar/token_trie.h"

#include <algorithm>

#include "text/grammar/control_bytes.h"
#include "text/utf8_codec.h"

namespace tenon::grammar {
namespace {

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<uint8_t>(c) < 0x20 || c == '"' || c == '\\') return false;
  }
  return utf8_valid_prefix(text) == text.size();
}

}  // namespace

TokenTrie::TokenTrie(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.text != b.text ? a.text < b.text : a.token < b.token;
  });
  std::vector<uint32_t> open;  // nodes from the root to the last one
  std::string_view last;
  for (const Entry& entry : entries) {
    size_t common = 0;
    while (common < last.size() && common < entry.text.size() &&
           last[common] == entry.text[common]) {
      ++common;
    }
    while (open.size() > common) {
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
      open.pop_back();
    }
    for (size_t i = common; i < entry.text.size(); ++i) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), static_cast<uint32_t>(i),
                        static_cast<uint8_t>(entry.text[i])});
    }
    tokens_.push_back(entry.token);
    if (entry.text.empty()) ++root_tokens_;
    longest_ = std::max(longest_, static_cast<uint32_t>(entry.text.size()));
    last = entry.text;
  }
  for (const uint32_t node : open) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
}

TokenSet::TokenSet(const Tokenizer& tokenizer, std::span<const std::string> marks)
    : end_tokens_(tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()) {
  // Copied: a sampler may outlive the model.
  owned_.reserve(tokenizer.size());
  for (size_t i = 0; i < tokenizer.size(); ++i) {
    const auto token = static_cast<Token>(i);
    std::string& text = owned_.emplace_back(tokenizer.decode(token));
    if (marks.empty()) continue;
    if (tokenizer.is_control(token)) {
      const auto mark = std::find(marks.begin(), marks.end(), tokenizer.spelling(token));
      const bool other = mark == marks.end();
      text = static_cast<char>(
          other ? kOtherMarkByte : mark_byte(static_cast<size_t>(mark - marks.begin())));
    } else if (text.size() == 1 && static_cast<uint8_t>(text[0]) >= kFirstMarkByte) {
      text.clear();  // a byte that no text has would pass for a mark
    }
  }
  texts_.assign(owned_.begin(), owned_.end());
  build();
}

TokenSet::TokenSet(std::span<const std::string_view> texts, std::span<const Token> end_tokens)
    : owned_(texts.begin(), texts.end()), end_tokens_(end_tokens.begin(), end_tokens.end()) {
  texts_.assign(owned_.begin(), owned_.end());
  build();
}

void TokenSet::build() {
  std::vector<TokenTrie::Entry> all, special;
  plain_.assign((texts_.size() + 63) / 64, 0);
  for (size_t i = 0; i < texts_.size(); ++i) {
    const auto token = static_cast<Token>(i);
    // An end token may have a text; it ends the generation all the same.
    if (is_end(token)) texts_[i] = {};
    const std::string_view text = texts_[i];
    if (text.empty()) continue;
    if (text.size() == 1) bytes_.set(static_cast<uint8_t>(text[0]));
    all.push_back({text, token});
    if (is_plain(text)) {
      plain_[i / 64] |= uint64_t{1} << (i % 64);
    } else {
      special.push_back({text, token});
    }
  }
  all_ = TokenTrie(std::move(all));
  special_ = TokenTrie(std::move(special));
}

bool TokenSet::is_end(Token token) const {
  return std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end();
}

}  // namespace tenon::grammar
