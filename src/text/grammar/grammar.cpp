#include "text/grammar/grammar.h"

#include <algorithm>

#include "text/grammar/canonical_json.h"
#include "text/grammar/control_bytes.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_value.h"
#include "text/grammar/lark.h"
#include "text/grammar/pushdown_machine.h"
#include "text/grammar/regex.h"
#include "text/grammar/schema.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {

using namespace grammar;

namespace {

constexpr size_t kMaxChoices = 50'000;

void read_choices(std::span<const std::string> choices, Nfa& nfa) {
  Budget& budget = nfa.budget();
  if (choices.empty()) budget.refuse("there are no choices: no token can follow");
  if (choices.size() > kMaxChoices) budget.refuse("more than {} choices", kMaxChoices);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (utf8_valid_prefix(choices[i]) == choices[i].size()) continue;
    budget.refuse("choice {} is not UTF-8", i);
  }
  (void)nfa.add_rule("");
  const uint32_t final = nfa.rule(0).final;
  add_dfa(nfa, of_texts(choices, true, budget), nfa.rule(0).start,
          [final](uint32_t) { return final; });
}

void read_choice_list(std::string_view text, Nfa& nfa) {
  const JsonDocument document(text, nfa.budget());
  const JsonValue& root = document.root();
  std::vector<std::string> choices;
  if (root.kind != JsonValue::Kind::Array) nfa.budget().refuse("a choice list is a JSON array");
  for (const JsonValue& item : root.items) {
    if (item.kind != JsonValue::Kind::String) {
      nfa.budget().refuse("choice {} is no string", choices.size());
    }
    choices.push_back(item.text);
  }
  read_choices(choices, nfa);
}

void read_regex(std::string_view text, Nfa& nfa) {
  (void)nfa.add_rule("");
  const uint32_t final = nfa.rule(0).final;
  add_dfa(nfa, regex_dfa(text, false, nfa.budget()), nfa.rule(0).start,
          [final](uint32_t) { return final; });
}

}  // namespace

std::shared_ptr<const Grammar> Grammar::compile(GrammarKind kind, std::string_view text,
                                                const CompileOptions& options) {
  KeptParts parts;
  return compile(kind, text, parts, options);
}

std::shared_ptr<const Grammar> Grammar::compile(GrammarKind kind, std::string_view text,
                                                KeptParts& parts, const CompileOptions& options) {
  if (options.lenient) {
    if (kind != GrammarKind::JsonSchema) {
      fail(Code::Argument, "grammar: only a JSON schema is compiled leniently");
    }
    return compile_leniently(text, parts, options.watch);
  }
  Budget budget(options.watch);
  Nfa nfa(budget);
  switch (kind) {
    case GrammarKind::JsonSchema:
      read_schema(text, nfa, parts);
      break;
    case GrammarKind::Gbnf:
      read_gbnf(text, nfa);
      break;
    case GrammarKind::Regex:
      read_regex(text, nfa);
      break;
    case GrammarKind::Lark:
      (void)read_lark(text, nfa);
      break;
    case GrammarKind::Choices:
      read_choice_list(text, nfa);
      break;
    default:
      fail(Code::Argument, "grammar: kind {} is none of 1..5", static_cast<uint32_t>(kind));
  }
  return std::shared_ptr<const Grammar>(new Grammar(std::make_shared<const Automaton>(nfa), kind));
}

std::shared_ptr<const Grammar> Grammar::compile_leniently(std::string_view text, KeptParts& parts,
                                                          WorkWatch* watch) {
  Budget all(watch);
  LenientReader reader(text, all);
  for (;;) {
    Budget budget = all.for_part();
    Nfa nfa(budget);
    std::vector<Refusal> refusals;
    try {
      read_schema(reader.root(), nfa, parts, &refusals);
      if (refusals.empty()) {
        auto grammar = std::shared_ptr<Grammar>(
            new Grammar(std::make_shared<const Automaton>(nfa), GrammarKind::JsonSchema));
        grammar->notes_ = std::move(reader.notes());
        return grammar;
      }
    } catch (const Refusal& refusal) {
      if (reader.root().kind == JsonValue::Kind::True) throw;  // nothing is left to drop
      // Without the refused keywords the schema may have no value, but not without what goes with
      // them.
      const bool is_placed = refusal.place != nullptr || refusal.reader != nullptr;
      if (refusals.empty() || refusal.is_limit || is_placed) refusals.push_back(refusal);
    }
    reader.leave_out(refusals);
  }
}

