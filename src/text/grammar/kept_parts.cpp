#include "text/grammar/kept_parts.h"

#include <span>

namespace tenon::grammar {
namespace {

size_t size_of(const Dfa& dfa) {
  return dfa.begin.capacity() * sizeof(uint32_t) + dfa.ranges.capacity() * sizeof(ByteRange) +
         dfa.label.capacity() * sizeof(uint32_t);
}

BudgetUse difference(const BudgetUse& after, const BudgetUse& before) {
  return {.work = after.work - before.work,
          .parts = after.parts - before.parts,
          .nodes = after.nodes - before.nodes,
          .states = after.states - before.states};
}

/// Kinds of keys, part of the hash.
enum class Keyed : uint64_t { Dfa = 1, Limited, Piece, Schema };

Hash128 hash_of(Keyed kind, std::string_view key) {
  return hash_bytes(std::as_bytes(std::span(key)), static_cast<uint64_t>(kind));
}

/// Cached value of `key`, or the result of `make`; charges the budget.
template <typename Charged, typename Make, typename Size>
std::shared_ptr<const Charged> kept_or_made(KeptByText<Charged>& all, Keyed kind,
                                            const std::string& key, Budget& budget,
                                            const Make& make, const Size& size) {
  if (auto kept = all.find(key)) {
    budget.charge(kept->use);
    budget.pay(kept->payment);
    return kept;
  }
  const BudgetUse before = budget.used();
  const uint64_t own_before = budget.own_work();
  auto made = std::make_shared<Charged>(Charged{make(), {}, {}});
  made->use = difference(budget.used(), before);
  made->payment = budget.pay_for_own(hash_of(kind, key), own_before);
  const size_t bytes = sizeof(Charged) + size(made->value);
  return all.add(key, std::move(made), bytes);
}

std::shared_ptr<const CompiledPart> part_of(KeptByText<CompiledPart>& all, Keyed kind,
                                            std::string_view key, Budget& budget,
                                            const std::function<void(Nfa&)>& write) {
  std::shared_ptr<const CompiledPart> kept = all.find(key);
  if (kept == nullptr) {
    Budget own = budget.for_part();
    Nfa nfa(own);
    write(nfa);
    auto made = std::make_shared<CompiledPart>(compile_part(nfa));
    made->use = own.used();
    (void)own.pay_for_own(hash_of(kind, key), 0);
    made->payments = own.take_payments();
    const size_t bytes = made->size_bytes();
    kept = all.add(key, std::move(made), bytes);
  }
  budget.charge(kept->use);
  for (const Budget::Payment& payment : kept->payments) budget.pay(payment);
  return kept;
}

}  // namespace

std::shared_ptr<const Dfa> KeptParts::dfa(const std::string& key, Budget& budget,
                                          const std::function<Dfa()>& make) {
  const auto made = [&] {
    Dfa dfa = make();
    dfa.number = DfaNumber(next_number_.fetch_add(1, std::memory_order_relaxed));
    return dfa;
  };
  const auto kept = kept_or_made(dfas_, Keyed::Dfa, key, budget, made, size_of);
  return {kept, &kept->value};
}

std::shared_ptr<const LimitedTexts> KeptParts::limited(const std::string& key, Budget& budget,
                                                       const std::function<LimitedTexts()>& make) {
  const auto made = [&] {
    LimitedTexts texts = make();
    texts.number = next_number_.fetch_add(1, std::memory_order_relaxed);
    return texts;
  };
  const auto kept =
      kept_or_made(limited_, Keyed::Limited, key, budget, made, [](const LimitedTexts& limited) {
        return size_of(*limited.texts) +
               (limited.counted ? limited.counted->below.capacity() * sizeof(uint32_t) : 0);
      });
  return {kept, &kept->value};
}

std::shared_ptr<const CompiledPart> KeptParts::piece(const std::string& key, Budget& budget,
                                                     const std::function<void(Nfa&)>& write) {
  return part_of(pieces_, Keyed::Piece, key, budget, write);
}

std::shared_ptr<const CompiledPart> KeptParts::schema(std::string_view text, Budget& budget,
                                                      const std::function<void(Nfa&)>& write) {
  return part_of(schemas_, Keyed::Schema, text, budget, write);
}

}  // namespace tenon::grammar
