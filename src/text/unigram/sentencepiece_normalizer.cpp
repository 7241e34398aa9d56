#include "text/unigram/sentencepiece_normalizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/huge_pages.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {

std::string SentencePieceNormalizer::normalize(System& system, std::string_view text,
                                               bool at_start) const {
  const std::string_view space = options_.escape_spaces ? kSpaceMark : std::string_view(" ");
  const auto spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
  std::string out = string_with_room(system, text.size() + (spaces + 1) * (space.size() - 1) + 1);
  const bool prefix = options_.add_prefix && at_start;
  if (prefix && !options_.space_as_suffix) out += space;
  const size_t most =
      std::min(kMaxBytes, kMaxGrowth * text.size() + 2 * CharsMap::kMaxReplacementBytes);
  bool after_space = options_.remove_extra_spaces;  // the next space is an extra one
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    std::string_view piece;
    if (const auto replaced = map_.find(text.substr(at))) {
      piece = replaced->text;
      at += replaced->size;
      if (out.size() > most) fail(Code::Limit, "text: more than {} bytes when normalized", most);
    } else {
      const uint32_t size = utf8_decode_valid(text.data() + at).size;
      piece = text.substr(at, size);
      at += size;
    }
    for (const char c : piece) {
      if (c == ' ' && after_space) continue;
      if (c == ' ') {
        out += space;
      } else {
        out.push_back(c);
        any = true;
      }
      after_space = c == ' ' && options_.remove_extra_spaces;
    }
  }
  if (!options_.remove_extra_spaces) any = any || !text.empty();
  if (!any) return {};
  if (options_.remove_extra_spaces) {
    while (std::string_view(out).ends_with(space)) out.resize(out.size() - space.size());
  }
  if (prefix && options_.space_as_suffix) out += space;
  return out;
}

}  // namespace tenon
