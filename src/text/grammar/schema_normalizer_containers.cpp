// SchemaNormalizer: keywords of arrays and objects.
#include <algorithm>

#include "text/grammar/schema_normalizer.h"

namespace tenon::grammar {

SchemaDnf SchemaNormalizer::of_items(const JsonValue& schema, bool negated) {
  const JsonValue* prefix = schema.find("prefixItems");
  const JsonValue* items = schema.find("items");
  // Drafts before 2020-12 write prefixItems so; in 2020-12 a list has no other meaning.
  if (items != nullptr && items->kind == JsonValue::Kind::Array && prefix == nullptr) {
    prefix = items->items.empty() ? nullptr : items;
    items = schema.find("additionalItems");
  }
  if (prefix != nullptr && (prefix->kind != JsonValue::Kind::Array || prefix->items.empty())) {
    index_.set_place(*prefix);
    budget_.refuse("prefixItems is a list of schemas that is not empty");
  }
  const size_t fixed = prefix == nullptr ? 0 : prefix->items.size();
  Shape shape;
  if (!negated) {
    for (size_t i = 0; i < fixed; ++i) shape.array.prefix.push_back(only(prefix->items[i], false));
    if (items != nullptr) shape.array.items = only(*items, false);
    shape.array.evaluated = items != nullptr ? UINT64_MAX : fixed;
    return {shape};
  }
  SchemaDnf result;
  for (size_t i = 0; i < fixed; ++i) {
    Shape other;
    other.array.minimum = i + 1;
    other.array.prefix.assign(i + 1, {});
    other.array.prefix[i] = only(prefix->items[i], true);
    result.push_back(other);
  }
  if (items == nullptr) return result;
  const Conjunction not_item = only(*items, true);
  if (not_item == Conjunction{kNever}) return result;
  if (not_item.empty()) {  // items: false
    shape.array.minimum = fixed + 1;
  } else if (fixed == 0) {
    shape.array.contains.push_back({not_item[0], negation(not_item[0]), 1, UINT64_MAX});
  } else {
    index_.set_place(*items);
    budget_.refuse("the negation of items after prefixItems is not supported");
  }
  result.push_back(shape);
  return result;
}

SchemaDnf SchemaNormalizer::of_contains(const JsonValue& schema, bool negated) {
  const JsonValue& what = schema_in(*schema.find("contains"));
  const JsonValue* const least = schema.find("minContains");
  const JsonValue* const most = schema.find("maxContains");
  const uint64_t minimum = least == nullptr ? 1 : whole_number(*least);
  const uint64_t maximum = most == nullptr ? UINT64_MAX : whole_number(*most);
  constexpr uint64_t kMost = 1000;
  if (minimum > kMost || (most != nullptr && maximum > kMost)) {
    index_.set_place(schema);
    budget_.refuse_keyword(minimum > kMost ? "minContains" : "maxContains",
                           "minContains or maxContains above {} is not supported", kMost);
  }
  const SubId yes = id_of(what, false);
  const SubId no = id_of(what, true);
  const auto with = [&](uint64_t low, uint64_t high) {
    Shape shape;
    shape.array.contains.push_back({yes, no, low, high});
    return shape;
  };
  if (!negated) return minimum <= maximum ? SchemaDnf{with(minimum, maximum)} : SchemaDnf{};
  SchemaDnf result;
  if (minimum > 0) result.push_back(with(0, minimum - 1));
  if (maximum != UINT64_MAX) result.push_back(with(maximum + 1, UINT64_MAX));
  return result;
}

SchemaDnf SchemaNormalizer::of_properties(const JsonValue& schema, bool negated) {
  const JsonValue* const named = schema.find("properties");
  const JsonValue* const patterns = schema.find("patternProperties");
  const JsonValue* const additional = schema.find("additionalProperties");
  const JsonValue* const names = schema.find("propertyNames");
  const JsonValue* const required = schema.find("required");
  for (const JsonValue* const map : {named, patterns}) {
    if (map == nullptr || map->kind == JsonValue::Kind::Object) continue;
    index_.set_place(schema);
    budget_.refuse_keyword(map == named ? "properties" : "patternProperties",
                           "properties are an object of schemas");
  }
  const auto check_name = [&](const JsonValue& name) {
    if (name.kind == JsonValue::Kind::String) return;
    index_.set_place(name);
    budget_.refuse("required is a list of names");
  };
  if (required != nullptr && required->kind != JsonValue::Kind::Array) {
    index_.set_place(schema);
    budget_.refuse_keyword("required", "required is a list of names");
  }
  Shape shape;
  if (!negated) {
    ObjectShape::Clause clause;
    if (named != nullptr) {
      for (const auto& [name, member] : named->members) {
        clause.named[name] = only(member, false);
        shape.object.order.push_back(name);
      }
    }
    if (patterns != nullptr) {
      for (const auto& [text, member] : patterns->members) {
        index_.set_place(member);
        try {
          clause.patterns.emplace_back(pattern(text), only(member, false));
        } catch (Refusal& refusal) {
          // A message names the schema of the pattern.
          if (refusals_ != nullptr && refusal.place == &member) {
            refusal.place = patterns;
            refusal.keyword = text;
          }
          throw;
        }
      }
    }
    if (additional != nullptr) clause.additional = only(*additional, false);
    shape.object.clauses.push_back(std::move(clause));
    if (names != nullptr) {
      const Conjunction all = only(*names, false);
      shape.object.names = all;
    }
    if (required != nullptr) {
      for (const JsonValue& name : required->items) {
        check_name(name);
        shape.object.required.insert(name.text);
      }
    }
    shape.object.minimum = shape.object.required.size();
    return {shape};
  }
  // A named property has another value, or a required property is missing.
  SchemaDnf result;
  if (named != nullptr) {
    for (const auto& [name, member] : named->members) {
      const Conjunction other = only(member, true);
      if (other == Conjunction{kNever}) continue;
      Shape wrong;
      ObjectShape::Clause clause;
      clause.named[name] = other;
      clause.evaluates = false;
      wrong.object.clauses.push_back(std::move(clause));
      wrong.object.required.insert(name);
      wrong.object.minimum = 1;
      result.push_back(wrong);
    }
  }
  if (required != nullptr) {
    for (const JsonValue& name : required->items) {
      check_name(name);
      Shape missing;
      ObjectShape::Clause clause;
      clause.named[name.text] = Conjunction{kNever};
      clause.evaluates = false;
      missing.object.clauses.push_back(std::move(clause));
      result.push_back(missing);
    }
  }
  const auto always = [&](const JsonValue& member) {
    return only(member, true) == Conjunction{kNever};
  };
  bool refused = names != nullptr && !always(*names);
  refused = refused || (additional != nullptr && !always(*additional));
  if (patterns != nullptr) {
    for (const auto& [text, member] : patterns->members) refused = refused || !always(member);
  }
  if (refused) {
    index_.set_place(schema);
    budget_.refuse(
        "the negation of additionalProperties, patternProperties or propertyNames is not "
        "supported (a oneOf whose branches can hold together needs it)");
  }
  return result;
}

SchemaDnf SchemaNormalizer::of_dependent(const std::string& key, const JsonValue& value, Ask ask) {
  if (value.kind != JsonValue::Kind::Object) {
    index_.set_place(value);
    budget_.refuse("dependencies are an object");
  }
  const auto with = [](const std::string& name, bool there) {
    Shape shape;
    if (there) {
      shape.object.required.insert(name);
      shape.object.minimum = 1;
    } else {
      ObjectShape::Clause clause;
      clause.named[name] = Conjunction{kNever};
      clause.evaluates = false;
      shape.object.clauses.push_back(std::move(clause));
    }
    return shape;
  };
  SchemaDnf result;
  if (!ask.negated) result.push_back({});
  for (const auto& [name, member] : value.members) {
    // The older `dependencies` holds both forms.
    const bool names = member.kind == JsonValue::Kind::Array && key != "dependentSchemas";
    SchemaDnf one;
    if (!names && key != "dependentRequired") {
      if (!ask.negated) one.push_back(with(name, false));
      const SchemaDnf then = both({with(name, true)}, of_schema(member, ask), JsonType::Object);
      one.insert(one.end(), then.begin(), then.end());
    } else {
      Shape needs;
      for (const JsonValue& needed : member.items) {
        if (needed.kind != JsonValue::Kind::String) {
          index_.set_place(needed);
          budget_.refuse("{} lists names", key);
        }
        if (ask.negated) {
          const SchemaDnf wrong =
              both({with(name, true)}, {with(needed.text, false)}, JsonType::Object);
          one.insert(one.end(), wrong.begin(), wrong.end());
        } else {
          needs.object.needs[name].insert(needed.text);
        }
      }
      if (!ask.negated) one.push_back(needs);
    }
    if (ask.negated) {
      result.insert(result.end(), one.begin(), one.end());
    } else {
      result = both(result, one, JsonType::Object);
    }
  }
  check_size(result);
  return result;
}

void SchemaNormalizer::add_unevaluated(const JsonValue& schema, JsonType type, SchemaDnf& shapes) {
  const JsonValue* const properties = schema.find("unevaluatedProperties");
  const JsonValue* const items = schema.find("unevaluatedItems");
  if ((properties != nullptr || items != nullptr) && schema.find("not") != nullptr) {
    budget_.refuse("unevaluatedItems or unevaluatedProperties beside not is not supported");
  }
  for (Shape& shape : shapes) {
    if (type == JsonType::Object && properties != nullptr) {
      // Properties that a clause has evaluated are unconstrained; the rest must match.
      ObjectShape::Clause rest;
      rest.additional = only(*properties, false);
      bool all = false;
      for (const ObjectShape::Clause& clause : shape.object.clauses) {
        if (!clause.evaluates) continue;
        all = all || clause.additional.has_value();
        for (const auto& [name, value] : clause.named) rest.named[name] = {};
        for (const auto& [texts, value] : clause.patterns) {
          rest.patterns.emplace_back(texts, Conjunction{});
        }
      }
      if (!all) shape.object.clauses.push_back(std::move(rest));
    }
    if (type == JsonType::Array && items != nullptr) {
      ArrayShape& array = shape.array;
      if (!array.contains.empty() && array.evaluated != UINT64_MAX) {
        index_.set_place(*items);
        budget_.refuse("unevaluatedItems with contains is not supported");
      }
      if (array.evaluated == UINT64_MAX) continue;
      while (array.prefix.size() < array.evaluated) array.prefix.push_back(array.items);
      const Conjunction rest = only(*items, false);
      for (size_t i = array.evaluated; i < array.prefix.size(); ++i) {
        array.prefix[i] = meet(array.prefix[i], rest);
      }
      array.items = meet(array.items, rest);
      array.evaluated = UINT64_MAX;
    }
  }
}

}  // namespace tenon::grammar
