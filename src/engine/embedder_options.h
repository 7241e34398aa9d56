// What a host may say of an embedder (embedder_options.def).
#pragma once

#include <cstdint>
#include <optional>

#include "base/option_kinds.h"

namespace tenon {

/// What becomes of the rows of a text's tokens. The values are those of TENON_POOLING_*.
enum class Pooling : int32_t {
  None = 0,   ///< they stay: a row for each token
  Mean = 1,   ///< their mean
  First = 2,  ///< the first one: [CLS]
  Last = 3,   ///< the last one
  Rank = 4,   ///< the scores of the classifier
};

struct EmbedderOptions {
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "engine/embedder_options.def"
#undef OPTION
#undef OPTION_APART
};

}  // namespace tenon
