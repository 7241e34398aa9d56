package tenon;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The native libraries inside the jar: /native/SYSTEM/, with their names in its file `list`. */
final class Bundle {
  private static final String LOCK = "lock";
  private static final Set<PosixFilePermission> OWNERS = PosixFilePermissions.fromString("rwx------");
  /** The process's user, owner of new folders. */
  private static UserPrincipal user;
  /** Holds the lock of this process's folder until the process ends, however it ends. */
  private static FileChannel held;

  private Bundle() {}

  /** Unpacks the wanted libraries to a new folder that only this user can write. It is removed when
   * the process exits; the next process removes the folder of a killed one. Null: the jar has none
   * for this system. */
  static Path unpack(Predicate<String> isWanted) {
    synchronized (Runtime.getRuntime()) { // one class loader at a time
      return unpackAlone(isWanted);
    }
  }

  private static Path unpackAlone(Predicate<String> isWanted) {
    String folder = "/native/" + system() + "/";
    try (InputStream list = Bundle.class.getResourceAsStream(folder + "list")) {
      if (list == null) return null;
      Path into = Files.createTempDirectory(prefix(),
          PosixFilePermissions.asFileAttribute(OWNERS));
      user = Files.getOwner(into, LinkOption.NOFOLLOW_LINKS);
      into.toFile().deleteOnExit();
      lock(into);
      removeLeft(into);
      for (String name : new String(list.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        if (!isWanted.test(name)) continue;
        Path target = into.resolve(name);
        if (!Files.exists(target.getParent())) {
          Files.createDirectory(target.getParent()).toFile().deleteOnExit();
        }
        try (InputStream file = Bundle.class.getResourceAsStream(folder + name)) {
          Files.copy(file, target);
        }
        if (!name.equals(JniNative.SHIM)) shareWithOtherLoaders(into, name);
        target.toFile().deleteOnExit();
      }
      return into;
    } catch (IOException error) {
      throw new UncheckedIOException("the native libraries cannot be unpacked; the property tenon.library names "
          + "one that is there", error);
    }
  }

  /** Replaces our copy by the same file of another class loader of this process, if there is one:
   * libtenon-server finds its libtenon by name, and gets the first that is loaded. (A library of
   * JNI belongs to one class loader.) Otherwise our copy stays. */
  static void shareWithOtherLoaders(Path ours, String name) {
    Path file = ours.resolve(name), link = ours.resolve(name + ".link");
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(ours.getParent(), prefix() + "*")) {
      for (Path folder : folders) {
        if (!folder.equals(ours) && isSame(file, folder, name) && isLinked(folder.resolve(name), link, file)) return;
      }
    } catch (IOException | RuntimeException ignored) {
      // Folders that cannot be listed are not shared.
    }
  }

  private static boolean isSame(Path file, Path folder, String name) {
    try {
      Path other = folder.resolve(name);
      return isOnlyOurs(folder) && Files.isRegularFile(other, LinkOption.NOFOLLOW_LINKS)
          && Files.mismatch(file, other) < 0;
    } catch (IOException | RuntimeException unreadable) {
      return false;
    }
  }

  /** Replaces `file`, which exists all the time, by a link to `other`. */
  private static boolean isLinked(Path other, Path link, Path file) {
    try {
      Files.createLink(link, other);
      Files.move(link, file, StandardCopyOption.ATOMIC_MOVE);
      return true;
    } catch (IOException | RuntimeException refused) {
      link.toFile().delete();
      return false;
    }
  }

  /** True if the folder belongs to this process's user and nobody else can read or write it. The
   * folder for temporary files is shared, and names in it can be guessed. */
  private static boolean isOnlyOurs(Path folder) throws IOException {
    PosixFileAttributes found = Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    return found.isDirectory() && found.permissions().equals(OWNERS) && found.owner().equals(user);
  }

  /** Name prefix of this process's folders. */
  private static String prefix() {
    return "tenon-" + ProcessHandle.current().pid() + "-";
  }

  private static void lock(Path folder) throws IOException {
    Path made = folder.resolve("made"), lock = folder.resolve(LOCK);
    lock.toFile().deleteOnExit();
    held = FileChannel.open(made, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    held.lock();
    Files.move(made, lock); // it is locked before it gets its name
  }

  /** Removes the folders beside this one of killed processes: nobody holds their locks. */
  private static void removeLeft(Path ours) {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(ours.getParent(), "tenon-*-*")) {
      for (Path folder : folders) {
        // Trying a lock of this process (another class loader's) would lose it.
        if (!folder.getFileName().toString().startsWith(prefix())) removeUnlessHeld(folder);
      }
    } catch (IOException | RuntimeException ignored) {
      // Folders that cannot be listed stay.
    }
  }

  private static void removeUnlessHeld(Path folder) {
    try {
      if (!isOnlyOurs(folder)) return;
    } catch (IOException | RuntimeException gone) {
      return;
    }
    try (FileChannel lock = FileChannel.open(folder.resolve(LOCK), StandardOpenOption.WRITE)) {
      if (lock.tryLock() == null) return;
      List<Path> files;
      try (Stream<Path> walk = Files.walk(folder)) {
        files = walk.sorted(Comparator.reverseOrder()).toList();
      }
      for (Path file : files) Files.deleteIfExists(file);
    } catch (IOException | UncheckedIOException | OverlappingFileLockException ignored) {
      // Another program's, or just removed by another process.
    }
  }

  /** "linux-x86_64" */
  static String system() {
    String machine = System.getProperty("os.arch");
    return System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT) + "-"
        + (machine.equals("amd64") ? "x86_64" : machine);
  }
}
