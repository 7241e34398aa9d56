package tenon;

import java.util.BitSet;

/** Where a text of a grammar has come to, and what may follow. One thread at a time. */
public final class Matcher extends NativeObject {
  Matcher(Handle handle) {
    super(handle);
  }

  /** A second one at the same place. */
  public Matcher fork() {
    return new Matcher(Calls.matcherFork(handle));
  }

  /** Back to the beginning. */
  public void reset() {
    Calls.matcherReset(handle);
  }

  /** At most so many tokens may still come. */
  public void setTokenLimit(long tokens) {
    Calls.matcherSetTokenLimit(handle, tokens);
  }

  /** Whether the token may come next. */
  public boolean allows(int token) {
    return Calls.matcherAllows(handle, token) != 0;
  }

  /** All tokens that may come next. */
  public BitSet mask() {
    return BitSet.valueOf(Calls.matcherMask(handle));
  }

  /** Takes the next token; {@link TenonException.State} for one that cannot follow. */
  public void accept(int token) {
    Calls.matcherAcceptToken(handle, token);
  }

  /** Takes text, if the grammar goes on so. */
  public boolean accept(String text) {
    return Calls.matcherAcceptText(handle, text) != 0;
  }

  /** Takes the last tokens back. */
  public void rollBack(int tokens) {
    Calls.matcherRollBack(handle, tokens);
  }

  /** Whether the text so far is one of the grammar. */
  public boolean isComplete() {
    return Calls.matcherState(handle).complete() != 0;
  }

  /** Whether nothing can follow. */
  public boolean hasEnded() {
    return Calls.matcherState(handle).ended() != 0;
  }

  /** The text that must come next; often empty. */
  public String forcedText() {
    return Calls.matcherForcedText(handle);
  }
}
