// tenon_grammar_*.
#include "fence.h"
#include "grammar_handle.h"
#include "sampler_handle.h"
#include "tokenizer_handle.h"
#include "values.h"

using namespace tenon::capi;

tenon_status tenon_grammar_create(int32_t kind, const char* text, size_t length,
                                  tenon_grammar** grammar) {
  return fence([&] {
    tenon_grammar*& out = checked_out(grammar, "grammar");
    out = new tenon_grammar(tenon::Grammar::compile(static_cast<tenon::GrammarKind>(kind),
                                                    text_in(text, length, "text")));
  });
}

void tenon_grammar_destroy(tenon_grammar* grammar) { delete live_or_null(grammar); }

tenon_status tenon_grammar_accepts(const tenon_grammar* grammar, const char* text, size_t length,
                                   int32_t* accepted) {
  return fence([&] {
    int32_t& out = checked_out(accepted, "accepted");
    out = checked(grammar).grammar->accepts(text_in(text, length, "text")) ? 1 : 0;
  });
}

tenon_status tenon_grammar_cache_create(uint64_t limit_bytes, tenon_grammar_cache** cache) {
  return fence([&] {
    tenon_grammar_cache*& out = checked_out(cache, "cache");
    out = new tenon_grammar_cache(limit_bytes);
  });
}

void tenon_grammar_cache_destroy(tenon_grammar_cache* cache) { delete live_or_null(cache); }

tenon_status tenon_grammar_cache_get(tenon_grammar_cache* cache, int32_t kind, const char* text,
                                     size_t length, tenon_grammar** grammar) {
  return fence([&] {
    tenon_grammar*& out = checked_out(grammar, "grammar");
    out = new tenon_grammar(checked(cache).cache.compile(static_cast<tenon::GrammarKind>(kind),
                                                         text_in(text, length, "text")));
  });
}

tenon_status tenon_sampler_set_grammar(tenon_sampler* sampler, const tenon_grammar* grammar,
                                       const tenon_tokenizer* tokenizer) {
  return fence([&] {
    tenon::Sampler& of_handle = checked(sampler).sampler;
    if (grammar == nullptr) return of_handle.set_grammar(nullptr);
    auto masks = std::make_shared<const tenon::grammar::TokenMasks>(
        checked(grammar).grammar, checked(tokenizer).token_set());
    of_handle.set_grammar(std::make_unique<tenon::GrammarMatcher>(std::move(masks)));
  });
}

tenon_status tenon_sampler_set_token_limit(tenon_sampler* sampler, uint64_t tokens) {
  return fence([&] {
    tenon::GrammarMatcher* const matcher = checked(sampler).sampler.grammar();
    if (matcher == nullptr) tenon::fail(tenon::Code::State, "the sampler has no grammar");
    matcher->set_token_limit(tokens);
  });
}
