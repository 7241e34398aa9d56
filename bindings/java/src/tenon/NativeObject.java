package tenon;

/** An object of the library. {@link #close()} frees it at once, in any order and from any thread:
 * running calls return first, later ones are {@link TenonException.State}. An unclosed object is
 * freed some time after its last reference is gone. */
public abstract class NativeObject implements AutoCloseable {
  final Handle handle;

  NativeObject(Handle handle) {
    this.handle = handle;
  }

  /** True if it was closed. */
  public boolean isClosed() {
    return !handle.isLive();
  }

  @Override
  public void close() {
    handle.close();
  }
}
