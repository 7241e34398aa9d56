package tenon.langchain4j;

import static org.junit.jupiter.api.Assertions.*;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.ToolChoice;
import dev.langchain4j.model.chat.request.json.JsonAnyOfSchema;
import dev.langchain4j.model.chat.request.json.JsonArraySchema;
import dev.langchain4j.model.chat.request.json.JsonEnumSchema;
import dev.langchain4j.model.chat.request.json.JsonIntegerSchema;
import dev.langchain4j.model.chat.request.json.JsonNumberSchema;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonRawSchema;
import dev.langchain4j.model.chat.request.json.JsonReferenceSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.request.json.JsonStringSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.output.FinishReason;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import tenon.Engine;
import tenon.Json;
import tenon.Model;
import tenon.TenonException;

/** LangChain4j's interfaces over a model in this process. */
class ChatModelTest {
  private static final Model MODEL =
      Model.open(Path.of(System.getProperty("tenon.root"), "examples/models/demo-q8_0.gguf"));
  private static final Engine ENGINE = new Engine(MODEL);
  private static final ChatRequestParameters GREEDY =
      ChatRequestParameters.builder().temperature(0.0).maxOutputTokens(64).build();
  private static final ToolSpecification WEATHER = ToolSpecification.builder().name("get_weather")
      .description("Weather of a city")
      .parameters(JsonObjectSchema.builder().addStringProperty("city").required("city").build()).build();

  private final ChatModel chat = new TenonChatModel(ENGINE, GREEDY);
  private final StreamingChatModel streaming = new TenonStreamingChatModel(ENGINE, GREEDY);

  @AfterAll
  static void close() {
    ENGINE.close();
    MODEL.close();
  }

  /** What a handler was told. */
  private static final class Recorder implements StreamingChatResponseHandler {
    final StringBuilder text = new StringBuilder();
    final List<CompleteToolCall> calls = new ArrayList<>();
    final CompletableFuture<ChatResponse> response = new CompletableFuture<>();

    @Override
    public void onPartialResponse(String part) {
      text.append(part);
    }

    @Override
    public void onCompleteToolCall(CompleteToolCall call) {
      calls.add(call);
    }

    @Override
    public void onCompleteResponse(ChatResponse complete) {
      response.complete(complete);
    }

    @Override
    public void onError(Throwable error) {
      response.completeExceptionally(error);
    }
  }

  private Recorder stream(ChatRequest request) throws Exception {
    Recorder recorder = new Recorder();
    streaming.chat(request, recorder);
    recorder.response.get(30, TimeUnit.SECONDS);
    return recorder;
  }

  private static ChatRequest.Builder asking(String question) {
    return ChatRequest.builder().messages(UserMessage.from(question));
  }

  @Test
  void aQuestionHasAnAnswer() throws Exception {
    assertEquals("The capital of Norway is Oslo.", chat.chat("What is the capital of Norway?"));
    ChatResponse response = chat.chat(asking("What is the capital of Norway?").build());
    assertEquals(FinishReason.STOP, response.finishReason());
    assertEquals("Tenon demo", response.modelName());
    assertTrue(response.tokenUsage().inputTokenCount() > 10);
    assertEquals(14, response.tokenUsage().outputTokenCount());
    Recorder streamed = stream(asking("What is the capital of Norway?").build());
    assertEquals("The capital of Norway is Oslo.", streamed.text.toString());
    assertEquals(response.aiMessage(), streamed.response.get().aiMessage());
    assertEquals(response.tokenUsage(), streamed.response.get().tokenUsage());
  }

  @Test
  void parametersAreThoseOfTheRequest() throws Exception {
    ChatResponse cut = chat.chat(asking("What is the capital of Norway?").maxOutputTokens(3).build());
    assertEquals(FinishReason.LENGTH, cut.finishReason());
    assertEquals("The capital of", cut.aiMessage().text());
    ChatRequest stopped = asking("What is the capital of Norway?").stopSequences(List.of(" is")).build();
    assertEquals("The capital of Norway", chat.chat(stopped).aiMessage().text());
    assertEquals(FinishReason.STOP, chat.chat(stopped).finishReason());
    assertEquals("The capital of Norway", stream(stopped).text.toString());
    assertThrows(TenonException.Argument.class, () -> chat.chat(asking("Hi").temperature(-1.0).build()));
  }

  @Test
  void aToolIsCalledAndItsResultRead() throws Exception {
    ChatRequest request = asking("What is the weather in Oslo?").toolSpecifications(WEATHER)
        .toolChoice(ToolChoice.REQUIRED).build();
    ChatResponse response = chat.chat(request);
    assertEquals(FinishReason.TOOL_EXECUTION, response.finishReason());
    ToolExecutionRequest call = response.aiMessage().toolExecutionRequests().get(0);
    assertEquals("get_weather", call.name());
    assertEquals(Map.of("city", "Oslo"), Json.parse(call.arguments()));
    assertNotNull(call.id());

    Recorder streamed = stream(request);
    assertEquals("", streamed.text.toString());
    assertEquals(1, streamed.calls.size());
    assertEquals(call.arguments(), streamed.calls.get(0).toolExecutionRequest().arguments());
    assertEquals(streamed.calls.get(0).toolExecutionRequest(),
        streamed.response.get().aiMessage().toolExecutionRequests().get(0));

    ChatResponse second = chat.chat(ChatRequest.builder().toolSpecifications(WEATHER).messages(
        SystemMessage.from("Be brief."), UserMessage.from("What is the weather in Oslo?"), response.aiMessage(),
        ToolExecutionResultMessage.from(call, "{\"sky\": \"sunny\"}")).build());
    assertNotNull(second.aiMessage());
    assertTrue(second.tokenUsage().inputTokenCount() > response.tokenUsage().inputTokenCount());
  }

