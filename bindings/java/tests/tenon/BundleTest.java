package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which folders of others the jar's libraries are shared with. */
class BundleTest {
  private static final String NAME = "lib.so";
  private static final String PREFIX = "tenon-" + ProcessHandle.current().pid() + "-";

  @TempDir
  Path temporary;
  private Path ours;

  @BeforeEach
  void aFolderOfOurs() throws IOException {
    Demo.MODEL.info(); // what is in the jar has been unpacked
    ours = folder("ours", "rwx------");
  }

  private Path folder(String suffix, String permissions) throws IOException {
    Path made = Files.createDirectory(temporary.resolve(PREFIX + suffix));
    Files.writeString(made.resolve(NAME), "code");
    return Files.setPosixFilePermissions(made, PosixFilePermissions.fromString(permissions));
  }

  /** Shares, and tells whether ours is another's file now. */
  private boolean isShared() throws IOException {
    Bundle.shareWithOtherLoaders(ours, NAME);
    try (Stream<Path> left = Files.list(ours)) {
      assertEquals(1, left.count(), "nothing else is left");
    }
    assertEquals("code", Files.readString(ours.resolve(NAME)));
    // Also where it is a symbolic link.
    return (Integer) Files.getAttribute(ours.resolve(NAME), "unix:nlink", LinkOption.NOFOLLOW_LINKS) > 1;
  }

  @Test
  void theSameFileOfAnotherLoaderIsShared() throws IOException {
    Path other = folder("other", "rwx------");
    assertTrue(isShared());
    assertTrue(Files.isSameFile(ours.resolve(NAME), other.resolve(NAME)));
  }

  @Test
  void anotherFileIsNotShared() throws IOException {
    Files.writeString(folder("other", "rwx------").resolve(NAME), "edoc");
    assertFalse(isShared());
  }

  @Test
  void whatOthersCanWriteIsNotShared() throws IOException {
    folder("all", "rwxrwxrwx");
    folder("group", "rwxrwx---");
    assertFalse(isShared());
  }

  @Test
  void whatAnotherUserHasIsNotShared() throws IOException {
    Path other = folder("other", "rwx------");
    try {
      Files.setAttribute(other, "unix:uid", 65534);
    } catch (IOException refused) {
      assumeTrue(false, "only root can give a folder away");
    }
    assertFalse(isShared());
  }

  @Test
  void linksAreNotFollowed() throws IOException {
    Path elsewhere = Files.createDirectory(temporary.resolve("elsewhere"));
    Files.setPosixFilePermissions(elsewhere, PosixFilePermissions.fromString("rwx------"));
    Path file = Files.writeString(elsewhere.resolve(NAME), "code");
    Files.createSymbolicLink(temporary.resolve(PREFIX + "link"), elsewhere);
    assertFalse(isShared());
    Path other = folder("other", "rwx------").resolve(NAME);
    Files.delete(other);
    Files.createSymbolicLink(other, file);
    assertFalse(isShared());
  }

  @Test
  void whatCannotBeReadEndsNothing() throws IOException {
    for (int i = 0; i < 8; ++i) { // listed in any order
      Path other = folder("other" + i, "rwx------").resolve(NAME);
      Files.delete(other);
      Files.createDirectory(other); // root reads files of every mode
    }
    assertFalse(isShared());
    folder("good", "rwx------");
    assertTrue(isShared());
  }

  @Test
  void aLinkThatCannotBeMadeLeavesOurs() throws IOException {
    folder("other", "rwx------");
    Path block = Files.createDirectory(ours.resolve(NAME + ".link"));
    Files.createFile(block.resolve("full"));
    Bundle.shareWithOtherLoaders(ours, NAME);
    assertEquals("code", Files.readString(ours.resolve(NAME)));
    assertEquals(1, Files.getAttribute(ours.resolve(NAME), "unix:nlink"));
  }
}
