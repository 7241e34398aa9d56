package tenon;

/** Something of the library. {@link #close()} frees it at once, in any order and from any thread: calls under way
 * return first, later ones are {@link TenonException.State}. What nobody closed is freed some time after its last
 * reference is gone. */
public abstract class NativeObject implements AutoCloseable {
  final Handle handle;

  NativeObject(Handle handle) {
    this.handle = handle;
  }

  /** Whether it was closed. */
  public boolean isClosed() {
    return !handle.isLive();
  }

  @Override
  public void close() {
    handle.close();
  }
}
