package tenon;

import java.util.List;
import java.util.Map;

/** Which texts may be generated. Any thread. */
public final class Grammar extends NativeObject {
  Grammar(Handle handle) {
    super(handle);
  }

  private static Grammar make(int kind, String text) {
    return new Grammar(Calls.grammarCreate(kind, text));
  }

  /** Documents that a JSON Schema (draft 2020-12) describes; the schema as text. */
  public static Grammar jsonSchema(String schema) {
    return make(Constants.GRAMMAR_JSON_SCHEMA, schema);
  }

  /**
   * As {@link #jsonSchema(String)}, from maps and lists. Answers have an object's properties in the order of
   * "properties": take a LinkedHashMap for them, Map.of() has no order.
   */
  public static Grammar jsonSchema(Map<String, ?> schema) {
    return jsonSchema(Json.text(schema));
  }

  /** Rules in GBNF. */
  public static Grammar gbnf(String rules) {
    return make(Constants.GRAMMAR_GBNF, rules);
  }

  /** Rules in Lark. */
  public static Grammar lark(String rules) {
    return make(Constants.GRAMMAR_LARK, rules);
  }

  /** Texts that a regular expression matches as a whole. */
  public static Grammar regex(String expression) {
    return make(Constants.GRAMMAR_REGEX, expression);
  }

  /** One of these texts. */
  public static Grammar choices(String... texts) {
    return make(Constants.GRAMMAR_CHOICES, Json.text(List.of(texts)));
  }

  /** Whether a text is one of the grammar. */
  public boolean accepts(String text) {
    return Calls.grammarAccepts(handle, text) != 0;
  }

  /** For loops that draw by themselves. */
  public Matcher matcher(Tokenizer tokenizer) {
    return new Matcher(Calls.matcherCreate(handle, tokenizer.handle));
  }
}
