package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/** Rows of f32, one after another, in the layout of the library; they belong to the program. */
public final class Rows {
  private final ByteBuffer memory;
  private final List<Integer> counts = new ArrayList<>();
  private final int size;
  private final int dimensions;

  Rows(ByteBuffer memory, long[] counts) {
    this.memory = memory;
    int rows = 0;
    for (long count : counts) {
      this.counts.add((int) count);
      rows += (int) count;
    }
    size = rows;
    dimensions = rows == 0 ? 0 : memory.capacity() / 4 / rows;
  }

  /** Number of rows. */
  public int size() {
    return size;
  }

  /** Numbers per row. */
  public int dimensions() {
    return dimensions;
  }

  /** Rows per text: 1 unless the pooling is none. */
  public List<Integer> counts() {
    return List.copyOf(counts);
  }

  /** All rows: [size, dimensions] f32, read-only, without a copy. */
  public FloatBuffer buffer() {
    return memory.duplicate().order(ByteOrder.nativeOrder()).asFloatBuffer().asReadOnlyBuffer();
  }

  /** One row: [dimensions] f32, read-only, without a copy. */
  public FloatBuffer row(int index) {
    java.util.Objects.checkIndex(index, size);
    return buffer().slice(index * dimensions, dimensions);
  }

  /** One row as a new array: [dimensions] f32. */
  public float[] toArray(int index) {
    float[] copy = new float[dimensions];
    row(index).get(copy);
    return copy;
  }

  /** The cosine of two rows, which have length 1 unless the option normalize is off. */
  public float dot(int first, int second) {
    FloatBuffer a = row(first);
    FloatBuffer b = row(second);
    float sum = 0;
    for (int i = 0; i < dimensions; ++i) sum += a.get(i) * b.get(i);
    return sum;
  }
}
