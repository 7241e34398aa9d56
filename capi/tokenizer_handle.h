// The object behind a tokenizer handle: a view into a model handle, or a tokenizer of its own.
#pragma once

#include <memory>

#include "handle.h"
#include "text/grammar/mask_cache.h"
#include "text/tokenizer/tokenizer.h"

struct tenon_tokenizer : tenon::capi::Handle<tenon_tokenizer> {
  static constexpr auto kMagic = tenon::capi::Magic::Tokenizer;
  static constexpr const char* kName = "tokenizer";

  /// Of a model, and destroyed with its handle `whole`.
  tenon_tokenizer(const std::shared_ptr<const tenon::Tokenizer>& of_model,
                  const tenon::capi::HandleBase& whole)
      : tokenizer(*of_model), masks(std::make_unique<tenon::grammar::MaskCache>(of_model)) {
    be_part_of(whole);
  }
  explicit tenon_tokenizer(std::unique_ptr<const tenon::Tokenizer> own)
      : owned(std::move(own)),
        tokenizer(*owned),
        masks(std::make_unique<tenon::grammar::MaskCache>(owned)) {}

  const std::shared_ptr<const tenon::Tokenizer> owned = nullptr;  ///< null for a model's
  const tenon::Tokenizer& tokenizer;
  /// What grammars need of the vocabulary; any thread.
  std::unique_ptr<tenon::grammar::MaskCache> masks;
};
