import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tenon.Chat;
import tenon.GenerateOptions;
import tenon.Json;
import tenon.Model;
import tenon.Piece;
import tenon.Reply;
import tenon.Sampler;
import tenon.SamplerOptions;
import tenon.Session;

/** Lets a model call a function: java -cp tenon.jar ToolCalls.java model.gguf */
public final class ToolCalls {
  private static final Map<String, ?> TOOL = Json.parseObject("""
      {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters":
        {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"]}}}""");

  private ToolCalls() {}

  public static void main(String[] arguments) {
    List<Object> messages = new ArrayList<>();
    messages.add(Map.of("role", "user", "content", "What is the weather in Oslo?"));
    try (Model model = Model.open(arguments[0]); Chat chat = new Chat(model)) {
      Map<String, Object> message = answer(model, chat, messages, "required");
      messages.add(message);
      for (Object call : (List<?>) message.get("tool_calls")) {
        Map<?, ?> function = (Map<?, ?>) ((Map<?, ?>) call).get("function");
        Object city = Json.parseObject((String) function.get("arguments")).get("city");
        System.out.println(function.get("name") + " of " + city);
        messages.add(Map.of("role", "tool", "content", Json.text(Map.of("city", city, "sky", "sunny"))));
      }
      System.out.println(answer(model, chat, messages, "none").get("content"));
    }
  }

  private static Map<String, Object> answer(Model model, Chat chat, List<Object> messages, String choice) {
    Map<String, ?> conversation = Map.of("messages", messages, "tools", List.of(TOOL), "tool_choice", choice);
    try (Session session = model.session(); Reply reply = chat.reply(conversation);
        Sampler sampler = new Sampler(new SamplerOptions().temperature(0))) {
      chat.constrain(conversation, sampler);
      GenerateOptions options = new GenerateOptions().sampler(sampler).maxTokens(100);
      for (Piece piece : session.generate(chat.encode(conversation), options)) {
        if (piece.hasToken()) reply.push(piece.token());
      }
      reply.finish();
      return reply.message();
    }
  }
}
