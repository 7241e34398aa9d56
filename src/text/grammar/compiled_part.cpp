#include "text/grammar/compiled_part.h"

#include <map>
#include <utility>

namespace tenon::grammar {
namespace {

/// Collects the rules of a part in the order of discovery.
class PartMaker {
 public:
  explicit PartMaker(const Nfa& nfa) : nfa_(nfa) {}

  CompiledPart make() {
    (void)number_of(0);
    for (size_t i = 0; i < order_.size(); ++i) part_.rules.push_back(compile(order_[i]));
    // Imports follow the rules, whose number is known at this point.
    const auto num_rules = static_cast<uint32_t>(part_.rules.size());
    for (CompiledRule& rule : part_.rules) {
      for (Special& special : rule.specials) {
        if (special.kind == EdgeKind::Call && special.data >= kImport) {
          special.data = special.data - kImport + num_rules;
        }
      }
    }
    return std::move(part_);
  }

 private:
  static constexpr uint32_t kImport = uint32_t{1} << 31;

  uint32_t number_of(uint32_t rule) {
    const NfaRule& of_nfa = nfa_.rules()[rule];
    if (of_nfa.linked == nullptr) {
      const auto [at, is_new] = numbers_.try_emplace(rule, static_cast<uint32_t>(order_.size()));
      if (is_new) order_.push_back(rule);
      return at->second;
    }
    const auto& import = of_nfa.linked->part;
    const auto [at, is_new] =
        imports_.try_emplace(import.get(), static_cast<uint32_t>(part_.imports.size()));
    if (is_new) part_.imports.push_back(import);
    return kImport + at->second;
  }

  CompiledRule compile(uint32_t rule) {
    const NfaRule& of_nfa = nfa_.rules()[rule];
    Subsets subsets = make_deterministic(nfa_, of_nfa.start, of_nfa.final);
    CompiledRule result;
    result.states = std::move(subsets.dfa);
    result.counts = of_nfa.counts;
    if (of_nfa.object != kNoObject) result.object = nfa_.objects[of_nfa.object];
    std::map<uint32_t, uint32_t> actions;
    for (const std::vector<Special>& of_state : subsets.specials) {
      for (Special special : of_state) {
        if (special.kind == EdgeKind::Call) {
          special.data = number_of(special.data);
        } else {
          const auto [at, is_new] =
              actions.try_emplace(special.data, static_cast<uint32_t>(result.actions.size()));
          if (is_new) result.actions.push_back(nfa_.actions()[special.data]);
          special.data = at->second;
        }
        result.specials.push_back(special);
      }
      result.special_begin.push_back(static_cast<uint32_t>(result.specials.size()));
    }
    return result;
  }

  const Nfa& nfa_;
  CompiledPart part_;
  std::vector<uint32_t> order_;
  std::map<uint32_t, uint32_t> numbers_;
  std::map<const CompiledPart*, uint32_t> imports_;
};

}  // namespace

CompiledPart compile_part(const Nfa& nfa) { return PartMaker(nfa).make(); }

size_t CompiledPart::size_bytes() const {
  size_t size = sizeof(CompiledPart) + imports.size() * sizeof(imports[0]) +
                payments.capacity() * sizeof(payments[0]);
  for (const CompiledRule& rule : rules) {
    size += sizeof(CompiledRule) + rule.states.size() * 3 * sizeof(uint32_t) +
            rule.states.ranges.capacity() * sizeof(ByteRange) +
            rule.specials.capacity() * sizeof(Special) + rule.actions.capacity() * sizeof(Action);
    if (!rule.object) continue;
    for (const ObjectSpec::Property& property : rule.object->properties) {
      size += sizeof(property) + property.needs.capacity() * sizeof(uint32_t);
    }
  }
  return size;
}

uint32_t Nfa::link(const std::shared_ptr<const CompiledPart>& part) {
  const auto known = linked_.find(part.get());
  if (known != linked_.end()) return known->second;
  auto linked = std::make_shared<LinkedPart>();
  linked->part = part;
  linked->imports.reserve(part->imports.size());
  for (const auto& import : part->imports) linked->imports.push_back(link(import));
  linked->first_rule = static_cast<uint32_t>(rules_.size());
  budget_->spend(part->rules.size());
  for (uint32_t i = 0; i < part->rules.size(); ++i) {
    const CompiledRule& compiled = part->rules[i];
    NfaRule rule;
    rule.linked = linked;
    rule.part_rule = i;
    rule.first_action = static_cast<uint32_t>(actions_.size());
    rule.counts = compiled.counts;
    rule.unit = budget_->unit();
    if (compiled.object) {
      rule.object = static_cast<uint32_t>(objects.size());
      objects.push_back(*compiled.object);
    }
    for (Action action : compiled.actions) {
      if (action.object != kNoObject) action.object = rule.object;
      actions_.push_back(action);
    }
    rules_.push_back(std::move(rule));
  }
  linked_.emplace(part.get(), linked->first_rule);
  return linked->first_rule;
}

}  // namespace tenon::grammar
