// Names of models as people write them: hf:OWNER/NAME[@REVISION][:FILE|:QUANT], URLs, and models of
// other programs. Checks the form only.
#pragma once

#include <string>
#include <string_view>

namespace tenon::hub {

/// A parsed reference.
struct Reference {
  enum class Kind { Hub, Url, Ollama, LmStudio, LlamaCpp };
  Kind kind = Kind::Hub;
  std::string id;        ///< Hub: "OWNER/NAME"; other programs: their name of the model
  std::string revision;  ///< Hub: branch, tag or commit; "main" unless given
  std::string choice;    ///< file or quantisation; empty: any
  std::string url;       ///< Url: without its fragment
  std::string text;      ///< as written, for messages
};

/// Whether `text` has the form of a reference rather than of a path: begins with a known scheme.
bool is_reference(std::string_view text);

/// Throws Argument, with the form that is wanted.
Reference parse_reference(std::string_view text);

/// Whether `id` is OWNER/NAME: letters, digits and "_" with single "-", "." in between, one "/".
bool is_repository_id(std::string_view id);

/// Whether `text` is `digits` lower-case hexadecimal digits.
bool is_hex(std::string_view text, size_t digits);

/// Why `path` must not become a path inside a folder; null for one that may. Paths come from the
/// network.
const char* why_bad_path(std::string_view path);

}  // namespace tenon::hub
