package tenon.langchain4j;

import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import java.util.Set;
import tenon.Engine;
import tenon.Model;

/** {@link TenonChatModel} with streaming. No thread waits for a request; handlers are called on the
 * common pool, one call at a time. */
public final class TenonStreamingChatModel implements StreamingChatModel {
  private final ServedModel served;

  /** The model stays the caller's. */
  public TenonStreamingChatModel(Model model) {
    served = ServedModel.of(model);
  }

  /** Uses the caller's engine. defaults: for parameters that a request leaves out. */
  public TenonStreamingChatModel(Engine engine, ChatRequestParameters defaults) {
    served = ServedModel.of(engine, defaults);
  }

  @Override
  public ChatRequestParameters defaultRequestParameters() {
    return served.defaults();
  }

  @Override
  public Set<Capability> supportedCapabilities() {
    return ServedModel.CAPABILITIES;
  }

  @Override
  public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
    Exchange exchange;
    try {
      exchange = served.begin(request);
    } catch (RuntimeException error) {
      handler.onError(error);
      return;
    }
    exchange.generation.subscribe(new AnswerSubscriber(exchange, handler));
  }
}
