// Object behind a tokenizer handle: a view into a model handle, or a separate tokenizer.
#pragma once

#include <memory>

#include "handle.h"
#include "text/grammar/mask_cache.h"
#include "text/tokenizer/tokenizer.h"

struct tenon_tokenizer : tenon::capi::Handle<tenon_tokenizer> {
  static constexpr auto kMagic = tenon::capi::Magic::Tokenizer;
  static constexpr const char* kName = "tokenizer";

  /// Tokenizer of a model; destroyed with the model's handle `whole`.
  tenon_tokenizer(const std::shared_ptr<const tenon::Tokenizer>& of_model,
                  const tenon::capi::HandleBase& whole)
      : tokenizer(*of_model), masks(std::make_unique<tenon::grammar::MaskCache>(of_model)) {
    be_part_of(whole);
  }
  explicit tenon_tokenizer(std::unique_ptr<const tenon::Tokenizer> own)
      : owned(std::move(own)),
        tokenizer(*owned),
        masks(std::make_unique<tenon::grammar::MaskCache>(owned)) {}

  const std::shared_ptr<const tenon::Tokenizer> owned = nullptr;  ///< null for a model's tokenizer
  const tenon::Tokenizer& tokenizer;
  /// Vocabulary data for grammars. Thread-safe.
  std::unique_ptr<tenon::grammar::MaskCache> masks;
};
