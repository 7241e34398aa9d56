#include "text/grammar/token_trie.h"

#include <algorithm>

#include "text/grammar/control_bytes.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::grammar {
namespace {

/// Leading whole characters of a text that need no escape in a JSON string.
struct PlainBeginning {
  size_t bytes = 0;
  size_t characters = 0;
};
PlainBeginning plain_beginning(std::string_view text) {
  PlainBeginning plain;
  const size_t valid = utf8_valid_prefix(text);
  while (plain.bytes < valid) {
    const auto byte = static_cast<uint8_t>(text[plain.bytes]);
    if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7F) break;
    plain.bytes += byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    ++plain.characters;
  }
  return plain;
}

}  // namespace

TokenTrie::TokenTrie(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.text != b.text ? a.text < b.text : a.token < b.token;
  });
  std::vector<uint32_t> open;  // nodes from the root to the last node
  const auto close = [&] {
    Node& node = nodes_[open.back()];
    node.end = static_cast<uint32_t>(nodes_.size());
    open.pop_back();
    if (!open.empty()) nodes_[open.back()].below |= node.below | byte_kind(node.byte);
  };
  std::string_view last;
  for (const Entry& entry : entries) {
    size_t common = 0;
    while (common < last.size() && common < entry.text.size() &&
           last[common] == entry.text[common]) {
      ++common;
    }
    while (open.size() > common) close();
    for (size_t i = common; i < entry.text.size(); ++i) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, static_cast<uint32_t>(tokens_.size()), static_cast<uint32_t>(i),
                        static_cast<uint8_t>(entry.text[i]), 0});
    }
    tokens_.push_back(entry.token);
    if (entry.text.empty()) ++root_tokens_;
    longest_ = std::max(longest_, static_cast<uint32_t>(entry.text.size()));
    last = entry.text;
  }
  while (!open.empty()) close();
}

TokenSet::TokenSet(std::shared_ptr<const Tokenizer> tokenizer, std::span<const std::string> marks)
    : tokenizer_(std::move(tokenizer)),
      marks_(marks.size(), 0),
      end_tokens_(tokenizer_->end_tokens().begin(), tokenizer_->end_tokens().end()) {
  owned_.reserve(tokenizer_->size());
  for (size_t i = 0; i < tokenizer_->size(); ++i) {
    const auto token = static_cast<Token>(i);
    std::string& text = owned_.emplace_back(tokenizer_->decode(token));
    if (marks.empty()) continue;
    if (tokenizer_->is_control(token)) {
      const auto found = std::find(marks.begin(), marks.end(), tokenizer_->spelling(token));
      const auto mark = static_cast<size_t>(found - marks.begin());
      if (mark < marks.size()) marks_[mark] = token;
      text = static_cast<char>(mark < marks.size() ? mark_byte(mark) : kOtherMarkByte);
    } else if (text.size() == 1 && static_cast<uint8_t>(text[0]) >= kFirstMarkByte) {
      text.clear();  // a byte that no text has would look like a mark
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
  std::vector<TokenTrie::Entry> all, longer, middle, after_any;
  std::array<std::vector<TokenTrie::Entry>, kMaxPlain + 1> after;
  for (auto& mask : plain_up_to_) mask.assign((texts_.size() + 63) / 64, 0);
  for (size_t i = 0; i < texts_.size(); ++i) {
    const auto token = static_cast<Token>(i);
    // An end token may have a text, but always ends the generation.
    if (is_end(token)) texts_[i] = {};
    const std::string_view text = texts_[i];
    if (text.empty()) continue;
    if (text.size() == 1) bytes_.set(static_cast<uint8_t>(text[0]));
    all.push_back({text, token});
    PlainBeginning plain;
    if (text.size() > kLong) {
      longer.push_back({text, token});
    } else {
      if (text.size() > kMiddle) middle.push_back({text, token});
      plain = plain_beginning(text);
    }
    if (plain.characters > kMaxPlain) plain = {};
    if (plain.bytes == text.size()) {
      plain_up_to_[plain.characters][i / 64] |= uint64_t{1} << (i % 64);
    } else {
      after[plain.characters].push_back({text.substr(plain.bytes), token});
      after_any.push_back(after[plain.characters].back());
    }
  }
  for (size_t n = 1; n <= kMaxPlain; ++n) {
    for (size_t w = 0; w < plain_up_to_[n].size(); ++w)
      plain_up_to_[n][w] |= plain_up_to_[n - 1][w];
  }
  all_ = TokenTrie(std::move(all));
  long_ = TokenTrie(std::move(longer));
  middle_ = TokenTrie(std::move(middle));
  after_any_plain_ = TokenTrie(std::move(after_any));
  for (size_t n = 0; n <= kMaxPlain; ++n) after_plain_[n] = TokenTrie(std::move(after[n]));
}

bool TokenTrie::goes_beyond(std::string_view text) const {
  size_t node = 0, end = nodes_.size();
  for (const char c : text) {
    while (node < end && nodes_[node].byte != static_cast<uint8_t>(c)) node = nodes_[node].end;
    if (node >= end) return false;
    end = nodes_[node++].end;
  }
  return node < end;
}

bool TokenSet::append_spelled(std::string_view text, std::vector<Token>& out) const {
  // Retry after a line break, which is then removed: some tokenizers add a space at the beginning
  // of a text.
  for (const std::string_view before : {"", "\n"}) {
    const std::vector<Token> tokens = tokenizer_->encode(std::string(before) + std::string(text));
    size_t first = 0;
    for (bool open = !before.empty(); open && first < tokens.size();) {
      open = !texts_[static_cast<size_t>(tokens[first++])].ends_with(before);
    }
    std::string_view rest = text;
    bool same = true;
    for (size_t i = first; i < tokens.size() && same; ++i) {
      const std::string_view piece = texts_[static_cast<size_t>(tokens[i])];
      same = !piece.empty() && rest.starts_with(piece);
      if (same) rest.remove_prefix(piece.size());
    }
    if (!same || !rest.empty()) continue;
    out.insert(out.end(), tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
    return true;
  }
  return false;
}

std::vector<Token> TokenSet::spell_beginning(std::string_view text) const {
  size_t safe = text.size() > all_.longest() ? text.size() - all_.longest() : 0;
  while (safe < text.size() && !all_.goes_beyond(text.substr(safe))) ++safe;
  std::vector<Token> tokens = spell(text);
  size_t kept = 0;
  for (size_t bytes = 0; kept < tokens.size(); ++kept) {
    bytes += texts_[static_cast<size_t>(tokens[kept])].size();
    if (bytes > safe) break;
  }
  tokens.resize(kept);
  return tokens;
}

std::vector<Token> TokenSet::spell(std::string_view text) const {
  std::vector<Token> out;
  if (tokenizer_ == nullptr) return out;
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && static_cast<uint8_t>(text[plain]) < kFirstMarkByte) ++plain;
    if (plain > 0 && !append_spelled(text.substr(0, plain), out)) return {};
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto mark = static_cast<size_t>(static_cast<uint8_t>(text[0]) - kFirstMarkByte);
    if (mark >= marks_.size()) return {};
    out.push_back(marks_[mark]);
    text.remove_prefix(1);
  }
  return out;
}

bool TokenSet::is_end(Token token) const {
  return std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end();
}

}  // namespace tenon::grammar
