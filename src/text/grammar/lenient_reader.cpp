#include "text/grammar/lenient_reader.h"

#include <algorithm>
#include <utility>

namespace tenon::grammar {
namespace {

/// Step of the path from a value to a part of it: an object or array, and the index of a child.
struct Step {
  const JsonValue* parent;
  size_t index;
};

bool find_way(const JsonValue& from, const JsonValue* to, std::vector<Step>& way) {
  if (&from == to) return true;
  const bool is_array = from.kind == JsonValue::Kind::Array;
  const size_t count = is_array ? from.items.size() : from.members.size();
  for (size_t i = 0; i < count; ++i) {
    way.push_back({&from, i});
    if (find_way(is_array ? from.items[i] : from.members[i].second, to, way)) return true;
    way.pop_back();
  }
  return false;
}

/// Part to drop: a member of an object, or a whole schema.
struct Omission {
  const JsonValue* of = nullptr;
  std::optional<std::string> keyword;
};

bool is_inside(const JsonValue* part, const JsonValue& whole) {
  std::vector<Step> way;
  return find_way(whole, part, way);
}

Omission omission_of(const Refusal& refusal, const JsonValue& root) {
  const JsonValue* const place = refusal.place;
  if (place != nullptr && !refusal.keyword.empty() && place->find(refusal.keyword) != nullptr) {
    return {place, refusal.keyword};
  }
  const JsonValue* const read =
      refusal.reader != nullptr ? refusal.reader->find(refusal.read_keyword) : nullptr;
  const bool is_read = read != nullptr;
  // A place outside this keyword belongs to another keyword, read earlier.
  if (is_read && (place == nullptr || !is_inside(place, *read))) {
    return {refusal.reader, refusal.read_keyword};
  }
  std::vector<Step> way;
  if (place == nullptr || !find_way(root, place, way) || way.empty()) return {&root, std::nullopt};
  if (place->kind == JsonValue::Kind::Object) return {place, std::nullopt};
  const Step& last = way.back();
  if (last.parent->kind == JsonValue::Kind::Object) {
    return {last.parent, last.parent->members[last.index].first};
  }
  if (is_read) return {refusal.reader, refusal.read_keyword};
  return {&root, std::nullopt};
}

void append_escaped(std::string_view name, std::string& pointer) {
  pointer += '/';
  for (const char c : name) {
    if (c == '~' || c == '/') {
      pointer += c == '~' ? "~0" : "~1";
    } else {
      pointer += c;
    }
  }
}

std::string pointer_of(const std::vector<Step>& way) {
  std::string pointer;
  for (const Step& step : way) {
    if (step.parent->kind == JsonValue::Kind::Array) {
      pointer += "/" + std::to_string(step.index);
    } else {
      append_escaped(step.parent->members[step.index].first, pointer);
    }
  }
  return pointer;
}

/// Finds a value in a tree that has changed; null if it is gone.
JsonValue* follow(JsonValue& root, const std::vector<std::string>& names) {
  JsonValue* at = &root;
  for (const std::string& name : names) {
    if (at->kind == JsonValue::Kind::Array) {
      const size_t index = std::stoul(name);
      if (index >= at->items.size()) return nullptr;
      at = &at->items[index];
      continue;
    }
    const auto found = std::find_if(at->members.begin(), at->members.end(),
                                    [&](const auto& member) { return member.first == name; });
    if (found == at->members.end()) return nullptr;
    at = &found->second;
  }
  return at;
}

std::vector<std::string> names_of(const std::vector<Step>& way) {
  std::vector<std::string> names;
  for (const Step& step : way) {
    names.push_back(step.parent->kind == JsonValue::Kind::Array
                        ? std::to_string(step.index)
                        : step.parent->members[step.index].first);
  }
  return names;
}

}  // namespace

void LenientReader::leave_out(std::span<const Refusal> refusals) {
  if (++num_rounds_ >= kMaxRounds || notes_.size() + refusals.size() > kMaxNotes) {
    return leave_out_all("too many parts are not kept");
  }
  struct Found {
    std::vector<std::string> names;
    SchemaNote note;
  };
  std::vector<Found> all;
  for (const Refusal& refusal : refusals) {
    const Omission omission = omission_of(refusal, root());
    std::vector<Step> way;
    if (!find_way(root(), omission.of, way)) continue;
    all.push_back({names_of(way), {pointer_of(way), omission.keyword, refusal.reason}});
  }
  const size_t before = notes_.size();
  for (Found& found : all) {
    JsonValue* const of = follow(document_.root(), found.names);
    if (of == nullptr || of->kind == JsonValue::Kind::True) continue;
    if (found.note.keyword) {
      const auto is_named = [&](const auto& member) { return member.first == *found.note.keyword; };
      if (std::erase_if(of->members, is_named) == 0) continue;  // refused twice
    } else {
      *of = {.kind = JsonValue::Kind::True};
    }
    notes_.push_back(std::move(found.note));
  }
  if (notes_.size() == before) leave_out_all(refusals.front().reason);
}

void LenientReader::leave_out_all(std::string reason) {
  document_.root() = {.kind = JsonValue::Kind::True};
  notes_.push_back({"", std::nullopt, std::move(reason)});
}

}  // namespace tenon::grammar
