// tenon_grammar_* and tenon_matcher_*.
#include "fence.h"
#include "grammar_handle.h"
#include "sampler_handle.h"
#include "text/chat_formats/json_scan.h"
#include "tokenizer_handle.h"
#include "values.h"

using namespace tenon::capi;

namespace {

std::string notes_json(const std::vector<tenon::grammar::SchemaNote>& notes) {
  std::string json = "[";
  for (const tenon::grammar::SchemaNote& note : notes) {
    json += json.size() > 1 ? R"(, {"pointer": )" : R"({"pointer": )";
    tenon::append_json_string(note.pointer, json);
    json += R"(, "keyword": )";
    if (note.keyword) {
      tenon::append_json_string(*note.keyword, json);
    } else {
      json += "null";
    }
    json += R"(, "reason": )";
    tenon::append_json_string(note.reason, json);
    json += note.as_any_of ? R"(, "instead": "anyOf"})" : "}";
  }
  return json + ']';
}

}  // namespace

tenon_grammar::tenon_grammar(std::shared_ptr<const tenon::Grammar> compiled)
    : grammar(std::move(compiled)), notes(notes_json(grammar->notes())) {}

tenon_status tenon_grammar_create(int32_t kind, const char* text, size_t length,
                                  tenon_grammar** grammar) {
  return fence([&] {
    tenon_grammar*& out = checked_out(grammar, "grammar");
    out = new tenon_grammar(tenon::Grammar::compile(static_cast<tenon::GrammarKind>(kind),
                                                    text_in(text, length, "text")));
  });
}

void tenon_grammar_destroy(tenon_grammar* grammar) { destroy(grammar); }

tenon_status tenon_grammar_compile(int32_t kind, const char* text, size_t length, uint32_t flags,
                                   const tenon_tokenizer* tokenizer,
                                   tenon_stop_callback should_stop, void* user,
                                   tenon_grammar** grammar) {
  return fence([&] {
    tenon_grammar*& out = checked_out(grammar, "grammar");
    check_flags(flags, TENON_GRAMMAR_LENIENT);
    tenon::grammar::MaskCache* const masks =
        tokenizer != nullptr ? checked(tokenizer).masks.get() : nullptr;
    StopWatch watch(should_stop, user);
    auto made = tenon::Grammar::compile(
        static_cast<tenon::GrammarKind>(kind), text_in(text, length, "text"),
        {.watch = &watch, .lenient = (flags & TENON_GRAMMAR_LENIENT) != 0});
    if (masks != nullptr) (void)masks->of(made, &watch);
    out = new tenon_grammar(std::move(made));
  });
}

tenon_status tenon_grammar_notes(const tenon_grammar* grammar, const char** json, size_t* length) {
  return fence([&] {
    const char*& data = checked_out(json, "json");
    size_t& size = checked_out(length, "length");
    const tenon_grammar& of_handle = checked(grammar);
    data = of_handle.notes.c_str();
    size = of_handle.notes.size();
  });
}

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

void tenon_grammar_cache_destroy(tenon_grammar_cache* cache) { destroy(cache); }

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
    auto masks = checked(tokenizer).masks->of(checked(grammar).grammar);
    of_handle.set_grammar(std::make_unique<tenon::GrammarMatcher>(std::move(masks)));
  });
}

tenon_status tenon_sampler_set_token_limit(tenon_sampler* sampler, uint64_t tokens) {
  return fence([&] {
    tenon_sampler& limited = checked(sampler);
    limited.sampler.set_token_limit(tokens);
    limited.ends.tokens_left = tokens == 0 ? UINT64_MAX : tokens;
  });
}

tenon_status tenon_matcher_create(const tenon_grammar* grammar, const tenon_tokenizer* tokenizer,
                                  tenon_matcher** matcher) {
  return fence([&] {
    tenon_matcher*& out = checked_out(matcher, "matcher");
    const tenon_grammar& of_handle = checked(grammar);
    out = new tenon_matcher(checked(tokenizer).masks->of(of_handle.grammar));
  });
}

void tenon_matcher_destroy(tenon_matcher* matcher) { destroy(matcher); }

tenon_status tenon_matcher_fork(tenon_matcher* matcher, tenon_matcher** fork) {
  return fence([&] {
    const tenon_matcher& from = checked(matcher);
    tenon_matcher*& out = checked_out(fork, "fork");
    out = new tenon_matcher(from.matcher);
  });
}

tenon_status tenon_matcher_reset(tenon_matcher* matcher) {
  return fence([&] { checked(matcher).matcher.restart(); });
}

tenon_status tenon_matcher_set_token_limit(tenon_matcher* matcher, uint64_t tokens) {
  return fence([&] { checked(matcher).matcher.set_token_limit(tokens); });
}

tenon_status tenon_matcher_allows(tenon_matcher* matcher, tenon_token token, int32_t* allowed) {
  return fence([&] {
    tenon::GrammarMatcher& of_handle = checked(matcher).matcher;
    checked_out(allowed, "allowed") = of_handle.allows(token) ? 1 : 0;
  });
}

tenon_status tenon_matcher_mask(tenon_matcher* matcher, uint64_t* words, size_t capacity,
                                size_t* num_words) {
  return fence([&] {
    tenon::GrammarMatcher& of_handle = checked(matcher).matcher;
    const size_t needed = of_handle.mask_words();
    if (capacity < needed) {  // size query: computes nothing
      checked_out(num_words, "num_words") = needed;
      return;
    }
    fill_buffer(of_handle.mask(true), words, capacity, num_words);
  });
}

tenon_status tenon_matcher_accept_token(tenon_matcher* matcher, tenon_token token) {
  return fence([&] { checked(matcher).matcher.accept(token); });
}

tenon_status tenon_matcher_accept_text(tenon_matcher* matcher, const char* text, size_t length,
                                       int32_t* accepted) {
  return fence([&] {
    tenon::GrammarMatcher& of_handle = checked(matcher).matcher;
    int32_t& out = checked_out(accepted, "accepted");
    out = of_handle.accept_text(text_in(text, length, "text")) ? 1 : 0;
  });
}

tenon_status tenon_matcher_roll_back(tenon_matcher* matcher, size_t num_tokens) {
  return fence([&] { checked(matcher).matcher.roll_back(num_tokens); });
}

tenon_status tenon_matcher_state(tenon_matcher* matcher, int32_t* complete, int32_t* ended) {
  return fence([&] {
    const tenon::GrammarMatcher& of_handle = checked(matcher).matcher;
    if (complete != nullptr) *complete = of_handle.is_complete() ? 1 : 0;
    if (ended != nullptr) *ended = of_handle.is_ended() ? 1 : 0;
  });
}

tenon_status tenon_matcher_forced_text(tenon_matcher* matcher, char* text, size_t capacity,
                                       size_t* length) {
  return fence([&] {
    const std::string forced = checked(matcher).matcher.forced_text();
    fill_buffer(std::span<const char>(forced), text, capacity, length);
  });
}
