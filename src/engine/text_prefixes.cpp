#include "engine/text_prefixes.h"

#include <algorithm>
#include <string>

namespace tenon {
namespace {

struct KnownModel {
  std::string_view architecture;
  std::string_view name;  ///< lower-case part of a file's name
  TextPrefixes prefixes;
};

constexpr std::string_view kRepresent = "Represent this sentence for searching relevant passages: ";

/// From model cards on huggingface.co; the first match wins.
constexpr KnownModel kKnown[] = {
    {"nomic-bert", "nomic", {"search_query: ", "search_document: "}},
    {"nomic-bert-moe", "nomic", {"search_query: ", "search_document: "}},
    {"nomic-bert", "arctic", {kRepresent, ""}},
    {"gemma-embedding", "", {"task: search result | query: ", "title: none | text: "}},
    {"qwen3",
     "embedding",
     {"Instruct: Given a web search query, retrieve relevant passages that answer the "
      "query\nQuery:",
      ""}},
    {"bert", "e5", {"query: ", "passage: "}},
    {"bert", "arctic-embed-l-v2", {"query: ", ""}},
    {"bert", "arctic-embed-m-v2", {"query: ", ""}},
    {"bert", "arctic", {kRepresent, ""}},
    {"bert", "mxbai", {kRepresent, ""}},
    {"bert", "bge-small-en", {kRepresent, ""}},
    {"bert", "bge-base-en", {kRepresent, ""}},
    {"bert", "bge-large-en", {kRepresent, ""}},
};

/// Normalises names: files say "Bge Small En v1.5" as well as "bge-small-en-v1.5".
std::string plain(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '_') c = '-';
  }
  return out;
}

}  // namespace

TextPrefixes find_text_prefixes(std::string_view architecture, std::string_view name) {
  const std::string wanted = plain(name);
  for (const KnownModel& model : kKnown) {
    if (model.architecture == architecture && wanted.find(model.name) != wanted.npos) {
      return model.prefixes;
    }
  }
  return {};
}

}  // namespace tenon
