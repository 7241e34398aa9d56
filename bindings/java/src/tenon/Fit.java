package tenon;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Checks that a library fits the interface this binding was made for. Structures begin with their
 * size and grow at the end, and libraries gain functions: such differences are harmless in both
 * directions. Anything else (a moved field, another type, another value) would be misread, so the
 * library is refused before it is used. The rules are those of docs/bindings.md. */
final class Fit {
  /** A field whose name begins so may become another one: until then it is 0 and ignored. */
  private static final String RESERVED = "reserved";

  private record Field(String name, long offset, long size, String type) {
    boolean isReserved() {
      return name.startsWith(RESERVED);
    }

    boolean overlaps(Field other) {
      return offset < other.offset + other.size && other.offset < offset + size;
    }
  }

  private final List<String> misfits = new ArrayList<>();

  private Fit() {}

  /** Differences of a library's description (tenon_interface_description) that make it unusable;
   * empty: it fits. */
  static List<String> misfits(Map<String, Object> madeFor, Map<String, Object> found) {
    String major = major(found);
    if (!major(madeFor).equals(major)) return List.of("its major version is " + major);
    Fit fit = new Fit();
    Map<String, Map<String, Object>> structs = byName(found, "structs");
    map(madeFor, "structs").forEach((name, ours) -> {
      // No function of the library takes a structure that it lacks.
      if (structs.containsKey(name)) fit.compare(name, object(ours), structs.get(name));
    });
    for (String kind : List.of("callbacks", "functions")) {
      Map<String, Map<String, Object>> theirs = byName(found, kind);
      map(madeFor, kind).forEach((name, ours) -> {
        if (!theirs.containsKey(name)) return;
        List<Object> signature = signature(theirs.get(name));
        if (!signature.equals(ours)) fit.misfits.add(name + " is " + signature + ", not " + ours);
      });
    }
    Map<String, Map<String, Object>> values = byName(found, "constants");
    map(madeFor, "constants").forEach((name, ours) -> {
      if (!values.containsKey(name)) return;
      Object value = values.get(name).get("value");
      if (!ours.equals(value)) fit.misfits.add(name + " is " + value + ", not " + ours);
    });
    return fit.misfits;
  }

  private void compare(String struct, Map<String, Object> madeFor, Map<String, Object> found) {
    List<Field> ours = new ArrayList<>();
    for (Object field : list(madeFor, "fields")) {
      List<?> parts = (List<?>) field;
      ours.add(new Field((String) parts.get(0), (Long) parts.get(1), (Long) parts.get(2), (String) parts.get(3)));
    }
    Map<String, Field> theirs = new LinkedHashMap<>();
    long end = 0;
    for (Object item : list(found, "fields")) {
      Map<String, Object> field = object(item);
      Field met = new Field((String) field.get("name"), (Long) field.get("offset"), (Long) field.get("size"),
          (String) field.get("type"));
      theirs.put(met.name, met);
      end = Math.max(end, met.offset + met.size);
    }
    for (Field field : ours) {
      Field met = theirs.get(field.name);
      if (field.equals(met)) continue;
      // Our value for a replaced field is 0; but the new field must stand alone in its place.
      if (field.isReserved() && theirs.values().stream().filter(field::overlaps)
          .allMatch(other -> other.offset == field.offset && other.size == field.size)) {
        continue;
      }
      // An older library reads and writes no more than it knows.
      if (met == null && field.offset >= end) continue;
      String name = struct + "." + field.name;
      if (met == null) {
        misfits.add(name + " is missing");
      } else if (met.offset != field.offset) {
        misfits.add(name + " lies at byte " + met.offset + ", not at " + field.offset);
      } else {
        misfits.add(name + " is " + met.type + " of " + met.size + " bytes, not " + field.type + " of " + field.size);
      }
    }
    // A newer library's further fields lie beyond ours, or in our reserved ones.
    long size = (Long) madeFor.get("size");
    long last = ours.get(ours.size() - 1).offset;
    for (Field field : theirs.values()) {
      if (ours.stream().anyMatch(mine -> mine.name.equals(field.name))) continue;
      List<Field> over = ours.stream().filter(field::overlaps).toList();
      if (over.stream().anyMatch(mine -> !mine.isReserved())) {
        misfits.add(struct + "." + field.name + " lies where " + over.get(0).name + " should be");
      } else if (over.isEmpty() && field.offset + field.size <= size && field.offset < last) {
        misfits.add(struct + "." + field.name + " lies between the fields that are known");
      }
    }
  }

  private static String major(Map<String, Object> description) {
    return ((String) description.get("version")).split("\\.")[0];
  }

  private static List<Object> signature(Map<String, Object> function) {
    List<Object> types = new ArrayList<>();
    types.add(function.get("returns"));
    for (Object parameter : list(function, "parameters")) types.add(object(parameter).get("type"));
    return types;
  }

  private static Map<String, Map<String, Object>> byName(Map<String, Object> description, String kind) {
    Map<String, Map<String, Object>> all = new LinkedHashMap<>();
    for (Object item : list(description, kind)) all.put((String) object(item).get("name"), object(item));
    return all;
  }

  private static Map<String, Object> map(Map<String, Object> from, String key) {
    return object(from.get(key));
  }

  private static List<?> list(Map<String, Object> from, String key) {
    return (List<?>) from.get(key);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }
}
