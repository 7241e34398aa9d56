package tenon;

import java.util.ArrayList;
import java.util.List;

/** A token and the natural logarithm of its probability. */
public record TokenLogprob(int token, float logprob) {
  static List<TokenLogprob> list(int[] tokens, float[] logprobs) {
    List<TokenLogprob> all = new ArrayList<>(tokens.length);
    for (int i = 0; i < tokens.length; ++i) all.add(new TokenLogprob(tokens[i], logprobs[i]));
    return List.copyOf(all);
  }
}
