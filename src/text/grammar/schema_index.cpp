#include "text/grammar/schema_index.h"

#include <algorithm>
#include <array>

namespace tenon::grammar {
namespace {

constexpr size_t kMaxSchemas = 20'000;

/// Form in which a keyword holds subschemas.
enum class Holds { One, List, Named };
struct Applicator {
  std::string_view keyword;
  Holds holds;
};
constexpr std::array kApplicators = {Applicator{"additionalItems", Holds::One},
                                     Applicator{"additionalProperties", Holds::One},
                                     Applicator{"allOf", Holds::List},
                                     Applicator{"anyOf", Holds::List},
                                     Applicator{"contains", Holds::One},
                                     Applicator{"contentSchema", Holds::One},
                                     Applicator{"$defs", Holds::Named},
                                     Applicator{"definitions", Holds::Named},
                                     Applicator{"dependencies", Holds::Named},
                                     Applicator{"dependentSchemas", Holds::Named},
                                     Applicator{"else", Holds::One},
                                     Applicator{"if", Holds::One},
                                     Applicator{"items", Holds::One},
                                     Applicator{"not", Holds::One},
                                     Applicator{"oneOf", Holds::List},
                                     Applicator{"patternProperties", Holds::Named},
                                     Applicator{"prefixItems", Holds::List},
                                     Applicator{"properties", Holds::Named},
                                     Applicator{"propertyNames", Holds::One},
                                     Applicator{"then", Holds::One},
                                     Applicator{"unevaluatedItems", Holds::One},
                                     Applicator{"unevaluatedProperties", Holds::One}};

size_t scheme_end(std::string_view uri) {
  const size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon == 0) return 0;
  return uri.substr(0, colon).find_first_of("/?#") == std::string_view::npos ? colon + 1 : 0;
}

/// Removes "." and ".." from a path (RFC 3986, section 5.2.4).
std::string plain_path(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool directory = path.ends_with("/") || path.ends_with("/.") || path.ends_with("/..");
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string result;
  for (const std::string_view part : parts) result += "/" + std::string(part);
  return directory || result.empty() ? result + "/" : result;
}

/// `reference` without a fragment, seen from `base` (RFC 3986, section 5.2).
std::string resolve_uri(const std::string& base, std::string_view reference) {
  if (reference.empty()) return base;
  if (scheme_end(reference) != 0) return std::string(reference);
  const size_t scheme = scheme_end(base);
  size_t path = scheme;
  if (base.substr(scheme).starts_with("//")) {
    path = std::min(base.find('/', scheme + 2), base.size());
  }
  if (reference.starts_with("//")) return base.substr(0, scheme) + std::string(reference);
  if (reference.starts_with("/")) return base.substr(0, path) + plain_path(reference);
  const size_t slash = base.rfind('/');
  const std::string folder =
      slash == std::string::npos || slash < path ? "/" : base.substr(path, slash + 1 - path);
  return base.substr(0, path) + plain_path(folder + std::string(reference));
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  const auto value = [](char c) {
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 87
                                                    : -1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool coded =
        text[i] == '%' && i + 2 < text.size() && value(text[i + 1]) >= 0 && value(text[i + 2]) >= 0;
    if (coded) {
      result += static_cast<char>(value(text[i + 1]) * 16 + value(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string unescaped(std::string_view token) {
  std::string result;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool tilde = token[i] == '~' && i + 1 < token.size();
    if (tilde && token[i + 1] == '0') {
      result += '~', ++i;
    } else if (tilde && token[i + 1] == '1') {
      result += '/', ++i;
    } else {
      result += token[i];
    }
  }
  return result;
}

}  // namespace

bool is_applicator(std::string_view keyword) {
  return std::any_of(kApplicators.begin(), kApplicators.end(),
                     [&](const Applicator& known) { return known.keyword == keyword; });
}

void for_each_subschema(
    const JsonValue& schema,
    const std::function<void(std::string_view keyword, const JsonValue& subschema)>& visit) {
  for (const Applicator& applicator : kApplicators) {
    const JsonValue* const held = schema.find(applicator.keyword);
    if (held == nullptr) continue;
    // Drafts before 2020-12 allow a list of schemas as `items`.
    const bool list = applicator.holds == Holds::One && held->kind == JsonValue::Kind::Array;
    if (applicator.holds == Holds::One && !list) visit(applicator.keyword, *held);
    if (applicator.holds == Holds::List || list) {
      for (const JsonValue& item : held->items) visit(applicator.keyword, item);
    }
    if (applicator.holds == Holds::Named) {
      for (const auto& [name, member] : held->members) visit(applicator.keyword, member);
    }
  }
}

SchemaIndex::SchemaIndex(const JsonValue& root, Budget& budget) : budget_(budget) {
  resources_.push_back({"", &root, {}});
  by_uri_.emplace("", 0);
  walk(root, 0);
}

size_t SchemaIndex::enter(const JsonValue& schema, size_t resource) {
  const JsonValue* const dialect = schema.find("$schema");
  if (dialect != nullptr && dialect->text.find("json-schema.org/") == std::string::npos) {
    set_place(*dialect);
    budget_.refuse("the dialect \"{}\" is not supported", dialect->text.substr(0, 100));
  }
  const JsonValue* const id = schema.find("$id");
  if (id == nullptr || id->kind != JsonValue::Kind::String || id->text.starts_with("#")) {
    return resource;
  }
  std::string uri = resolve_uri(resources_[resource].uri, id->text.substr(0, id->text.find('#')));
  if (by_uri_.contains(uri) && !uri.empty()) {
    set_place(*id);
    budget_.refuse("\"{}\" is the $id of two schemas", uri.substr(0, 100));
  }
  by_uri_.emplace(uri, resources_.size());
  resources_.push_back({std::move(uri), &schema, {}});
  return resources_.size() - 1;
}

void SchemaIndex::walk(const JsonValue& schema, size_t resource) {
  if (schema.kind != JsonValue::Kind::Object) return;
  budget_.spend(1 + schema.members.size());
  if (++num_schemas_ > kMaxSchemas) {
    set_place(schema);
    budget_.refuse("more than {} subschemas", kMaxSchemas);
  }
  resource = enter(schema, resource);
  for (const bool dynamic : {false, true}) {
    const JsonValue* const anchor = schema.find(dynamic ? "$dynamicAnchor" : "$anchor");
    if (anchor != nullptr && anchor->kind == JsonValue::Kind::String) {
      resources_[resource].anchors.emplace(anchor->text, Anchor{&schema, dynamic});
    }
  }
  if (schema.find("$ref") != nullptr || schema.find("$dynamicRef") != nullptr) {
    resource_of_.emplace(&schema, resource);
  }
  for_each_subschema(
      schema, [&](std::string_view, const JsonValue& subschema) { walk(subschema, resource); });
}

const JsonValue* SchemaIndex::follow(const JsonValue* from, std::string_view pointer) const {
  while (from != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string token = unescaped(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (from->kind == JsonValue::Kind::Array) {
      const bool number = !token.empty() && token.size() < 8 &&
                          token.find_first_not_of("0123456789") == std::string::npos;
      const size_t index = number ? std::stoul(token) : SIZE_MAX;
      from = index < from->items.size() ? &from->items[index] : nullptr;
    } else {
      budget_.spend(from->members.size() / 8);
      from = from->find(token);
    }
  }
  return from;
}

const JsonValue& SchemaIndex::resolve(const JsonValue& schema, const std::string& reference,
                                      bool dynamic) {
  const auto known = resource_of_.find(&schema);
  const size_t home = known != resource_of_.end() ? known->second : 0;
  const size_t hash = reference.find('#');
  const std::string uri =
      resolve_uri(resources_[home].uri, std::string_view(reference).substr(0, hash));
  const std::string fragment = hash == std::string::npos
                                   ? ""
                                   : percent_decoded(std::string_view(reference).substr(hash + 1));
  const std::string shown = reference.substr(0, 100);
  const auto found = by_uri_.find(uri);
  if (found == by_uri_.end()) {
    budget_.refuse("reference \"{}\" leads out of the document; only what is in it can be used",
                   shown);
  }
  const Resource& resource = resources_[found->second];
  const JsonValue* target = nullptr;
  if (fragment.empty() || fragment.starts_with('/')) {
    target = follow(resource.root, fragment);
  } else if (const auto anchor = resource.anchors.find(fragment);
             anchor != resource.anchors.end()) {
    target = anchor->second.schema;
    size_t dynamic_ones = 0;
    for (const Resource& other : resources_) {
      const auto same = other.anchors.find(fragment);
      if (same != other.anchors.end() && same->second.dynamic) ++dynamic_ones;
    }
    if (dynamic && anchor->second.dynamic && dynamic_ones > 1) {
      budget_.refuse("$dynamicRef \"{}\" with several anchors of that name is not supported",
                     shown);
    }
  }
  if (target == nullptr) budget_.refuse("reference \"{}\" names nothing", shown);
  if (target->kind != JsonValue::Kind::Object && !target->is_bool()) {
    budget_.refuse("reference \"{}\" names no schema", shown);
  }
  return *target;
}

}  // namespace tenon::grammar
