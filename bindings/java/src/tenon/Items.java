package tenon;

import java.util.List;
import java.util.Objects;

/** Several texts, or lists of tokens, for the library: places [count] with their lengths [count].
 */
record Items(int count, boolean areTexts, Block places, Block lengths) {
  /** One of the two is null. */
  static Items of(Call call, List<String> texts, List<int[]> tokens) {
    int count = texts != null ? texts.size() : tokens.size();
    Block places = call.array(Math.max(count, 1), 8);
    Block lengths = call.array(Math.max(count, 1), 8);
    for (int i = 0; i < count; ++i) {
      Block item = texts != null ? call.text(Objects.requireNonNull(texts.get(i)))
          : call.tokens(Objects.requireNonNull(tokens.get(i)));
      places.int64(8 * i, item.address);
      lengths.int64(8 * i, item.count);
    }
    return new Items(count, texts != null, places, lengths);
  }

  /** Writes them into the fields of a structure, whose offsets these are. */
  void write(Block struct, int textsAt, int lengthsAt, int tokensAt, int numTokensAt) {
    struct.int64(areTexts ? textsAt : tokensAt, places.address);
    struct.int64(areTexts ? lengthsAt : numTokensAt, lengths.address);
  }
}
