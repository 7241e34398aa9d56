// The objects behind grammar handles; what a grammar is lives in text/grammar/.
#pragma once

#include <memory>

#include "handle.h"
#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"

struct tenon_grammar : tenon::capi::Handle<tenon_grammar> {
  static constexpr auto kMagic = tenon::capi::Magic::Grammar;
  static constexpr const char* kName = "grammar";

  explicit tenon_grammar(std::shared_ptr<const tenon::Grammar> compiled)
      : grammar(std::move(compiled)) {}
  std::shared_ptr<const tenon::Grammar> grammar;
};

struct tenon_grammar_cache : tenon::capi::Handle<tenon_grammar_cache> {
  static constexpr auto kMagic = tenon::capi::Magic::GrammarCache;
  static constexpr const char* kName = "grammar cache";

  explicit tenon_grammar_cache(size_t limit_bytes) : cache(limit_bytes) {}
  tenon::GrammarCache cache;
};

struct tenon_matcher : tenon::capi::Handle<tenon_matcher> {
  static constexpr auto kMagic = tenon::capi::Magic::Matcher;
  static constexpr const char* kName = "matcher";

  explicit tenon_matcher(std::shared_ptr<const tenon::grammar::TokenMasks> masks)
      : matcher(std::move(masks)) {}
  explicit tenon_matcher(const tenon::GrammarMatcher& from) : matcher(from) {}
  tenon::GrammarMatcher matcher;
};
