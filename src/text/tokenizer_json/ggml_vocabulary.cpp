#include "text/tokenizer_json/ggml_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer_json/json_vocabulary.h"
#include "text/tokenizer_json/normalizer.h"

namespace tenon {
namespace tokenizer_json {
namespace {

/// Thrown for what a model file cannot say; caught in this file.
struct NoKey {
  std::string reason;
};

std::string type_of(const JsonField& field) {
  return field.is_null() ? std::string() : field.at("type").text_or("");
}

/// The steps of a field that is null, one step, or a "Sequence" of steps.
std::vector<JsonField> steps_of(const JsonField& field, std::string_view list) {
  if (field.is_null()) return {};
  if (type_of(field) != "Sequence") return {field};
  return field.at(list).items();
}

/// Texts that pre-tokenizers and merges treat in different ways.
constexpr std::string_view kTrialTexts[] = {
    "Hello world, hello WORLD, HelloWorld helloWorld",
    "  two  spaces   three\n\n\nlines \t tab\r\n end ",
    "I'm you'll DON'T it's 'quoted' we've",
    "1 12 123 1234 12345 3.14159 1,000,000 x2y3",
    "if (a[i] >= 10 && b != \"c\") { return x->y; } // ok!!! ???",
    "na\u00EFve caf\u00E9 \u00FCber \u041F\u0440\u0438\u0432\u0435\u0442 "
    "\u4F60\u597D\u4E16\u754C \u3053\u3093\u306B\u3061\u306F \uC548\uB155",
    "\U0001F600 \U0001F1F3\U0001F1F4 \u2014 \u201Cquotes\u201D \u2026 \u20AC100 50%",
    "https://example.org/a_b-c?d=e&f=1#g user@host.net",
    "\u0645\u0631\u062D\u0628\u0627 \u0928\u092E\u0938\u094D\u0924\u0947 \u0E2A\u0E27\u0E31",
    "a\u2581b\u2581\u2581c tail",
    "\n",
    " ",
    "x",
};

/// tokenizer.ggml.pre with these patterns. Throws NoKey.
std::string pre_name(const std::vector<std::string>& patterns, bool whole_words) {
  for (const PreTokenizer& known : pre_tokenizers()) {
    if (known.characters || known.drops_spaces || known.whole_words != whole_words) continue;
    if (std::ranges::equal(patterns, known.patterns)) return std::string(known.name);
  }
  throw NoKey{"no tokenizer.ggml.pre stands for the way it cuts words"};
}

/// Patterns of a pre-tokenizer that ends in bytes as letters. Throws NoKey for other stages.
std::vector<std::string> byte_level_patterns(const JsonField& field) {
  std::vector<std::string> patterns;
  const std::vector<JsonField> stages = steps_of(field, "pretokenizers");
  for (size_t i = 0; i < stages.size(); ++i) {
    const JsonField& stage = stages[i];
    const std::string type = type_of(stage);
    if (type == "Split") {
      const std::string behavior = stage.at("behavior").text();
      const bool inverted = stage.at("invert").flag_or(false);
      // Patterns of the second form match all text.
      const bool cuts =
          (behavior == "Isolated" && !inverted) || (behavior == "Removed" && inverted);
      if (!cuts) throw NoKey{fmt::format("its words are split as {}", behavior)};
      patterns.push_back(pattern_text(stage.at("pattern")));
    } else if (type == "Digits" && stage.at("individual_digits").flag_or(false)) {
      patterns.emplace_back(R"(\p{N})");
    } else if (type == "ByteLevel" && i + 1 == stages.size()) {
      if (stage.at("add_prefix_space").flag_or(true)) throw NoKey{"it begins texts with a space"};
      if (stage.at("use_regex").flag_or(true)) {
        patterns.emplace_back(pre_tokenizer_of("gpt-2").patterns.front());
      }
    } else {
      throw NoKey{fmt::format("its stage {} has no key", type)};
    }
  }
  return patterns;
}

bool ends_in_bytes(const JsonField& field) {
  const std::vector<JsonField> stages = steps_of(field, "pretokenizers");
  return !stages.empty() && type_of(stages.back()) == "ByteLevel";
}

std::vector<std::string> merges_of(const JsonField& model) {
  std::vector<std::string> merges;
  for (const Json& merge : model.at("merges").array()) {
    if (merge.is_string()) {
      merges.push_back(merge.get_ref<const std::string&>());
      continue;
    }
    const auto& left = merge.at(0).get_ref<const std::string&>();
    const auto& right = merge.at(1).get_ref<const std::string&>();
    if (left.find(' ') != left.npos || right.find(' ') != right.npos) {
      throw NoKey{"it merges tokens with spaces"};
    }
    merges.push_back(left + " " + right);
  }
  return merges;
}

void set_byte_level(const JsonField& root, Vocabulary& out) {
  const JsonField model = root.at("model");
  for (const JsonField& step : steps_of(root.at("normalizer"), "normalizers")) {
    if (type_of(step) != "NFC") throw NoKey{fmt::format("its {} has no key", type_of(step))};
  }
  out.model = "gpt2";
  out.pre = pre_name(byte_level_patterns(root.at("pre_tokenizer")),
                     model.at("ignore_merges").flag_or(false));
  out.merges = merges_of(model);
  out.add_space_prefix = false;
}

bool is_replaced_space(const JsonField& step) {
  return type_of(step) == "Replace" && step.at("content").text_or("") == kSpaceMark &&
         step.at("pattern").at("String").text_or("") == " ";
}

/// Puts no space before a text that begins with one, as SentencePiece and its keys do.
bool is_metaspace(const JsonField& root) {
  const std::vector<JsonField> stages = steps_of(root.at("pre_tokenizer"), "pretokenizers");
  return stages.size() == 1 && type_of(stages[0]) == "Metaspace";
}

/// Whether a space goes before texts, in SentencePiece's spelling. Throws NoKey.
bool prefixes_space(const JsonField& root) {
  const std::vector<JsonField> steps = steps_of(root.at("normalizer"), "normalizers");
  const std::vector<JsonField> stages = steps_of(root.at("pre_tokenizer"), "pretokenizers");
  if (steps.size() == 2 && type_of(steps[0]) == "Prepend" && is_replaced_space(steps[1]) &&
      steps[0].at("prepend").text_or("") == kSpaceMark && stages.empty()) {
    return true;
  }
  const bool cuts_nothing =
      stages.empty() || (stages.size() == 1 && type_of(stages[0]) == "Split" &&
                         stages[0].at("pattern").at("String").text_or("") == " ");
  if (steps.size() == 1 && is_replaced_space(steps[0]) && cuts_nothing) return false;
  if (steps.empty() && stages.size() == 1 && type_of(stages[0]) == "Metaspace" &&
      stages[0].at("replacement").text_or("") == kSpaceMark) {
    return stages[0].at("prepend_scheme").text_or("always") != "never";
  }
  throw NoKey{"no key stands for its normalization"};
}

/// SentencePiece's BPE: the best score is merged first, so that scores stand for the merges' order.
void set_sentence_piece(const JsonField& root, Vocabulary& out) {
  const JsonField model = root.at("model");
  if (!model.at("byte_fallback").flag_or(false)) throw NoKey{"it has no tokens of bytes"};
  out.model = "llama";
  out.add_space_prefix = prefixes_space(root);
  const std::vector<std::string> merges = merges_of(model);
  std::unordered_map<std::string, size_t> ranks;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    std::string token = merges[rank];
    token.erase(token.find(' '), 1);
    ranks.emplace(std::move(token), rank);  // the best rank stays
  }
  out.scores.assign(out.tokens.size(), 0.0f);
  for (size_t id = 0; id < out.tokens.size(); ++id) {
    const auto rank = ranks.find(out.tokens[id]);
    if (rank != ranks.end()) out.scores[id] = -1.0f - static_cast<float>(rank->second);
  }
}

void set_unigram(const JsonField& root, Vocabulary& out) {
  const JsonField model = root.at("model");
  if (model.at("byte_fallback").flag_or(false)) throw NoKey{"its tokens of bytes have no key"};
  out.model = "t5";
  out.remove_extra_spaces = false;
  for (const JsonField& step : steps_of(root.at("normalizer"), "normalizers")) {
    if (type_of(step) == "Precompiled") {
      out.charsmap = from_base64(step.at("precompiled_charsmap"));
    } else if (type_of(step) == "Replace" && step.at("pattern").has("Regex") &&
               step.at("pattern").at("Regex").text() == " {2,}") {
      out.remove_extra_spaces = true;
    } else {
      throw NoKey{fmt::format("its {} has no key", type_of(step))};
    }
  }
  const std::vector<JsonField> stages = steps_of(root.at("pre_tokenizer"), "pretokenizers");
  bool marks_spaces = false;
  for (const JsonField& stage : stages) {
    if (type_of(stage) == "WhitespaceSplit") {
      out.remove_extra_spaces = true;
    } else if (type_of(stage) == "Metaspace") {
      marks_spaces = true;
      out.add_space_prefix = stage.at("prepend_scheme").text_or("always") != "never";
    } else {
      throw NoKey{fmt::format("its stage {} has no key", type_of(stage))};
    }
  }
  if (!marks_spaces) throw NoKey{"its spaces are no part of words"};
  out.scores.assign(out.tokens.size(), 0.0f);
  const Json::array_t& entries = model.at("vocab").array();
  for (size_t id = 0; id < entries.size(); ++id) {
    out.scores[id] = entries[id].at(1).get<float>();
  }
}

/// Tokens around a text as roles and flags. Throws NoKey.
void set_tokens_around(Vocabulary& out) {
  const auto flag_of = [](const std::vector<int64_t>& tokens, const std::optional<int64_t>& role) {
    if (tokens.empty()) return false;
    if (tokens.size() > 1 || role != tokens.front()) {
      throw NoKey{"it puts tokens around texts that have no role"};
    }
    return true;
  };
  out.add_bos = flag_of(out.tokens_before, out.bos);
  out.add_eos = flag_of(out.tokens_after, out.eos);
  out.tokens_before.clear();
  out.tokens_after.clear();
}

/// Names ids that no token has, as each token of a model file has a spelling of its own.
void name_unused(Vocabulary& out) {
  for (size_t id = 0; id < out.tokens.size(); ++id) {
    if (!out.tokens[id].empty()) continue;
    out.tokens[id] = fmt::format("[PAD{}]", id);
    out.types[id] = TokenType::Unused;
  }
}

///   tries_spaces  with texts that begin with a space
void expect_same_tokens(const Vocabulary& vocabulary, const Tokenizer& expected, bool tries_spaces,
                        const std::shared_ptr<System>& system) {
  const auto tokenizer = make_tokenizer(vocabulary, system);
  for (const std::string_view text : kTrialTexts) {
    if (!tries_spaces && text.starts_with(' ')) continue;
    if (tokenizer->encode(text, {.add_special = true}) !=
        expected.encode(text, {.add_special = true})) {
      throw NoKey{fmt::format("{} becomes other tokens by keys", quoted(text))};
    }
  }
}

Vocabulary as_keys(const JsonField& root, const TokenRoles& roles) {
  Vocabulary out = read_json_vocabulary(root, roles).vocabulary;
  out.matching.clear();
  out.extra_end_tokens.clear();
  set_tokens_around(out);
  const JsonField model = root.at("model");
  std::string type = type_of(model);
  if (type.empty() && model.has("merges")) type = "BPE";
  if (type == "BPE") {
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!model.at(affix).text_or("").empty()) throw NoKey{"its words have other endings"};
    }
    ends_in_bytes(root.at("pre_tokenizer")) ? set_byte_level(root, out)
                                            : set_sentence_piece(root, out);
  } else if (type == "Unigram") {
    set_unigram(root, out);
  } else {
    throw NoKey{fmt::format("its model {} has no keys here", type)};
  }
  name_unused(out);
  return out;
}

}  // namespace
}  // namespace tokenizer_json

GgmlVocabulary ggml_vocabulary(std::string_view json, std::string_view name,
                               const std::shared_ptr<System>& system, const TokenRoles& roles) {
  const auto expected = make_json_tokenizer(json, name, system, roles);
  const tokenizer_json::Json tree = tokenizer_json::parse_json(json, name);
  try {
    const tokenizer_json::JsonField root(tree, std::string(name));
    Vocabulary vocabulary = tokenizer_json::as_keys(root, roles);
    const bool tries_spaces = vocabulary.model != "llama" || !tokenizer_json::is_metaspace(root);
    tokenizer_json::expect_same_tokens(vocabulary, *expected, tries_spaces, system);
    return {std::move(vocabulary), {}};
  } catch (const tokenizer_json::NoKey& no_key) {
    return {std::nullopt, no_key.reason};
  } catch (const Error& error) {
    if (error.code() == Code::NoMemory) throw;
    return {std::nullopt, error.what()};
  }
}

}  // namespace tenon
