package tenon;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/** Memory that a program sees until it is closed. */
final class Lent implements AutoCloseable {
  final long address;
  private final ByteBuffer memory;
  private final Runnable end;

  Lent(ByteBuffer memory, long address, Runnable end) {
    this.memory = memory;
    this.address = address;
    this.end = end;
  }

  FloatBuffer floats() {
    return memory.asFloatBuffer().asReadOnlyBuffer();
  }

  @Override
  public void close() {
    end.run();
  }
}
