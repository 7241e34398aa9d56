package tenon;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** JSON as maps, lists, strings, numbers (Long, BigInteger or Double), booleans and null. */
public final class Json {
  private static final int DEEPEST = 500;
  private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");

  private final String text;
  private int at;
  private int depth;

  private Json(String text) {
    this.text = text;
  }

  /** Parses a document. IllegalArgumentException, with the position, if it is malformed. */
  public static Object parse(String text) {
    Json json = new Json(text);
    Object value = json.value();
    json.space();
    if (json.at < text.length()) throw json.error("more after the document");
    return value;
  }

  /** Parses a document that is an object. */
  @SuppressWarnings("unchecked")
  public static Map<String, Object> parseObject(String text) {
    if (parse(text) instanceof Map<?, ?> map) return (Map<String, Object>) map;
    throw new IllegalArgumentException("no object of JSON");
  }

  /** Writes a document. Maps are written in their order. */
  public static String text(Object value) {
    StringBuilder out = new StringBuilder();
    write(value, out, 0);
    return out.toString();
  }

  private IllegalArgumentException error(String what) {
    return new IllegalArgumentException("JSON at character " + at + ": " + what);
  }

  private void space() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) ++at;
  }

  private char peek() {
    space();
    if (at == text.length()) throw error("it ends too early");
    return text.charAt(at);
  }

  private boolean take(char wanted) {
    if (peek() != wanted) return false;
    ++at;
    return true;
  }

  private void expect(char wanted) {
    if (!take(wanted)) throw error("no '" + wanted + "'");
  }

  private Object value() {
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", null);
      default:
        return number();
    }
  }

  private Object word(String word, Object value) {
    if (!text.startsWith(word, at)) throw error("no value");
    at += word.length();
    return value;
  }

  private void enter() {
    if (++depth > DEEPEST) throw error("nested deeper than " + DEEPEST);
    ++at;
  }

  private Map<String, Object> object() {
    enter();
    Map<String, Object> map = new LinkedHashMap<>();
    if (!take('}')) {
      do {
        if (peek() != '"') throw error("no name");
        String name = string();
        expect(':');
        map.put(name, value());
      } while (take(','));
      expect('}');
    }
    --depth;
    return map;
  }

  private List<Object> array() {
    enter();
    List<Object> list = new ArrayList<>();
    if (!take(']')) {
      do {
        list.add(value());
      } while (take(','));
      expect(']');
    }
    --depth;
    return list;
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    ++at;
    while (true) {
      if (at == text.length()) throw error("a string does not end");
      char next = text.charAt(at++);
      if (next == '"') return out.toString();
      if (next < ' ') throw error("a control character in a string");
      out.append(next == '\\' ? escaped() : next);
    }
  }

  private char escaped() {
    if (at == text.length()) throw error("a string does not end");
    char next = text.charAt(at++);
    switch (next) {
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        if (at + 4 > text.length()) throw error("\\u without four digits");
        at += 4;
        int code = 0;
        for (int i = at - 4; i < at; ++i) {
          int digit = Character.digit(text.charAt(i), 16);
          if (digit < 0) throw error("\\u without four digits");
          code = 16 * code + digit;
        }
        return (char) code;
      case '"', '\\', '/':
        return next;
      default:
        throw error("an unknown escape");
    }
  }

  private Object number() {
    int start = at;
    while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) ++at;
    String digits = text.substring(start, at);
    if (!NUMBER.matcher(digits).matches()) {
      at = start;
      throw error("no value");
    }
    if (digits.indexOf('.') < 0 && digits.indexOf('e') < 0 && digits.indexOf('E') < 0) {
      if (digits.length() < 19) return Long.parseLong(digits);
      java.math.BigInteger whole = new java.math.BigInteger(digits);
      return whole.bitLength() < 64 ? (Object) whole.longValue() : whole;
    }
    return Double.parseDouble(digits);
  }

  private static void write(Object value, StringBuilder out, int depth) {
    if (depth > DEEPEST) throw new IllegalArgumentException("nested deeper than " + DEEPEST);
    if (value instanceof Map<?, ?> map) {
      String separator = "{";
      if (map.isEmpty()) out.append('{');
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        out.append(separator);
        quote(String.valueOf(entry.getKey()), out);
        out.append(':');
        write(entry.getValue(), out, depth + 1);
        separator = ",";
      }
      out.append('}');
    } else if (value instanceof Iterable<?> list) {
      String separator = "";
      out.append('[');
      for (Object item : list) {
        out.append(separator);
        write(item, out, depth + 1);
        separator = ",";
      }
      out.append(']');
    } else if (value instanceof Object[] list) {
      write(List.of(list), out, depth);
    } else if (value instanceof Double number && !Double.isFinite(number)) {
      throw new IllegalArgumentException("JSON has no " + number);
    } else if (value == null || value instanceof Number || value instanceof Boolean) {
      out.append(value);
    } else if (value instanceof CharSequence || value instanceof Enum<?> || value instanceof Character) {
      quote(value.toString(), out);
    } else {
      throw new IllegalArgumentException("a " + value.getClass().getName() + " is no value of JSON");
    }
  }

  private static void quote(String text, StringBuilder out) {
    out.append('"');
    for (int i = 0; i < text.length(); ++i) {
      char next = text.charAt(i);
      if (next == '"' || next == '\\') {
        out.append('\\').append(next);
      } else if (next < ' ') {
        out.append(String.format("\\u%04x", (int) next));
      } else {
        out.append(next);
      }
    }
    out.append('"');
  }
}
