// What published embedding models want before a text: the words of their model cards, which no key of
// a file holds.
#pragma once

#include <string_view>

namespace tenon {

struct TextPrefixes {
  std::string_view query;
  std::string_view document;
};

/// Those of the model whose file has this general.architecture and general.name; empty ones where it
/// is not known, or wants none.
TextPrefixes find_text_prefixes(std::string_view architecture, std::string_view name);

}  // namespace tenon
