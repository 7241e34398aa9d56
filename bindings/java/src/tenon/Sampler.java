package tenon;

import java.nio.FloatBuffer;
import java.util.List;

/** Draws tokens from logits. One thread at a time; a generation copies it when it begins. */
public final class Sampler extends NativeObject {
  public Sampler() {
    this(null);
  }

  public Sampler(SamplerOptions options) {
    super(make(options));
  }

  private static Handle make(SamplerOptions options) {
    try (Handle set = Options.handle(options)) {
      return Calls.samplerCreate(set);
    }
  }

  /** Changes one parameter. */
  public void set(String name, long value) {
    Calls.samplerSetInt(handle, name, value);
  }

  public void set(String name, double value) {
    Calls.samplerSetFloat(handle, name, value);
  }

  /** Adds to a token's logit; Double.NEGATIVE_INFINITY forbids the token. */
  public void setBias(int token, double bias) {
    Calls.samplerSetBias(handle, token, bias);
  }

  /** Ends generation at this token. */
  public void addStopToken(int token) {
    Calls.samplerAddStopToken(handle, token);
  }

  /** Makes repetitions counted by the dry parameters end at every token whose text holds this one.
   */
  public void addDryBreaker(Tokenizer tokenizer, String text) {
    Calls.samplerAddDryBreaker(handle, tokenizer.handle, text);
  }

  /** Allows only texts of the grammar from now on; null: any text. */
  public void setGrammar(Grammar grammar, Tokenizer tokenizer) {
    Calls.samplerSetGrammar(handle, grammar == null ? null : grammar.handle,
        tokenizer == null ? null : tokenizer.handle);
  }

  /** Sets how many tokens may still be drawn. */
  public void setTokenLimit(long tokens) {
    Calls.samplerSetTokenLimit(handle, tokens);
  }

  /** Seed of the draws: its option, or for -1 the seed of the latest answer. */
  public long seed() {
    return Calls.samplerSeed(handle);
  }

  /** Restores the sampler to its creation. */
  public void reset() {
    Calls.samplerReset(handle);
  }

  /** Takes back the last draws. */
  public void rollBack(int draws) {
    Calls.samplerRollBack(handle, draws);
  }

  /** Draws a token. history: the text so far, for the penalties; its length is the key of the
   * random number. */
  public int sample(Logits logits, int... history) {
    return Calls.samplerSample(handle, logits, history, history.length);
  }

  /** Draws from your logits [vocabulary] f32. */
  public int sample(FloatBuffer logits, int... history) {
    return Calls.samplerSample(handle, logits, history, history.length);
  }

  public int sample(float[] logits, int... history) {
    return Calls.samplerSample(handle, logits, history, history.length);
  }

  /** Draws a token with a key of your own: the same seed, position and logits draw the same token.
   */
  public int sampleAt(Logits logits, long position, int... history) {
    return Calls.samplerSample(handle, logits, history, position);
  }

  public int sampleAt(FloatBuffer logits, long position, int... history) {
    return Calls.samplerSample(handle, logits, history, position);
  }

  public int sampleAt(float[] logits, long position, int... history) {
    return Calls.samplerSample(handle, logits, history, position);
  }

  /** Log-probabilities under logits.
   *
   * @param ofTokens those of the requested tokens
   * @param top the likeliest, likeliest first */
  public record Logprobs(float[] ofTokens, List<TokenLogprob> top) {}

  public static Logprobs logprobs(Logits logits, int[] tokens, int top) {
    return logprobsOf(logits, tokens, top);
  }

  public static Logprobs logprobs(float[] logits, int[] tokens, int top) {
    return logprobsOf(logits, tokens, top);
  }

  private static Logprobs logprobsOf(Object logits, int[] tokens, int top) {
    Calls.Logprobs all = Calls.logprobs(logits, tokens, top);
    return new Logprobs(all.logprobs(), TokenLogprob.list(all.topTokens(), all.topLogprobs()));
  }
}
