package tenon;

import java.util.List;

/** What one step of a generation brings.
 *
 * @param text whole characters: empty while one is incomplete or may begin a stop text
 * @param token Constants.NO_TOKEN where the last one had gone already
 * @param finish null unless it is the last piece
 * @param logprob of the token, where GenerateOptions.logprobs was given, else NaN
 * @param top the likeliest tokens, where they were asked for */
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
