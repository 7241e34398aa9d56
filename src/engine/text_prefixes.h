// Prefixes that published embedding models expect before a text, from their model cards. No key of
// a file holds them.
#pragma once

#include <string_view>

namespace tenon {

struct TextPrefixes {
  std::string_view query;
  std::string_view document;
};

/// Prefixes of the model with this general.architecture and general.name; empty for unknown models
/// and models without prefixes.
TextPrefixes find_text_prefixes(std::string_view architecture, std::string_view name);

}  // namespace tenon
