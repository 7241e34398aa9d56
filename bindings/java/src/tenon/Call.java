package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** One call of the library: its handles in use, and the memory of its arguments and results, which
 * live until it is closed. */
final class Call implements AutoCloseable {
  /** Fills the caller's buffer; "Buffers" in tenon.h. */
  interface Filler {
    int fill(long buffer, long capacity, long needed);
  }

  private static final int SCRATCH_BYTES = 8192;
  private static final int MOST_KEPT = 64;
  private static final Deque<Scratch> SCRATCHES = new ArrayDeque<>();

  /** Memory for small data, reused by later calls. */
  private record Scratch(ByteBuffer memory, long address) {}

  final NativeCalls library = Library.use();
  private final Scratch scratch = takeScratch();
  private int scratchUsed;
  private final List<Object> kept = new ArrayList<>(0);
  private final Handle.State[] used = new Handle.State[4];
  private final boolean[] isAlongside = new boolean[4];
  private int numUsed;
  private Logits logits;
  private Callback callback;

  private Scratch takeScratch() {
    synchronized (SCRATCHES) {
      if (!SCRATCHES.isEmpty()) return SCRATCHES.pop();
    }
    ByteBuffer memory = ByteBuffer.allocateDirect(SCRATCH_BYTES).order(ByteOrder.nativeOrder());
    return new Scratch(memory, library.address(memory));
  }

  /** Pointer of a handle, which is in use until the end of the call; 0 for null. alongside: allowed
   * during other calls on the handle. */
  long handle(Handle handle, boolean alongside) {
    return handle == null ? 0 : enter(handle.state, alongside);
  }

  /** Pointer of an engine's state, for its runner: also of a closed engine that a server still
   * uses. */
  long state(Handle.State engine) {
    return entered(engine, engine.enterAlive(), true);
  }

  private long enter(Handle.State state, boolean alongside) {
    return entered(state, state.enter(alongside), alongside);
  }

  private long entered(Handle.State state, long pointer, boolean alongside) {
    used[numUsed] = state;
    isAlongside[numUsed++] = alongside;
    return pointer;
  }

  /** Room for `count` elements, zeroed. */
  Block array(int count, int width) {
    long bytes = (long) count * width;
    int start = (scratchUsed + 7) & ~7;
    if (start + bytes <= SCRATCH_BYTES) {
      scratchUsed = start + (int) bytes;
      for (int i = start; i < scratchUsed; ++i) scratch.memory.put(i, (byte) 0);
      return new Block(scratch.memory, start, scratch.address + start, count);
    }
    if (bytes > Integer.MAX_VALUE) {
      throw new TenonException.Limit("Java's buffers hold 2^31 - 1 bytes, not " + bytes);
    }
    ByteBuffer memory = ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
    kept.add(memory);
    return new Block(memory, 0, library.address(memory), count);
  }

  Block block(int bytes) {
    return array(bytes, 1);
  }

  /** A structure with its size in the first field. */
  Block struct(int bytes) {
    Block made = array(bytes, 1);
    made.int32(0, bytes);
    return made;
  }

  Block bytes(byte[] values) {
    if (values == null) return Block.NONE;
    // At least one byte: NULL would mean something else.
    Block made = array(Math.max(values.length, 1), 1);
    made.put(values);
    return made.first(values.length);
  }

  Block text(String text) {
    return text == null ? Block.NONE : bytes(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Address of a text that ends in a NUL; 0 for null. */
  long name(String name) {
    if (name == null) return 0;
    if (name.indexOf('\0') >= 0) throw new TenonException.Argument("a NUL in \"" + name.replace("\0", "\\0") + "\"");
    return bytes((name + "\0").getBytes(StandardCharsets.UTF_8)).address;
  }

  Block tokens(int[] tokens) {
    if (tokens == null) return Block.NONE;
    Block made = array(tokens.length, 4);
    for (int i = 0; i < tokens.length; ++i) made.int32(4 * i, tokens[i]);
    return made;
  }

  /** Logits in place, or a FloatBuffer or float[], which are copied. */
  Block floats(Object values) {
    if (values instanceof Logits lent) {
      Block place = lent.enter();
      logits = lent;
      return place;
    }
    FloatBuffer from = values instanceof FloatBuffer buffer ? buffer.duplicate() : FloatBuffer.wrap((float[]) values);
    ByteBuffer memory = ByteBuffer.allocateDirect(Math.max(4 * from.remaining(), 1)).order(ByteOrder.nativeOrder());
    kept.add(memory);
    int count = from.remaining();
    memory.asFloatBuffer().put(from);
    return new Block(memory, 0, library.address(memory), count);
  }

  /** Address of a structure filled from options; 0 for null: the defaults. */
  long struct(StructOptions<?> options) {
    return options == null ? 0 : options.write(this).address;
  }

  /** Key of a function that outlives the call; takeCallback() returns it. */
  long keep(Object function) {
    callback = Callback.of(function);
    return callback.key;
  }

  /** The callback, which then outlives the call; null: there is none. */
  Callback takeCallback() {
    Callback taken = callback;
    callback = null;
    return taken;
  }

  /** Address of the native callback, or 0; its function gets user(). */
  long upcall(Object function, int number) {
    if (function == null) return 0;
    callback = Callback.of(function);
    return library.upcall(number);
  }

  long user() {
    return callback == null ? 0 : callback.key;
  }

  /** Throws the exception of a callback, or of the status. */
  void check(int status) {
    if (status == Constants.OK) {
      if (callback != null) callback.rethrow();
      return;
    }
    TenonException failure = failure(status);
    if (callback != null) callback.rethrow();
    throw failure;
  }

  /** The library's latest failure on this thread. */
  TenonException failure(int status) {
    String message = Structs.name(library.lastError());
    return TenonException.of(status, message, status == Constants.ERROR_IO ? systemError() : 0);
  }

  private int systemError() {
    try {
      return library.lastSystemError();
    } catch (TenonException.Unsupported older) {
      return 0;
    }
  }

  /** As check, for a function of server.h. */
  void checkServer(int status) {
    if (status != Constants.OK) throw TenonException.of(status, Structs.name(library.serverLastError()));
  }

  /** Fills a buffer of the size it needs. */
  Block fill(int width, Filler filler) {
    Block needed = block(8);
    int capacity = 1024 / width;
    while (true) {
      Block buffer = array(capacity, width);
      check(filler.fill(buffer.address, capacity, needed.address));
      long count = needed.int64(0);
      if (count <= capacity) return buffer.first((int) count);
      if (count * width > Integer.MAX_VALUE - 8) {
        throw new TenonException.Limit("the result has " + count * width + " bytes, an array of Java at most 2^31 - 9");
      }
      capacity = (int) count;
    }
  }

  @Override
  public void close() {
    if (callback != null) callback.end();
    if (logits != null) logits.leave();
    while (numUsed > 0) used[--numUsed].leave(isAlongside[numUsed]);
    synchronized (SCRATCHES) {
      if (SCRATCHES.size() < MOST_KEPT) SCRATCHES.push(scratch);
    }
    java.lang.ref.Reference.reachabilityFence(kept);
  }
}
