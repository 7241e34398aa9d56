package tenon;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;

/** Options of a generation besides its text. */
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

  /** Most tokens; 0: as many as the context holds. */
  public GenerateOptions maxTokens(long tokens) {
    maxTokens = counted(tokens);
    return this;
  }

  /** C would take a negative number for a very large one. */
  static long counted(long tokens) {
    if (tokens < 0) throw new TenonException.Argument("maxTokens: " + tokens + " is no number of tokens");
    return tokens;
  }

  /** The sampler. It is copied when the generation begins. */
  public GenerateOptions sampler(Sampler given) {
    sampler = given;
    return this;
  }

  /** Sampler options, instead of a sampler. */
  public GenerateOptions sampling(SamplerOptions options) {
    sampling = options;
    return this;
  }

  /** Always draws the likeliest token: sampling with temperature 0. */
  public GenerateOptions greedy() {
    return sampling(new SamplerOptions().temperature(0));
  }

  /** Allows only texts of this grammar. */
  public GenerateOptions grammar(Grammar given) {
    grammar = given;
    return this;
  }

  /** Begin token before the text. Default: if the session is empty. */
  public GenerateOptions addSpecial(boolean value) {
    addSpecial = value;
    return this;
  }

  /** Finds control tokens in the text: not for user input. */
  public GenerateOptions parseSpecial(boolean value) {
    parseSpecial = value;
    return this;
  }

  /** An end token does not end generation. */
  public GenerateOptions ignoreEnd(boolean value) {
    ignoreEnd = value;
    return this;
  }

  /** Adds a logprob to pieces, and those of that many likeliest tokens. */
  public GenerateOptions logprobs(int top) {
    logprobs = top;
    return this;
  }

  /** Time to the end, then {@link TenonException.Deadline}. */
  public GenerateOptions timeout(Duration duration) {
    timeoutSeconds = duration.toNanos() / 1e9;
    return this;
  }

  /** Higher runs first. Default: the session's. */
  public GenerateOptions priority(int value) {
    priority = value;
    return this;
  }

  /** Key of a fair share. */
  public GenerateOptions client(String name) {
    client = name;
    return this;
  }

  /** Weight of the client's share. */
  public GenerateOptions weight(double value) {
    weight = value;
    return this;
  }

  /** Chats only: drops the oldest turns if the conversation leaves no room for the answer. */
  public GenerateOptions dropOldest(boolean value) {
    dropOldest = value;
    return this;
  }

  /** Calls subscribers and completes futures. Default: the common pool. */
  public GenerateOptions executor(Executor given) {
    executor = given;
    return this;
  }
}