std::shared_ptr<const Grammar> Grammar::of_choices(std::span<const std::string> choices) {
  Budget budget;
  Nfa nfa(budget);
  read_choices(choices, nfa);
  return std::shared_ptr<const Grammar>(
      new Grammar(std::make_shared<const Automaton>(nfa), GrammarKind::Choices));
}

std::shared_ptr<const Grammar> Grammar::written_by(const std::function<void(Nfa&)>& write,
                                                   std::vector<std::string> marks,
                                                   WorkWatch* watch) {
  if (marks.size() > kMaxMarks) {
    fail(Code::Internal, "grammar: {} control tokens, at most {}", marks.size(), kMaxMarks);
  }
  Budget budget(watch);
  Nfa nfa(budget);
  (void)nfa.add_rule("");
  write(nfa);
  auto grammar = std::shared_ptr<Grammar>(
      new Grammar(std::make_shared<const Automaton>(nfa), GrammarKind::Written));
  grammar->marks_ = std::move(marks);
  return grammar;
}

bool Grammar::accepts(std::string_view text) const {
  std::string marked(marks_.empty() ? std::string_view() : text);
  for (size_t i = 0; i < marks_.size(); ++i) {
    const std::string byte(1, static_cast<char>(mark_byte(i)));
    for (size_t at = marked.find(marks_[i]); at != marked.npos; at = marked.find(marks_[i], at)) {
      marked.replace(at, marks_[i].size(), byte);
    }
  }
  if (!marks_.empty()) text = marked;
  // Live memory grows with the nesting of the text. Collecting only after memory has doubled keeps
  // the time linear.
  constexpr size_t kMachineBytes = size_t{32} << 20, kMostBytes = size_t{256} << 20;
  size_t collect_at = kMachineBytes;
  using Purpose = PushdownMachine::Purpose;
  const bool is_schema = kind_ == GrammarKind::JsonSchema;
  const bool names_differ = is_schema && automaton_->has_name_kinds() && !repeats_a_name(text);
  PushdownMachine machine(automaton_, names_differ ? Purpose::CheckDistinct
                                      : is_schema  ? Purpose::Check
                                                   : Purpose::Generate);
  Config config = machine.start();
  const auto read = [&](std::string_view piece) {
    for (const char c : piece) config = machine.step(config, static_cast<uint8_t>(c));
    if (machine.size_bytes() > collect_at) {
      machine.collect({&config, 1});
      collect_at = std::max(collect_at, 2 * machine.size_bytes());
      if (collect_at > kMostBytes) {
        fail(Code::Limit, "grammar: the text nests too deep: {} MiB to remember",
             machine.size_bytes() >> 20);
      }
    }
    return config != kNowhere;
  };
  if (kind_ == GrammarKind::JsonSchema)
    return canonical_json(text, read) && machine.accepts(config);
  constexpr size_t kPiece = 4096;
  while (!text.empty() && read(text.substr(0, kPiece))) {
    text.remove_prefix(std::min(text.size(), kPiece));
  }
  return config != kNowhere && machine.accepts(config);
}

std::shared_ptr<const Grammar> GrammarCache::get(
    GrammarKind kind, std::string_view text,
    const std::function<std::shared_ptr<const Grammar>()>& make) {
  const Hash128 key = hash_bytes(std::as_bytes(std::span(text)), static_cast<uint64_t>(kind));
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found != by_key_.end() && found->second->text == text && found->second->kind == kind) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->grammar;
    }
  }
  // Without the lock, so that other threads can continue.
  auto grammar = make();
  const size_t bytes = grammar->size_bytes() + text.size() + sizeof(Entry);
  const std::lock_guard lock(mutex_);
  if (bytes > limit_bytes_ || by_key_.contains(key)) return grammar;
  while (bytes_ + bytes > limit_bytes_) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, std::string(text), kind, grammar, bytes});
  by_key_.emplace(key, entries_.begin());
  bytes_ += bytes;
  return grammar;
}

size_t GrammarCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

size_t GrammarCache::num_grammars() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace tenon
