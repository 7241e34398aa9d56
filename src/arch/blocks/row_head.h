// The end of a model that gives rows in place of logits: pooling, and a classifier where the file has
// one.
#pragma once

#include "arch/build_context.h"
#include "arch/keys/keys.h"
#include "file/model_file.h"

namespace tenon {

/// What the rows of a text's tokens, x [T, width], become:
///   of an encoder   [S, width] pooled, or the scores [S, labels] of its classifier
///   of a decoder    x itself, or the scores [R, labels] of the wanted rows
/// A decoder's text may come in slices, so its rows are pooled where they have all arrived.
Slot row_head(BuildContext& context, Slot x);

/// The classifier of a file that says it ranks texts, "cls" and "cls.output" (llama.cpp's names), and
/// the pooling that goes with it. A file that says nothing ranks if it has "cls.output". Throws
/// Format where the classifier is missing.
void read_classifier(const ModelFile& file, const Keys& keys, ModelSpec& model);

/// The kind that pooling_type says, as llama.cpp counts them; `fallback` where it says none, nothing
/// or a classifier. Throws Unsupported for others.
uint32_t read_pooling(const Keys& keys, uint32_t fallback);

}  // namespace tenon
