#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/chunked_merge.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer_json/word_model.h"
#include "text/unicode/utf8_codec.h"

namespace tenon::tokenizer_json {
namespace {

struct MergeText {
  std::string_view left;
  std::string_view right;
};

/// Parses a merge: "left right" or ["left", "right"].
MergeText merge_text(const Json& entry, const JsonField& merges, size_t number) {
  if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
    return {entry[0].get_ref<const std::string&>(), entry[1].get_ref<const std::string&>()};
  }
  if (entry.is_string()) {
    const std::string_view text = entry.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  fail(Code::Format, "{}[{}]: not two tokens", merges.where(), number);
}

std::string affix_of(const JsonField& model, std::string_view key) {
  const JsonField field = model.at(key);
  return field.is_null() ? std::string() : field.short_text();
}

class BpeModel final : public WordModel {
 public:
  BpeModel(const JsonField& model, const ModelParts& parts)
      : finder_(parts.finder),
        as_bytes_(parts.as_bytes),
        prefix_(affix_of(model, "continuing_subword_prefix")),
        suffix_(affix_of(model, "end_of_word_suffix")),
        fuses_unknown_(model.at("fuse_unk").flag_or(false)),
        takes_whole_words_(model.at("ignore_merges").flag_or(false)),
        is_special_(parts.is_special),
        merges_(model.at("merges").array().size()) {
    const JsonField dropout = model.at("dropout");
    if (!dropout.is_null() && !(dropout.value().is_number() && dropout.value() == 0)) {
      dropout.unsupported("a dropout of");
    }
    if (parts.vocabulary.has_byte_tokens) read_byte_tokens();
    if (as_bytes_) read_byte_letters();
    read_unknown(model.at("unk_token"));
    read_merges(model.at("merges"));
  }

  [[nodiscard]] bool takes_bytes() const override { return as_bytes_; }
  [[nodiscard]] const WordBoundaries* boundaries() const override {
    return has_boundaries_ ? &boundaries_ : nullptr;
  }

  void encode(std::string_view word, WordScratch& scratch) const override {
    std::vector<Token>& out = scratch.buffer.tokens();
    if (takes_whole_words_) {
      const Token whole = whole_word(word, scratch);
      if (whole != TokenFinder::kNone) return out.push_back(whole);
    }
    Start source(*this, word, scratch.text);
    // A word has at most a symbol per byte, and one per byte of prefixes and suffix.
    const size_t most = word.size() * (1 + prefix_.size()) + suffix_.size();
    merge_word(merges_, source, most, scratch.symbols, out, [&](std::span<const Symbol> merged) {
      scratch.buffer.reserve(merged.size(), scratch.begin + source.at());
      out.insert(out.end(), merged.begin(), merged.end());
    });
  }

 private:
  /// Source of a word's initial symbols for merge_word(). Characters outside the vocabulary become
  /// the unknown token, if there is one; a run of them becomes one token if the file says so.
  class Start {
   public:
    /// text: scratch.
    Start(const BpeModel& model, std::string_view word, std::string& text)
        : model_(model), word_(word), text_(text) {}

    bool next(std::vector<Symbol>& into, size_t count) {
      const size_t enough = into.size() + count;
      while (at_ < word_.size() && into.size() < enough) {
        model_.as_bytes_ ? add_byte(into) : add_character(into);
      }
      if (at_ == word_.size()) flush(into);
      return at_ < word_.size();
    }
    void rewind() {
      at_ = 0;
      waits_ = false;
    }
    /// Bytes of the word supplied so far.
    [[nodiscard]] size_t at() const { return at_; }

   private:
    void add_byte(std::vector<Symbol>& into) {
      add(model_.letters_[static_cast<uint8_t>(word_[at_])], into);
      ++at_;
    }

    void add_character(std::vector<Symbol>& into) {
      const uint32_t size = utf8_decode_valid(word_.data() + at_).size;
      std::string_view spelling = word_.substr(at_, size);
      const bool inside = at_ > 0 && !model_.prefix_.empty();
      const bool last = at_ + size == word_.size() && !model_.suffix_.empty();
      if (inside || last) {
        text_ = inside ? model_.prefix_ : "";
        text_ += spelling;
        if (last) text_ += model_.suffix_;
        spelling = text_;
      }
      at_ += size;
      const Token token = model_.find_text(spelling);
      if (token != TokenFinder::kNone || !model_.append_byte_tokens(spelling, into)) {
        add(token, into);
      }
    }

    void add(Token token, std::vector<Symbol>& into) {
      if (token != TokenFinder::kNone) {
        flush(into);
        into.push_back(token);
      } else if (model_.unknown_ != TokenFinder::kNone) {
        if (!model_.fuses_unknown_) flush(into);
        waits_ = true;
      }
    }
    void flush(std::vector<Symbol>& into) {
      if (waits_) into.push_back(model_.unknown_);
      waits_ = false;
    }

