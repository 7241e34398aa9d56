package tenon;

import java.util.List;
import java.util.Map;

/** A compiled grammar: the texts that may be generated. Any thread. */
public final class Grammar extends NativeObject {
  Grammar(Handle handle) {
    super(handle);
  }

  private static Grammar make(int kind, String text) {
    return new Grammar(Calls.grammarCreate(kind, text));
  }

  /** Allows documents that are valid by a JSON Schema (draft 2020-12); the schema as text. */
  public static Grammar jsonSchema(String schema) {
    return make(Constants.GRAMMAR_JSON_SCHEMA, schema);
  }

  /** As {@link #jsonSchema(String)}, from maps and lists. Answers have an object's properties in
   * the order of "properties": use a LinkedHashMap for them, because Map.of() has no order. */
  public static Grammar jsonSchema(Map<String, ?> schema) {
    return jsonSchema(Json.text(schema));
  }

  /** Allows texts of the rule root, in GBNF. */
  public static Grammar gbnf(String rules) {
    return make(Constants.GRAMMAR_GBNF, rules);
  }

  /** Allows texts of the rule {@code start}, in Lark. */
  public static Grammar lark(String rules) {
    return make(Constants.GRAMMAR_LARK, rules);
  }

  /** Allows texts that a regular expression matches as a whole. */
  public static Grammar regex(String expression) {
    return make(Constants.GRAMMAR_REGEX, expression);
  }

  /** Allows one of these texts. */
  public static Grammar choices(String... texts) {
    return make(Constants.GRAMMAR_CHOICES, Json.text(List.of(texts)));
  }

  /** True if it is a complete text of the grammar. */
  public boolean accepts(String text) {
    return Calls.grammarAccepts(handle, text) != 0;
  }

  /** A matcher, for loops that draw by themselves. */
  public Matcher matcher(Tokenizer tokenizer) {
    return new Matcher(Calls.matcherCreate(handle, tokenizer.handle));
  }
}
