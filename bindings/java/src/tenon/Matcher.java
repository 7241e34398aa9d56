package tenon;

import java.util.BitSet;

/** A position in a text of a grammar, and the tokens that may follow. One thread at a time. */
public final class Matcher extends NativeObject {
  Matcher(Handle handle) {
    super(handle);
  }

  /** A second matcher at the same position. */
  public Matcher fork() {
    return new Matcher(Calls.matcherFork(handle));
  }

  /** Returns to the beginning. */
  public void reset() {
    Calls.matcherReset(handle);
  }

  /** Limits the text to that many more tokens. */
  public void setTokenLimit(long tokens) {
    Calls.matcherSetTokenLimit(handle, tokens);
  }

  /** True if the token may come next. */
  public boolean allows(int token) {
    return Calls.matcherAllows(handle, token) != 0;
  }

  /** Mask of all tokens that may come next. */
  public BitSet mask() {
    return BitSet.valueOf(Calls.matcherMask(handle));
  }

  /** Accepts the next token; {@link TenonException.State} if it cannot follow. */
  public void accept(int token) {
    Calls.matcherAcceptToken(handle, token);
  }

  /** Accepts text; false if the grammar does not allow it. */
  public boolean accept(String text) {
    return Calls.matcherAcceptText(handle, text) != 0;
  }

  /** Takes back the last tokens. */
  public void rollBack(int tokens) {
    Calls.matcherRollBack(handle, tokens);
  }

  /** True if the text so far is a text of the grammar. */
  public boolean isComplete() {
    return Calls.matcherState(handle).complete() != 0;
  }

  /** True if only an end token can follow. */
  public boolean hasEnded() {
    return Calls.matcherState(handle).ended() != 0;
  }

  /** The text that must come next; often empty. */
  public String forcedText() {
    return Calls.matcherForcedText(handle);
  }
}
