package tenon;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Options of the library under their names. The library checks them when an object is made with
 * them; an unknown one is {@link TenonException.Argument}, which names the nearest.
 *
 * @param <S> the options' own class */
public abstract class Options<S extends Options<S>> {
  private final Map<String, Object> values = new LinkedHashMap<>();

  Options() {}

  /** Sets an option by its name in tenon.h: a number, a boolean, a String, or several as String[]
   * or List. */
  @SuppressWarnings("unchecked")
  public S set(String name, Object value) {
    values.put(name, value);
    return (S) this;
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  /** The options that were set, in order. */
  Map<String, Object> values() {
    return values;
  }

  /** As lines of "name=value". */
  String lines() {
    StringBuilder lines = new StringBuilder();
    values.forEach((name, value) -> {
      List<?> items = value instanceof String[] several ? List.of(several)
          : value instanceof List<?> several ? several : List.of(value);
      for (Object item : items) {
        String line = name + "=" + item;
        if (line.indexOf('\n') >= 0) throw new TenonException.Argument("option " + name + " holds a line's end");
        lines.append(line).append('\n');
      }
    });
    return lines.toString();
  }

  /** A set of options; null for the defaults. The caller closes it. */
  static Handle handle(Options<?> options) {
    if (options == null || options.values.isEmpty()) return null;
    Handle set = Calls.optionsCreate();
    try {
      options.values.forEach((name, value) -> put(set, name, value));
    } catch (RuntimeException error) {
      set.close();
      throw error;
    }
    return set;
  }

  private static void put(Handle set, String name, Object value) {
    if (value instanceof Boolean flag) {
      Calls.optionsSetBool(set, name, flag ? 1 : 0);
    } else if (value instanceof Double || value instanceof Float) {
      Calls.optionsSetFloat(set, name, ((Number) value).doubleValue());
    } else if (value instanceof Number number) {
      Calls.optionsSetInt(set, name, number.longValue());
    } else if (value instanceof CharSequence || value instanceof Enum<?>) {
      Calls.optionsSetString(set, name, value.toString());
    } else if (value instanceof String[] || value instanceof List<?>) {
      for (Object item : value instanceof String[] items ? List.of(items) : (List<?>) value) {
        Calls.optionsAddString(set, name, (String) item);
      }
    } else {
      throw new IllegalArgumentException("option " + name + ": " + value + " is no value of an option");
    }
  }
}
