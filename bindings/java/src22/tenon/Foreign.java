package tenon;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The libraries in use, for java.lang.foreign. ForeignCalls finds their functions in them, once
 * each. */
final class Foreign {
  static final Linker LINKER = Linker.nativeLinker();
  private static volatile SymbolLookup library;
  private static volatile SymbolLookup server;

  private Foreign() {}

  /** Unloaded with the arena. The system's loader searches a name without a folder. */
  static SymbolLookup load(String path, Arena arena) {
    try {
      return path.contains("/") ? SymbolLookup.libraryLookup(Path.of(path), arena)
                                : SymbolLookup.libraryLookup(path, arena);
    } catch (IllegalArgumentException error) {
      throw new UnsatisfiedLinkError(error.getMessage());
    }
  }

  static void use(String path) {
    library = load(path, Arena.global());
  }

  static void useServer(String path) {
    server = load(path, Arena.global());
  }

  /** Null: the library lacks it. */
  static MethodHandle find(String name, FunctionDescriptor descriptor) {
    return find(library, name, descriptor);
  }

  static MethodHandle findInServer(String name, FunctionDescriptor descriptor) {
    return find(server, name, descriptor);
  }

  private static MethodHandle find(SymbolLookup from, String name, FunctionDescriptor descriptor) {
    return from.find(name).map(address -> LINKER.downcallHandle(address, descriptor)).orElse(null);
  }

  /** True if a library that needs a libtenon has the one in use. */
  static boolean isOurs(SymbolLookup other, String function) {
    return other.find(function).equals(library.find(function));
  }

  /** Calls a function without parameters that returns a text; null: the library lacks it. */
  static String text(SymbolLookup from, String name) throws Throwable {
    MemorySegment function = from.find(name).orElse(null);
    if (function == null) return null;
    MethodHandle handle = LINKER.downcallHandle(
        function, FunctionDescriptor.of(java.lang.foreign.ValueLayout.ADDRESS));
    return ((MemorySegment) handle.invokeExact()).reinterpret(Long.MAX_VALUE).getString(0);
  }

  /** Functions of the library throw nothing, and callbacks keep what they throw. */
  static RuntimeException unexpected(Throwable thrown) {
    if (thrown instanceof RuntimeException exception) return exception;
    if (thrown instanceof Error error) throw error;
    return new IllegalStateException(thrown);
  }
}
