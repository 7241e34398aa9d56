// Options of an embedder (embedder_options.def).
#pragma once

#include <cstdint>
#include <optional>

#include "base/option_kinds.h"

namespace tenon {

/// How the rows of a text's tokens become its row. Values match TENON_POOLING_*.
enum class Pooling : int32_t {
  None = 0,   ///< no pooling: one row per token
  Mean = 1,   ///< their mean
  First = 2,  ///< the first row: [CLS]
  Last = 3,   ///< the last row
  Rank = 4,   ///< the classifier's scores
};

struct EmbedderOptions {
#define OPTION(key, member, kind, doc) decltype(kind)::Value member = option::initial(kind);
#define OPTION_APART(key, kind, doc)
#include "engine/embedder_options.def"
#undef OPTION
#undef OPTION_APART
};

}  // namespace tenon
