package tenon.langchain4j;

import dev.langchain4j.model.chat.request.json.JsonAnyOfSchema;
import dev.langchain4j.model.chat.request.json.JsonArraySchema;
import dev.langchain4j.model.chat.request.json.JsonBooleanSchema;
import dev.langchain4j.model.chat.request.json.JsonEnumSchema;
import dev.langchain4j.model.chat.request.json.JsonIntegerSchema;
import dev.langchain4j.model.chat.request.json.JsonNullSchema;
import dev.langchain4j.model.chat.request.json.JsonNumberSchema;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.request.json.JsonReferenceSchema;
import dev.langchain4j.model.chat.request.json.JsonSchemaElement;
import dev.langchain4j.model.chat.request.json.JsonStringSchema;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tenon.Json;

/** Schemas of LangChain4j as JSON Schema. */
final class Schemas {
  private Schemas() {}

  static Map<String, Object> of(JsonSchemaElement element) {
    if (element instanceof JsonRawSchema raw) return Json.parseObject(raw.schema());
    Map<String, Object> schema = new LinkedHashMap<>();
    if (element instanceof JsonObjectSchema object) {
      schema.put("type", "object");
      schema.put("properties", all(object.properties()));
      if (object.required() != null) schema.put("required", object.required());
      if (object.additionalProperties() != null) schema.put("additionalProperties", object.additionalProperties());
      if (object.definitions() != null && !object.definitions().isEmpty()) {
        schema.put("$defs", all(object.definitions()));
      }
    } else if (element instanceof JsonArraySchema array) {
      schema.put("type", "array");
      if (array.items() != null) schema.put("items", of(array.items()));
    } else if (element instanceof JsonEnumSchema choice) {
      schema.put("enum", choice.enumValues());
    } else if (element instanceof JsonAnyOfSchema any) {
      schema.put("anyOf", any.anyOf().stream().map(Schemas::of).toList());
    } else if (element instanceof JsonReferenceSchema reference) {
      schema.put("$ref", "#/$defs/" + reference.reference());
    } else {
      schema.put("type", typeOf(element));
    }
    if (element.description() != null) schema.put("description", element.description());
    return schema;
  }

  private static Map<String, Object> all(Map<String, JsonSchemaElement> elements) {
    Map<String, Object> schemas = new LinkedHashMap<>();
    elements.forEach((name, element) -> schemas.put(name, of(element)));
    return schemas;
  }

  private static String typeOf(JsonSchemaElement element) {
    if (element instanceof JsonStringSchema) return "string";
    if (element instanceof JsonIntegerSchema) return "integer";
    if (element instanceof JsonNumberSchema) return "number";
    if (element instanceof JsonBooleanSchema) return "boolean";
    if (element instanceof JsonNullSchema) return "null";
    throw new IllegalArgumentException("a schema of an unknown kind: " + element);
  }

  /** As "parameters" of a tool; null: none. */
  static Map<String, Object> parameters(JsonObjectSchema parameters) {
    return parameters != null ? of(parameters)
        : Map.of("type", "object", "properties", Map.of(), "required", List.of());
  }
}