    const BpeModel& model_;
    std::string_view word_;
    std::string& text_;
    size_t at_ = 0;
    bool waits_ = false;  // an unknown token is pending
  };

  /// Appends the tokens of a character's bytes; false, appending none, if one is missing.
  bool append_byte_tokens(std::string_view bytes, std::vector<Symbol>& symbols) const {
    if (byte_tokens_.empty()) return false;
    const size_t before = symbols.size();
    for (const char byte : bytes) {
      const Token token = byte_tokens_[static_cast<uint8_t>(byte)];
      if (token == TokenFinder::kNone) {
        symbols.resize(before);
        return false;
      }
      symbols.push_back(token);
    }
    return true;
  }

  Token whole_word(std::string_view word, WordScratch& scratch) const {
    if (word.size() > TokenTable::kMaxTokenBytes) return TokenFinder::kNone;
    if (!as_bytes_) return find_text(word);
    scratch.text.clear();
    for (const char c : word) utf8_append(byte_to_letter(static_cast<uint8_t>(c)), scratch.text);
    return find_text(scratch.text);
  }

  /// The token with this spelling, unless plain text must not become it.
  [[nodiscard]] Token find_text(std::string_view spelling) const {
    const Token token = finder_.find(spelling);
    const bool usable = token != TokenFinder::kNone && !is_special_[static_cast<size_t>(token)];
    return usable ? token : TokenFinder::kNone;
  }

  /// Files may name a missing unknown token if no text needs it.
  void read_unknown(const JsonField& field) {
    if (field.is_null()) return;
    unknown_ = finder_.find(field.text());
    const bool knows_all = as_bytes_ && std::find(letters_.begin(), letters_.end(),
                                                  TokenFinder::kNone) == letters_.end();
    if (unknown_ == TokenFinder::kNone && !field.text().empty() && !knows_all) {
      fail(Code::Format, "{}: {} is not in the vocabulary", field.where(),
           tenon::quoted(field.text()));
    }
  }

  void read_byte_tokens() {
    for (int byte = 0; byte < 256; ++byte) {
      byte_tokens_.push_back(finder_.find(fmt::format("<0x{:02X}>", byte)));
    }
  }

  void read_byte_letters() {
    for (int byte = 0; byte < 256; ++byte) {
      std::string letter;
      utf8_append(byte_to_letter(static_cast<uint8_t>(byte)), letter);
      letters_[static_cast<size_t>(byte)] = find_text(letter);
    }
  }

  void read_merges(const JsonField& field) {
    has_boundaries_ = !takes_whole_words_ && finder_.find(kSpaceMark) != TokenFinder::kNone &&
                      prefix_.empty() && suffix_.empty();
    uint32_t rank = 0;
    std::string joined;
    for (const Json& entry : field.array()) {
      // First line of the text file from which some lists were made.
      if (entry.is_string() && entry.get_ref<const std::string&>().starts_with("#version")) {
        continue;
      }
      const MergeText merge = merge_text(entry, field, rank);
      if (!merge.right.starts_with(prefix_)) {
        fail(Code::Format, "{}[{}]: {} does not begin with {}", field.where(), rank,
             tenon::quoted(merge.right), tenon::quoted(prefix_));
      }
      joined.assign(merge.left).append(merge.right.substr(prefix_.size()));
      const Token left = merge_token(field, rank, merge.left);
      const Token right = merge_token(field, rank, merge.right);
      const Token result = merge_token(field, rank, joined);
      // Plain text must never turn into a control token.
      if (!is_special_[static_cast<size_t>(result)]) merges_.replace(left, right, {rank, result});
      boundaries_.add(joined);
      ++rank;
    }
  }

  Token merge_token(const JsonField& field, uint32_t rank, std::string_view spelling) const {
    const Token token = finder_.find(spelling);
    if (token == TokenFinder::kNone) {
      fail(Code::Format, "{}[{}]: {} is not in the vocabulary", field.where(), rank,
           tenon::quoted(spelling));
    }
    return token;
  }

  const TokenFinder& finder_;
  bool as_bytes_;
  std::string prefix_;
  std::string suffix_;
  bool fuses_unknown_;
  bool takes_whole_words_;
  bool has_boundaries_ = false;
  WordBoundaries boundaries_{kSpaceMark};
  std::vector<bool> is_special_;  // [vocab]
  Token unknown_ = TokenFinder::kNone;
  std::vector<Token> byte_tokens_;     // [256], or empty
  std::array<Symbol, 256> letters_{};  // used if words are bytes
  MergeTable merges_;
};

}  // namespace

std::unique_ptr<const WordModel> make_bpe_model(const JsonField& model, const ModelParts& parts) {
  return std::make_unique<BpeModel>(model, parts);
}

}  // namespace tenon::tokenizer_json
