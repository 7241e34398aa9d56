// Objects behind grammar handles; text/grammar/ implements grammars.
#pragma once

#include <memory>
#include <string>

#include "fence.h"
#include "handle.h"
#include "text/grammar/grammar.h"
#include "text/grammar/matcher.h"

struct tenon_grammar : tenon::capi::Handle<tenon_grammar> {
  static constexpr auto kMagic = tenon::capi::Magic::Grammar;
  static constexpr const char* kName = "grammar";

  explicit tenon_grammar(std::shared_ptr<const tenon::Grammar> compiled);
  std::shared_ptr<const tenon::Grammar> grammar;
  std::string notes;  ///< JSON
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

namespace tenon::capi {

/// Ends a compilation when the host's callback asks for it.
class StopWatch : public WorkWatch {
 public:
  StopWatch(tenon_stop_callback should_stop, void* user) : should_stop_(should_stop), user_(user) {}

  void look() override {
    if (should_stop_ == nullptr) return;
    if (call_host("should_stop", [&] { return should_stop_(user_); }) == 0) return;
    fail(Code::Cancelled, "grammar: cancelled while it was compiled");
  }

 private:
  tenon_stop_callback should_stop_;
  void* user_;
};

}  // namespace tenon::capi
