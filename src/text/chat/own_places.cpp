#include "text/chat/own_places.h"

#include <array>
#include <span>

namespace tenon {
namespace {

constexpr std::array<std::string_view, 3> kIdRanges{"09", "az", "AZ"};

uint32_t add_id(grammar::Nfa& nfa, uint32_t from, int length,
                std::span<const std::string_view> ranges) {
  for (int i = 0; i < length; ++i) {
    const uint32_t next = nfa.add_node();
    for (const std::string_view range : ranges) {
      nfa.add_bytes(from, static_cast<uint8_t>(range[0]), static_cast<uint8_t>(range[1]), next);
    }
    from = next;
  }
  return from;
}

uint32_t add_number(grammar::Nfa& nfa, uint32_t from) {
  const uint32_t after = nfa.add_node();
  nfa.add_bytes(from, '0', '9', after);
  const uint32_t second = nfa.add_node();
  nfa.add_bytes(from, '1', '9', second);
  nfa.add_bytes(second, '0', '9', after);
  return after;
}

}  // namespace

uint32_t add_own_place(grammar::Nfa& nfa, std::string_view name, uint32_t from) {
  if (name == "number") return add_number(nfa, from);
  if (name == "id") return add_id(nfa, from, 9, kIdRanges);
  return add_id(nfa, from, 10, std::span(kIdRanges).first(2));
}

}  // namespace tenon
