package tenon;

import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** Turns conversations into prompts, by a model's template or yours, and generates answers. A
 * conversation is JSON, as text or as maps and lists: {"messages": [{"role": "user", "content":
 * "Hi"}], "tools": [...]}. Any thread. */
public final class Chat extends NativeObject {
  public Chat(Model model) {
    this(model, null);
  }

  /** model: null with the option template, for text only. */
  public Chat(Model model, ChatOptions options) {
    super(make(model, options));
  }

  private static Handle make(Model model, ChatOptions options) {
    try (Handle set = Options.handle(options)) {
      return Calls.chatCreate(model == null ? null : model.handle, set);
    }
  }

  /** Runs one turn: generates the answer in the session and returns it as a message, to be appended
   * to the conversation's. The session's computed tokens are reused: keep it for the next turn.
   * listener gets the deltas; may be null. options: null, or those of sampling and limits; {@link
   * GenerateOptions#dropOldest} drops the oldest turns if there is no room. */
  public Map<String, Object> answer(Session session, String conversation, GenerateOptions options, Consumer<ChatDelta> listener) {
    GenerateOptions given = options == null ? GenerateOptions.NONE : options;
    if (given.sampler != null || given.grammar != null) {
      throw new IllegalArgumentException("a chat makes its sampler and grammar itself");
    }
    Consumer<ChatDelta> each = listener == null ? delta -> {} : listener;
    int flags = given.dropOldest ? Constants.DROP_OLDEST : 0;
    try (Sampler sampler = new Sampler(given.sampling);
        Reply reply = new Reply(
            Calls.chatBegin(handle, session.handle, conversation, sampler.handle, given.maxTokens, flags));
        Generation generation = session.continued(given, sampler)) {
      for (Piece piece : generation) reply.push(piece).forEach(each);
      reply.finish().forEach(each);
      return reply.message();
    }
  }

  public Map<String, Object> answer(Session session, Map<String, ?> conversation, GenerateOptions options,
      Consumer<ChatDelta> listener) {
    return answer(session, Json.text(conversation), options, listener);
  }

  public Map<String, Object> answer(Session session, Map<String, ?> conversation) {
    return answer(session, conversation, null, null);
  }

  /** The format by which answers are parsed. */
  public String format() {
    return Calls.chatFormat(handle);
  }

  /** The prompt as text. */
  public String render(String conversation) {
    return Calls.chatRender(handle, conversation);
  }

  public String render(Map<String, ?> conversation) {
    return render(Json.text(conversation));
  }

  /** The prompt as tokens, for Session.generate. */
  public int[] encode(String conversation) {
    return Calls.chatEncode(handle, conversation);
  }

  public int[] encode(Map<String, ?> conversation) {
    return encode(Json.text(conversation));
  }

  /** Grammar of the answer; empty if any answer may come. */
  public Optional<Grammar> grammar(String conversation) {
    return Optional.ofNullable(Calls.chatGrammar(handle, conversation)).map(Grammar::new);
  }

  public Optional<Grammar> grammar(Map<String, ?> conversation) {
    return grammar(Json.text(conversation));
  }

  /** Attaches the grammar of the answer to a sampler; false if any answer may come. */
  public boolean constrain(String conversation, Sampler sampler) {
    return Calls.chatConstrain(handle, conversation, sampler.handle) != 0;
  }

  public boolean constrain(Map<String, ?> conversation, Sampler sampler) {
    return constrain(Json.text(conversation), sampler);
  }

  /** Begins to parse the answer. */
  public Reply reply(String conversation) {
    return new Reply(Calls.chatReplyCreate(handle, conversation));
  }

  public Reply reply(Map<String, ?> conversation) {
    return reply(Json.text(conversation));
  }
}
