package tenon;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalInt;

/** Text to tokens and back, from a tokenizer.json or a model file, or part of a model. Any thread.
 */
public final class Tokenizer extends NativeObject {
  Tokenizer(Handle handle) {
    super(handle);
  }

  /** Opens a Hugging Face tokenizer.json, or the vocabulary of a model file. */
  public static Tokenizer open(Path path) {
    return new Tokenizer(Calls.tokenizerOpen(path.toString()));
  }

  /** Reads the bytes of such a file. */
  public static Tokenizer of(byte[] file) {
    try (Call call = new Call()) {
      Block data = call.bytes(file);
      Block source = call.struct(Layouts.Source.SIZE);
      source.int32(Layouts.Source.KIND, Constants.SOURCE_MEMORY);
      source.int64(Layouts.Source.DATA, data.address);
      source.int64(Layouts.Source.SIZE_, data.count);
      Block made = call.block(8);
      call.check(call.library.tokenizerLoad(source.address, made.address));
      return new Tokenizer(Handle.of(Kind.TOKENIZER, made.int64(0), null));
    }
  }

  /** Tokens of a text, without begin and end tokens. */
  public int[] encode(String text) {
    return encode(text, false, false);
  }

  /** addSpecial: with the begin (and end) token. parseSpecial: finds control tokens in the text;
   * not for user input. */
  public int[] encode(String text, boolean addSpecial, boolean parseSpecial) {
    return Calls.tokenizerEncode(handle, text, flags(addSpecial, parseSpecial));
  }

  static int flags(boolean addSpecial, boolean parseSpecial) {
    return (addSpecial ? Constants.ADD_SPECIAL : 0) | (parseSpecial ? Constants.PARSE_SPECIAL : 0);
  }

  /** Text of tokens; invalid UTF-8 becomes U+FFFD. */
  public String decode(int... tokens) {
    return new String(decodeBytes(tokens, false), StandardCharsets.UTF_8);
  }

  /** Bytes of tokens, which may begin or end inside a character. showSpecial: shows control tokens.
   */
  public byte[] decodeBytes(int[] tokens, boolean showSpecial) {
    return Calls.tokenizerDecode(handle, tokens, showSpecial ? Constants.RENDER_SPECIAL : 0);
  }

  /** Number of tokens. */
  public int size() {
    return (int) Calls.tokenizerCount(handle);
  }

  /** Attributes, spelling and bytes of a token. */
  public TokenInfo info(int token) {
    return Calls.tokenizerTokenInfo(handle, token);
  }

  /** The token with this spelling in the file. */
  public OptionalInt find(String spelling) {
    return optional(Calls.tokenizerFind(handle, spelling));
  }

  /** The begin token. */
  public OptionalInt beginToken() {
    return optional(Calls.tokenizerSpecial(handle, Constants.SPECIAL_BEGIN));
  }

  /** The end token. */
  public OptionalInt endToken() {
    return optional(Calls.tokenizerSpecial(handle, Constants.SPECIAL_END));
  }

  private static OptionalInt optional(int token) {
    return token == Constants.NO_TOKEN ? OptionalInt.empty() : OptionalInt.of(token);
  }
}
