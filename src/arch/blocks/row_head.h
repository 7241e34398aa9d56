// The head of a model that gives rows instead of logits: pooling, and a classifier if the file has
// one.
#pragma once

#include "arch/build_context.h"
#include "arch/keys/keys.h"
#include "file/model_file.h"

namespace tenon {

/// Pools or classifies the rows of a text's tokens, x [T, width]:
///   encoder   [S, width] pooled, or the scores [S, labels] of its classifier
///   decoder   x itself, or the scores [R, labels] of the wanted rows
/// A decoder's text may arrive in slices, so the engine pools its rows.
Slot row_head(BuildContext& context, Slot x);

/// Reads the classifier of a file that ranks texts, "cls" and "cls.output" (llama.cpp's names), and
/// its pooling. A file without the key ranks if it has "cls.output". Throws Format if the
/// classifier is missing.
void read_classifier(const ModelFile& file, const Keys& keys, ModelSpec& model);

/// The pooling of the key pooling_type, numbered as in llama.cpp. Returns `fallback` if the key is
/// missing, or says none or classifier. Throws Unsupported for others.
uint32_t read_pooling(const Keys& keys, uint32_t fallback);

}  // namespace tenon
