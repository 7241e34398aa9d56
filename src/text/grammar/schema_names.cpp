#include "text/grammar/schema_names.h"

namespace tenon::grammar {

Dfa names_by_kind(const Dfa& keys, const Alternative& alternative, uint32_t kinds, Budget& budget) {
  Dfa sums;
  for (uint32_t sum = 0; sum < kinds; ++sum) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const auto one = static_cast<uint8_t>(byte);
      sums.ranges.push_back({one, one, (sum + byte) % kinds});
    }
    sums.begin.push_back(static_cast<uint32_t>(sums.ranges.size()));
    sums.label.push_back(sum + 1);
  }
  const Dfa* const both[] = {&keys, &sums};
  return combine(
      both,
      [&](std::span<const uint32_t> labels) -> uint32_t {
        if (labels[0] == 0) return 0;
        const bool named = alternative.classes[labels[0] - 1].name.has_value();
        return (labels[0] - 1) * kinds + (named ? 1 : labels[1]);
      },
      budget);
}

bool any_order_of(const JsonValue& root, Budget& budget) {
  const JsonValue* const options = root.find("x-tenon");
  if (options == nullptr) return false;
  budget.set_place("#/x-tenon");
  if (options->kind != JsonValue::Kind::Object) budget.refuse("x-tenon is an object");
  bool any = false;
  for (const auto& [name, value] : options->members) {
    const bool known = name == "property_order" && value.kind == JsonValue::Kind::String &&
                       (value.text == "any" || value.text == "schema");
    if (!known) budget.refuse(R"(x-tenon has "property_order", which is "schema" or "any")");
    any = value.text == "any";
  }
  budget.set_place("");
  return any;
}

}  // namespace tenon::grammar
