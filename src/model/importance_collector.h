// Computes the importance matrix of a model from a text: mean squares of the inputs of its products
// with weights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/model.h"
#include "quantize/importance.h"

namespace tenon {

struct ImportanceOptions {
  uint32_t chunk_tokens = 512;  ///< each part of the text is computed by itself
  uint64_t max_chunks = 0;      ///< 0: all
  bool parse_special = false;   ///< the text may spell control tokens
  bool with_output = false;     ///< also the output matrix
  std::string dataset{};        ///< name of the text, kept in the matrix
  /// Called after each step; returns false to cancel.
  std::function<bool(double fraction)> progress{};
};

/// Requires a model that was loaded with `product_inputs` and a context of at least `chunk_tokens`.
/// Tokens that do not fill the last part are left out. Holds the model's turn for a step at a time.
/// Throws Argument for a text shorter than a part, Format for sums that are not finite, naming the
/// weight, Cancelled, NoMemory, and the backend's errors.
ImportanceMatrix collect_importance(const Model& model, std::string_view text,
                                    const ImportanceOptions& options);

}  // namespace tenon