  @Test
  void anAnswerFollowsASchema() throws Exception {
    ResponseFormat format = ResponseFormat.builder().type(ResponseFormatType.JSON)
        .jsonSchema(JsonSchema.builder().name("person").rootElement(JsonObjectSchema.builder()
            .addStringProperty("name").addIntegerProperty("age").required("name", "age")
            .additionalProperties(false).build()).build()).build();
    ChatRequest request = asking("Extract name and age as JSON: Mia is 41 years old.").responseFormat(format).build();
    Map<String, Object> person = Json.parseObject(chat.chat(request).aiMessage().text());
    assertEquals(Map.of("name", "Mia", "age", 41L), person);
    assertEquals(person, Json.parseObject(stream(request).text.toString()));
    Object any = Json.parse(chat.chat(asking("Extract name and age as JSON: Mia is 41 years old.")
        .responseFormat(ResponseFormat.JSON).build()).aiMessage().text());
    assertTrue(any instanceof Map);
  }

  @Test
  void schemasOfAllKindsBecomeJsonSchema() {
    JsonObjectSchema all = JsonObjectSchema.builder().description("d")
        .addProperty("a", JsonArraySchema.builder().items(JsonNumberSchema.builder().build()).build())
        .addProperty("b", JsonEnumSchema.builder().enumValues("x", "y").build())
        .addProperty("c", JsonAnyOfSchema.builder().anyOf(JsonIntegerSchema.builder().build(),
            JsonReferenceSchema.builder().reference("r").build()).build())
        .addProperty("e", JsonRawSchema.from("{\"type\":\"boolean\"}"))
        .definitions(Map.of("r", JsonStringSchema.builder().description("s").build())).required("a").build();
    assertEquals(Json.parse("{\"type\":\"object\",\"properties\":{"
        + "\"a\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}},\"b\":{\"enum\":[\"x\",\"y\"]},"
        + "\"c\":{\"anyOf\":[{\"type\":\"integer\"},{\"$ref\":\"#/$defs/r\"}]},\"e\":{\"type\":\"boolean\"}},"
        + "\"required\":[\"a\"],\"$defs\":{\"r\":{\"type\":\"string\",\"description\":\"s\"}},\"description\":\"d\"}"),
        Json.parse(Json.text(Schemas.of(all))));
  }

  @Test
  void whatThisCannotDoIsAnError() throws Exception {
    UserMessage image = UserMessage.from(ImageContent.from("aGk=", "image/png"));
    assertThrows(UnsupportedFeatureException.class, () -> chat.chat(image));
    Recorder recorder = new Recorder();
    streaming.chat(ChatRequest.builder().messages(image).build(), recorder);
    assertTrue(recorder.response.isCompletedExceptionally());
  }

  @Test
  void aHandlerCancels() throws Exception {
    long before = ENGINE.stats().cancelled();
    CompletableFuture<Boolean> told = new CompletableFuture<>();
    List<String> parts = new ArrayList<>();
    streaming.chat(asking("Tell me a story").maxOutputTokens(500).build(), new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(PartialResponse part, PartialResponseContext context) {
        parts.add(part.text());
        context.streamingHandle().cancel();
        told.complete(context.streamingHandle().isCancelled());
      }

      @Override
      public void onCompleteResponse(ChatResponse complete) {
        told.completeExceptionally(new AssertionError("it was cancelled"));
      }

      @Override
      public void onError(Throwable error) {
        told.completeExceptionally(error);
      }
    });
    assertTrue(told.get(30, TimeUnit.SECONDS));
    for (int i = 0; ENGINE.stats().cancelled() == before && i < 400; ++i) Thread.sleep(5);
    assertEquals(before + 1, ENGINE.stats().cancelled());
    assertEquals(1, parts.size());
  }

  @Test
  void manyAtOnce() throws Exception {
    List<Recorder> all = new ArrayList<>();
    for (int i = 0; i < 20; ++i) {
      Recorder recorder = new Recorder();
      streaming.chat(asking("What is the capital of Norway?").build(), recorder);
      all.add(recorder);
    }
    for (Recorder recorder : all) {
      assertEquals("The capital of Norway is Oslo.",
          recorder.response.get(30, TimeUnit.SECONDS).aiMessage().text());
    }
  }

  @Test
  void messagesGoThereAndBack() {
    AiMessage answer = AiMessage.builder().text("t").thinking("why").build();
    Map<String, Object> conversation = Json.parseObject(Conversations.of(ChatRequest.builder().messages(
        UserMessage.from("me", "Hi"), answer).build()));
    assertEquals(List.of(Map.of("role", "user", "content", "Hi", "name", "me"),
        Map.of("role", "assistant", "content", "t", "reasoning_content", "why")), conversation.get("messages"));
  }
}
