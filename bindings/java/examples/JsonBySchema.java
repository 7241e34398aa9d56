import java.util.List;
import java.util.Map;
import tenon.Chat;
import tenon.GenerateOptions;
import tenon.Json;
import tenon.Model;
import tenon.Sampler;
import tenon.SamplerOptions;

/** Takes a name and an age out of a sentence: java -cp tenon.jar JsonBySchema.java model.gguf "Mia is 41 years old." */
public final class JsonBySchema {
  private JsonBySchema() {}

  public static void main(String[] arguments) {
    // The answer has the properties in the order of the schema: a text has one, Map.of() has none.
    Map<String, ?> schema = Json.parseObject("""
        {"type": "object", "required": ["name", "age"], "additionalProperties": false,
         "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}}}""");
    Map<String, ?> conversation = Map.of(
        "messages", List.of(Map.of("role", "user", "content", "Extract name and age as JSON: " + arguments[1])),
        "response_format", Map.of("type", "json_schema", "json_schema", Map.of("schema", schema)));
    try (Model model = Model.open(arguments[0]); Chat chat = new Chat(model);
        Sampler sampler = new Sampler(new SamplerOptions().temperature(0))) {
      chat.constrain(conversation, sampler);
      String json = model.session().generate(chat.encode(conversation),
          new GenerateOptions().sampler(sampler).maxTokens(100)).text();
      Map<String, Object> person = Json.parseObject(json);
      System.out.println(person.get("name") + " is " + person.get("age"));
    }
  }
}
