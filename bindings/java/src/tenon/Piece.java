package tenon;

import java.util.List;

/** Result of one step of a generation.
 *
 * @param text whole characters; empty while one is incomplete or may begin a stop text
 * @param token Constants.NO_TOKEN if the last token was handed out already
 * @param finish null unless it is the last piece
 * @param logprob of the token, with GenerateOptions.logprobs, else NaN
 * @param top the likeliest tokens, if requested */
public record Piece(String text, int token, Finish finish, float logprob, List<TokenLogprob> top) {
  /** True if there is a token. */
  public boolean hasToken() {
    return token != Constants.NO_TOKEN;
  }

  /** The text. */
  @Override
  public String toString() {
    return text;
  }

  static boolean isThere(RawPiece raw) {
    return raw.token() != Constants.NO_TOKEN || raw.finish() != Constants.FINISH_NONE;
  }

  static Piece of(RawPiece raw) {
    return new Piece(raw.text(), raw.token(), Finish.of(raw.finish()), Float.NaN, List.of());
  }
}
