package tenon;

/** Why a piece is the last one. */
public enum Finish {
  /** The model drew an end token. */
  END,
  /** As many tokens as were asked for. */
  MAX_TOKENS,
  /** A stop text or stop token came. */
  STOP,
  /** Nothing was found to go on with but banned texts. */
  BANNED;

  /** By TENON_FINISH_*; null: it is not the last one. */
  static Finish of(int finish) {
    return finish == Constants.FINISH_NONE ? null : values()[finish - 1];
  }
}
