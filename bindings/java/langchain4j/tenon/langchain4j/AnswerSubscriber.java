package tenon.langchain4j;

import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.model.chat.response.CompleteToolCall;
import dev.langchain4j.model.chat.response.PartialResponse;
import dev.langchain4j.model.chat.response.PartialResponseContext;
import dev.langchain4j.model.chat.response.PartialThinking;
import dev.langchain4j.model.chat.response.PartialThinkingContext;
import dev.langchain4j.model.chat.response.PartialToolCall;
import dev.langchain4j.model.chat.response.PartialToolCallContext;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.chat.response.StreamingHandle;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Flow;
import tenon.ChatDelta;
import tenon.Constants;
import tenon.Piece;

/** Passes the contents of pieces to a handler of LangChain4j. */
final class AnswerSubscriber implements Flow.Subscriber<Piece>, StreamingHandle {
  /** A call of a tool whose arguments are still coming. */
  private record Call(String id, String name, StringBuilder arguments) {}

  private final Exchange exchange;
  private final StreamingChatResponseHandler handler;
  private final Map<Long, Call> calls = new HashMap<>();
  private Flow.Subscription subscription;
  private volatile boolean isCancelled;

  AnswerSubscriber(Exchange exchange, StreamingChatResponseHandler handler) {
    this.exchange = exchange;
    this.handler = handler;
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    subscription = given;
    subscription.request(Long.MAX_VALUE);
  }

  @Override
  public void onNext(Piece piece) {
    for (ChatDelta delta : exchange.push(piece)) {
      if (isCancelled) return;
      tell(delta);
    }
  }

  private void tell(ChatDelta delta) {
    switch (delta.kind()) {
      case Constants.CHAT_CONTENT ->
          handler.onPartialResponse(new PartialResponse(delta.text()), new PartialResponseContext(this));
      case Constants.CHAT_REASONING ->
          handler.onPartialThinking(new PartialThinking(delta.text()), new PartialThinkingContext(this));
      case Constants.CHAT_CALL_BEGIN ->
          calls.put(delta.call(), new Call(delta.id(), delta.text(), new StringBuilder()));
      case Constants.CHAT_ARGUMENTS -> {
        Call call = calls.get(delta.call());
        call.arguments.append(delta.text());
        handler.onPartialToolCall(PartialToolCall.builder().index((int) delta.call()).id(call.id).name(call.name)
            .partialArguments(delta.text()).build(), new PartialToolCallContext(this));
      }
      case Constants.CHAT_CALL_END -> {
        Call call = calls.remove(delta.call());
        handler.onCompleteToolCall(new CompleteToolCall((int) delta.call(), ToolExecutionRequest.builder()
            .id(call.id).name(call.name).arguments(call.arguments.toString()).build()));
      }
      // A malformed call follows as content.
      case Constants.CHAT_CALL_RETRACT -> calls.remove(delta.call());
      default -> { }
    }
  }

  @Override
  public void onError(Throwable error) {
    exchange.close();
    if (!isCancelled) handler.onError(error);
  }

  @Override
  public void onComplete() {
    if (!isCancelled) handler.onCompleteResponse(exchange.response());
    exchange.close();
  }

  @Override
  public void cancel() {
    isCancelled = true;
    subscription.cancel();
    exchange.close();
  }

  @Override
  public boolean isCancelled() {
    return isCancelled;
  }
}
