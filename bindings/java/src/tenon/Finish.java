package tenon;

/** Why a piece is the last. */
public enum Finish {
  /** The model drew an end token. */
  END,
  /** maxTokens tokens were generated. */
  MAX_TOKENS,
  /** A stop text or stop token was generated. */
  STOP,
  /** Every continuation found holds a banned text. */
  BANNED;

  /** By TENON_FINISH_*; null: it is not the last. */
  static Finish of(int finish) {
    return finish == Constants.FINISH_NONE ? null : values()[finish - 1];
  }
}
