package tenon;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Fields of structures that are more than one number. All are copies. */
abstract class StructFields {
  static byte[] bytes(long address, long length) {
    return length == 0 ? new byte[0] : Library.use().bytes(address, Math.toIntExact(length));
  }

  static String text(long address, long length) {
    return length == 0 ? "" : new String(bytes(address, length), StandardCharsets.UTF_8);
  }

  /** A text that ends in a NUL; null for NULL. */
  static String name(long address) {
    return address == 0 ? null : text(address, Library.use().nameLength(address));
  }

  static int[] tokens(long address, long count) {
    if (count == 0) return new int[0];
    int[] copy = new int[Math.toIntExact(count)];
    Library.use().view(address, 4 * count).asIntBuffer().get(copy);
    return copy;
  }

  static List<Long> int64s(Block at, int offset, int count) {
    List<Long> values = new ArrayList<>();
    for (int i = 0; i < count; ++i) values.add(at.int64(offset + 8 * i));
    return List.copyOf(values);
  }

  static List<Double> float64s(Block at, int offset, int count) {
    List<Double> values = new ArrayList<>();
    for (int i = 0; i < count; ++i) values.add(at.float64(offset + 8 * i));
    return List.copyOf(values);
  }

  static void put(Block at, int offset, List<Double> values) {
    for (int i = 0; i < values.size(); ++i) at.float64(offset + 8 * i, values.get(i));
  }
}
