package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Memory shared by Java and the library: an argument, a structure, a result. */
final class Block {
  /** Stands for NULL. */
  static final Block NONE = new Block(ByteBuffer.allocate(0), 0, 0, 0);

  private final ByteBuffer memory;
  private final int start;
  final long address;
  /** Number of its elements. */
  final int count;

  Block(ByteBuffer memory, int start, long address, int count) {
    this.memory = memory;
    this.start = start;
    this.address = address;
    this.count = count;
  }

  /** A structure that the library passes to a callback. An older library's ends sooner; the rest is
   * 0. */
  static Block given(long address, int size) {
    NativeCalls library = Library.use();
    int theirs = library.view(address, 4).getInt(0);
    if (theirs >= size) return new Block(library.view(address, size), 0, address, 1);
    ByteBuffer whole = ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    whole.put(0, library.bytes(address, theirs));
    return new Block(whole, 0, address, 1);
  }

  /** Its first elements. */
  Block first(int elements) {
    return new Block(memory, start, address, elements);
  }

  void put(byte[] values) {
    memory.put(start, values);
  }

  char char16(int offset) {
    return memory.getChar(start + offset);
  }

  int int32(int offset) {
    return memory.getInt(start + offset);
  }

  long int64(int offset) {
    return memory.getLong(start + offset);
  }

  double float64(int offset) {
    return memory.getDouble(start + offset);
  }

  float float32(int offset) {
    return memory.getFloat(start + offset);
  }

  void int32(int offset, int value) {
    memory.putInt(start + offset, value);
  }

  void int64(int offset, long value) {
    memory.putLong(start + offset, value);
  }

  void float64(int offset, double value) {
    memory.putDouble(start + offset, value);
  }

  /** All elements, for each type that they may have. */
  byte[] int8s() {
    byte[] copy = new byte[count];
    memory.get(start, copy);
    return copy;
  }

  int[] ints() {
    int[] copy = new int[count];
    for (int i = 0; i < count; ++i) copy[i] = int32(4 * i);
    return copy;
  }

  long[] int64s() {
    long[] copy = new long[count];
    for (int i = 0; i < count; ++i) copy[i] = int64(8 * i);
    return copy;
  }

  float[] float32s() {
    float[] copy = new float[count];
    for (int i = 0; i < count; ++i) copy[i] = float32(4 * i);
    return copy;
  }

  String string() {
    return new String(int8s(), StandardCharsets.UTF_8);
  }
}
