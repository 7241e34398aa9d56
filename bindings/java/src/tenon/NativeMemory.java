package tenon;

import java.nio.ByteBuffer;

/** What the two ways to the library (JniNative; ForeignNative from Java 22 on) do besides calling its
 * functions: finding it, and memory. Addresses are long. */
abstract class NativeMemory {
  /** What a library says of itself; json is null where it is too old for that. */
  record Description(String json, String version) {}

  /** Opens a library without using it. UnsatisfiedLinkError when there is none. */
  abstract Description describe(String path);

  /** From now on all functions are those of this library. Once. */
  abstract void open(String path);

  /** Of a direct buffer's first byte. */
  abstract long address(ByteBuffer direct);

  /** Memory of the library as a buffer in native order. The caller knows how long it lives. */
  abstract ByteBuffer view(long address, long size);

  /** A copy of memory of the library. */
  abstract byte[] bytes(long address, int length);

  /** The length of a text that ends in a NUL. */
  abstract long nameLength(long address);

  /** Memory of the library for programs to look at until it is closed. */
  abstract Lent lend(long address, long size);

  /** The function that the library calls for a number of Upcalls. */
  abstract long upcall(int number);

  /** Whether waiting in the library would hold a carrier of virtual threads. */
  abstract boolean isVirtualThread();

  static TenonException missing(String function) {
    return new TenonException.Unsupported("this libtenon has no " + function + ": it is another version");
  }
}
