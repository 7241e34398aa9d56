package tenon.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ToolChoice;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import tenon.Json;

/** Requests of LangChain4j as conversations of tenon.Chat. */
final class Conversations {
  private Conversations() {}

  static String of(ChatRequest request) {
    Map<String, Object> conversation = new LinkedHashMap<>();
    conversation.put("messages", request.messages().stream().map(Conversations::message).toList());
    List<ToolSpecification> tools = request.toolSpecifications();
    if (tools != null && !tools.isEmpty()) {
      conversation.put("tools", tools.stream().map(Conversations::tool).toList());
      ToolChoice choice = request.toolChoice();
      if (choice != null) conversation.put("tool_choice", choice.name().toLowerCase(Locale.ROOT));
    }
    ResponseFormat format = request.responseFormat();
    if (format != null && format.type() == ResponseFormatType.JSON) {
      conversation.put("response_format", format.jsonSchema() == null
          ? Map.of("type", "json_object")
          : Map.of("type", "json_schema",
              "json_schema", Map.of("schema", Schemas.of(format.jsonSchema().rootElement()))));
    }
    return Json.text(conversation);
  }

  private static Map<String, Object> tool(ToolSpecification tool) {
    Map<String, Object> function = new LinkedHashMap<>();
    function.put("name", tool.name());
    if (tool.description() != null) function.put("description", tool.description());
    function.put("parameters", Schemas.parameters(tool.parameters()));
    return Map.of("type", "function", "function", function);
  }

  private static Map<String, Object> message(ChatMessage message) {
    Map<String, Object> made = new LinkedHashMap<>();
    if (message instanceof SystemMessage system) {
      made.put("role", "system");
      made.put("content", system.text());
    } else if (message instanceof UserMessage user) {
      made.put("role", "user");
      made.put("content", text(user.contents()));
      if (user.name() != null) made.put("name", user.name());
    } else if (message instanceof AiMessage answer) {
      made.put("role", "assistant");
      made.put("content", answer.text());
      if (answer.thinking() != null) made.put("reasoning_content", answer.thinking());
      if (answer.hasToolExecutionRequests()) {
        made.put("tool_calls", answer.toolExecutionRequests().stream().map(Conversations::call).toList());
      }
    } else if (message instanceof ToolExecutionResultMessage result) {
      made.put("role", "tool");
      if (result.id() != null) made.put("tool_call_id", result.id());
      made.put("name", result.toolName());
      made.put("content", text(result.contents()));
    } else {
      throw new UnsupportedFeatureException("messages of the type " + message.type());
    }
    return made;
  }

  private static Map<String, Object> call(ToolExecutionRequest request) {
    Map<String, Object> made = new LinkedHashMap<>();
    if (request.id() != null) made.put("id", request.id());
    made.put("type", "function");
    made.put("function", Map.of("name", request.name(),
        "arguments", request.arguments() == null ? "{}" : request.arguments()));
    return made;
  }

  private static String text(List<Content> contents) {
    List<String> texts = new ArrayList<>();
    for (Content content : contents) {
      if (!(content instanceof TextContent text)) {
        throw new UnsupportedFeatureException("contents of the type " + content.type());
      }
      texts.add(text.text());
    }
    return String.join("\n", texts);
  }
}
