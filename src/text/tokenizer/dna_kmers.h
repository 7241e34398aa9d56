// DNA inside a text, for vocabularies with k-mers (tokenizer.ggml.model "hybriddna"). Other text is
// tokenized elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/token_table.h"

namespace tenon {

/// Text between <dna> and </dna> (or the end) becomes a token per six letters, in either case, the
/// last padded with A. Immutable; the table must outlive it.
class DnaKmers {
 public:
  /// Suffix of k-mers in files: plain text has a token CCCCCC, too.
  static constexpr std::string_view kMark = "\uE000";

  /// Makes an object that finds no DNA.
  DnaKmers() = default;
  explicit DnaKmers(const TokenTable& table)
      : table_(&table),
        open_(table.find(kOpen)),
        close_(table.find(kClose)),
        other_(table.find("<oov>")) {}

  /// Appends the tokens of `text`; on_text(part) appends those of other parts. Linear time.
  template <typename OnText>
  void encode(std::string_view text, std::vector<Token>& out, OnText&& on_text) const {
    if (!open_ || !close_ || !other_) return on_text(text);
    while (!text.empty()) {
      const size_t open = text.find(kOpen);
      const std::string_view before = text.substr(0, open);
      if (!before.empty()) on_text(before);
      if (open == std::string_view::npos) return;
      out.push_back(*open_);
      text.remove_prefix(open + kOpen.size());
      const size_t close = text.find(kClose);
      append_kmers(text.substr(0, close), out);
      if (close == std::string_view::npos) return;
      out.push_back(*close_);
      text.remove_prefix(close + kClose.size());
    }
  }

 private:
  static constexpr std::string_view kOpen = "<dna>";
  static constexpr std::string_view kClose = "</dna>";
  static constexpr size_t kLetters = 6;

  void append_kmers(std::string_view letters, std::vector<Token>& out) const {
    std::string spelling;
    for (size_t at = 0; at < letters.size(); at += kLetters) {
      spelling = letters.substr(at, kLetters);
      for (char& c : spelling) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      spelling.resize(kLetters, 'A');
      spelling += kMark;
      out.push_back(table_->find(spelling).value_or(*other_));
    }
  }

  const TokenTable* table_ = nullptr;
  std::optional<Token> open_, close_;
  std::optional<Token> other_;  // for letters outside DNA's alphabet
};

}  // namespace tenon
