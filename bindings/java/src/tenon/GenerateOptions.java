package tenon;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;

/** What a generation may be told besides its text. */
public final class GenerateOptions {
  static final GenerateOptions NONE = new GenerateOptions();

  long maxTokens;
  Sampler sampler;
  SamplerOptions sampling;
  Grammar grammar;
  Boolean addSpecial;
  boolean parseSpecial;
  boolean ignoreEnd;
  int logprobs = -1;
  double timeoutSeconds;
  Integer priority;
  String client;
  double weight;
  boolean dropOldest;
  Executor executor = ForkJoinPool.commonPool();

  /** At most so many tokens; 0: as many as the context holds. */
  public GenerateOptions maxTokens(long tokens) {
    maxTokens = counted(tokens);
    return this;
  }

  /** C would take a negative number for a very large one. */
  static long counted(long tokens) {
    if (tokens < 0) throw new TenonException.Argument("maxTokens: " + tokens + " is no number of tokens");
    return tokens;
  }

  /** How tokens are drawn. It is copied when the generation begins. */
  public GenerateOptions sampler(Sampler given) {
    sampler = given;
    return this;
  }

  /** In place of a sampler: its options. */
  public GenerateOptions sampling(SamplerOptions options) {
    sampling = options;
    return this;
  }

  /** Always the likeliest token: the same as sampling with temperature 0. */
  public GenerateOptions greedy() {
    return sampling(new SamplerOptions().temperature(0));
  }

  /** Texts of it only. */
  public GenerateOptions grammar(Grammar given) {
    grammar = given;
    return this;
  }

  /** Whether the begin token goes before the text; unless given, when the session is empty. */
  public GenerateOptions addSpecial(boolean value) {
    addSpecial = value;
    return this;
  }

  /** Spelled control tokens in the text become them: not for what users write. */
  public GenerateOptions parseSpecial(boolean value) {
    parseSpecial = value;
    return this;
  }

  /** An end token is a token like any other. */
  public GenerateOptions ignoreEnd(boolean value) {
    ignoreEnd = value;
    return this;
  }

  /** Pieces have a logprob, and those of so many likeliest tokens. */
  public GenerateOptions logprobs(int top) {
    logprobs = top;
    return this;
  }

  /** From now to the end: {@link TenonException.Deadline}. */
  public GenerateOptions timeout(Duration duration) {
    timeoutSeconds = duration.toNanos() / 1e9;
    return this;
  }

  /** Higher runs first; unless given, that of the session. */
  public GenerateOptions priority(int value) {
    priority = value;
    return this;
  }

  /** Requests of one client share what its weight gives. */
  public GenerateOptions client(String name) {
    client = name;
    return this;
  }

  /** Of the client. */
  public GenerateOptions weight(double value) {
    weight = value;
    return this;
  }

  /** Of a chat: where the conversation leaves no room for the answer, its oldest turns are left out. */
  public GenerateOptions dropOldest(boolean value) {
    dropOldest = value;
    return this;
  }

  /** Where subscribers are called and futures completed; unless given, the common pool. */
  public GenerateOptions executor(Executor given) {
    executor = given;
    return this;
  }
}
