package tenon.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.output.FinishReason;
import dev.langchain4j.model.output.TokenUsage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tenon.Chat;
import tenon.ChatDelta;
import tenon.Constants;
import tenon.Engine;
import tenon.Finish;
import tenon.GenerateOptions;
import tenon.Generation;
import tenon.Piece;
import tenon.Reply;
import tenon.Sampler;
import tenon.SamplerOptions;

/** A running request, and its answer so far. */
final class Exchange implements AutoCloseable {
  final Generation generation;
  private final Engine engine;
  private final String modelName;
  private final Reply reply;
  private final int promptTokens;
  private final boolean hasStops;
  private int tokens;
  private Finish finish;

  Exchange(Engine engine, Chat chat, String modelName, ChatRequest request) {
    this.engine = engine;
    this.modelName = modelName;
    String conversation = Conversations.of(request);
    int[] prompt = chat.encode(conversation);
    promptTokens = prompt.length;
    ChatRequestParameters parameters = request.parameters();
    hasStops = parameters.stopSequences() != null && !parameters.stopSequences().isEmpty();
    GenerateOptions options = new GenerateOptions();
    if (parameters.maxOutputTokens() != null) options.maxTokens(parameters.maxOutputTokens());
    Reply begun = chat.reply(conversation);
    try (Sampler sampler = new Sampler(sampling(parameters))) {
      chat.constrain(conversation, sampler);
      generation = engine.generate(prompt, options.sampler(sampler));
    } catch (RuntimeException error) {
      begun.close();
      throw error;
    }
    reply = begun;
  }

  private static SamplerOptions sampling(ChatRequestParameters parameters) {
    SamplerOptions options = new SamplerOptions();
    if (parameters.temperature() != null) options.temperature(parameters.temperature());
    if (parameters.topP() != null) options.topP(parameters.topP());
    if (parameters.topK() != null) options.topK(parameters.topK());
    if (parameters.frequencyPenalty() != null) options.frequencyPenalty(parameters.frequencyPenalty());
    if (parameters.presencePenalty() != null) options.presencePenalty(parameters.presencePenalty());
    if (parameters.stopSequences() != null) options.stop(parameters.stopSequences().toArray(new String[0]));
    return options;
  }

  /** Deltas that a piece adds to the answer. */
  List<ChatDelta> push(Piece piece) {
    List<ChatDelta> deltas = new ArrayList<>();
    if (!hasStops) {
      if (piece.hasToken()) deltas.addAll(reply.push(piece.token()));
    } else {
      // Text that may become a stop is held back, so push the text; control tokens have none.
      if (piece.hasToken() && isControl(piece.token())) deltas.addAll(reply.push(piece.token()));
      if (!piece.text().isEmpty()) deltas.addAll(reply.push(piece.text()));
    }
    if (piece.hasToken()) ++tokens;
    finish = piece.finish();
    if (finish != null) deltas.addAll(reply.finish());
    return deltas;
  }

  private boolean isControl(int token) {
    return (engine.model().tokenizer().info(token).attributes() & Constants.TOKEN_CONTROL) != 0;
  }

  /** The whole answer, after the last piece. */
  ChatResponse response() {
    Map<String, Object> message = reply.message();
    List<ToolExecutionRequest> calls = new ArrayList<>();
    if (message.get("tool_calls") instanceof List<?> list) list.forEach(call -> calls.add(call((Map<?, ?>) call)));
    AiMessage.Builder answer = AiMessage.builder().text((String) message.get("content"))
        .thinking((String) message.get("reasoning_content"));
    if (!calls.isEmpty()) answer.toolExecutionRequests(calls);
    return ChatResponse.builder().aiMessage(answer.build()).modelName(modelName)
        .tokenUsage(new TokenUsage(promptTokens, tokens)).finishReason(reason(calls)).build();
  }

  private FinishReason reason(List<ToolExecutionRequest> calls) {
    if (!calls.isEmpty()) return FinishReason.TOOL_EXECUTION;
    return switch (finish) {
      case MAX_TOKENS -> FinishReason.LENGTH;
      case END, STOP -> FinishReason.STOP;
      case BANNED -> FinishReason.OTHER;
    };
  }

  private static ToolExecutionRequest call(Map<?, ?> call) {
    Map<?, ?> function = (Map<?, ?>) call.get("function");
    return ToolExecutionRequest.builder().id((String) call.get("id")).name((String) function.get("name"))
        .arguments((String) function.get("arguments")).build();
  }

  @Override
  public void close() {
    generation.close();
    reply.close();
  }
}
