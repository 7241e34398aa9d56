package tenon;

import static org.junit.jupiter.api.Assertions.*;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads, processes and the ends of things. */
class LifeTest {
  private final Model model = Demo.MODEL;

  private static Thread after(int milliseconds, Runnable then) {
    Thread thread = new Thread(() -> {
      try {
        Thread.sleep(milliseconds);
      } catch (InterruptedException error) {
        return;
      }
      then.run();
    });
    thread.start();
    return thread;
  }

  @Test
  void aSessionInUseRefusesASecondCall() {
    try (Session session = model.session()) {
      session.append(Demo.LONG);
      AtomicReference<TenonException> refused = new AtomicReference<>();
      session.prefill(fraction -> {
        if (refused.get() == null) {
          refused.set(assertThrows(TenonException.State.class, () -> session.append("more")));
        }
        return false;
      });
      assertTrue(refused.get().getMessage().contains("in use by another call"));
    }
  }

  @Test
  void cancelComesFromAnotherThread() {
    Generation generation = Demo.endless();
    after(20, generation::cancel);
    assertThrows(TenonException.Cancelled.class, generation::text);
    Session session = generation.session();
    session.rewind(1);
    assertFalse(session.generate(Demo.greedy(2)).text().isEmpty());
    session.close();
  }

  @Test
  void anInterruptEndsAGeneration() throws Exception {
    Thread waiter = Thread.currentThread();
    for (int milliseconds : new int[] {0, 20}) {
      Generation generation = Demo.endless();
      Thread other = after(milliseconds, waiter::interrupt);
      assertThrows(TenonException.Cancelled.class, generation::text);
      assertTrue(Thread.interrupted());
      other.join();
      generation.session().close();
    }
    // Between two pieces, when the next is there as soon as it is asked for.
    Generation generation = model.session().generate(Demo.ONCE, Demo.greedy(8));
    generation.next();
    waiter.interrupt();
    assertThrows(TenonException.Cancelled.class, generation::next);
    assertTrue(Thread.interrupted());
    assertFalse(generation.hasNext());
  }

  @Test
  void closingDuringACallEndsIt() {
    Session session = model.session();
    session.append(Demo.LONG);
    assertThrows(TenonException.Cancelled.class, () -> session.prefill(fraction -> {
      Thread closer = after(0, session::close);
      try {
        closer.join();
      } catch (InterruptedException error) {
        throw new AssertionError(error);
      }
      return false;
    }));
    assertTrue(assertThrows(TenonException.State.class, session::prefill).getMessage().contains("closed"));
    assertTrue(session.isClosed());
  }

  @Test
  void closingAGenerationEndsWhoWaitsForIt() {
    Generation generation = Demo.endless();
    after(20, generation::close);
    long start = System.nanoTime();
    RuntimeException end = assertThrows(RuntimeException.class, () -> {
      while (true) generation.next();
    });
    // The other one where it was closed between two pieces.
    assertTrue(end instanceof TenonException.Cancelled || end instanceof java.util.NoSuchElementException,
        end.toString());
    assertTrue(System.nanoTime() - start < 2_000_000_000L);
    generation.session().close();
  }

  @Test
  void aSessionAndItsGenerationAreClosedAtTheSameTime() throws Exception {
    for (int i = 0; i < 200; ++i) {
      Session session = model.session();
      Generation generation = session.generate(Demo.ONCE, Demo.greedy(50));
      generation.next();
      Thread other = after(0, generation::close);
      session.close();
      other.join(10_000);
      assertFalse(other.isAlive());
    }
  }

  @Test
  void everythingMayBeClosedInAnyOrder() {
    for (int number = 0; number < 24; ++number) {
      Model model = Model.open(Demo.FILE, new ModelOptions().threads(1));
      Engine engine = new Engine(model);
      Session session = engine.session();
      Generation generation = session.generate(Demo.ONCE, Demo.greedy(4));
      generation.next();
      List<AutoCloseable> things = new ArrayList<>(List.of(model, engine, session, generation));
      int order = number;
      while (!things.isEmpty()) {
        int index = order % things.size();
        order /= things.size();
        assertDoesNotThrow(things.remove(index)::close);
      }
      assertThrows(TenonException.State.class, model::info);
      assertThrows(TenonException.State.class, engine::session);
      assertThrows(TenonException.State.class, session::position);
      assertFalse(generation.hasNext());
    }
  }

  @Test
  void aSessionOutlivesItsModel() {
    Model other = Model.open(Demo.FILE);
    Session session = other.session();
    other.close();
    assertEquals(" there was", session.generate(Demo.ONCE, Demo.greedy(2)).text());
    session.close();
  }

  @Test
  void whatNobodyClosedIsFreed() throws Exception {
    long before = -1;
    for (int round = 0; round < 60; ++round) {
      for (int i = 0; i < 5; ++i) {
        Model forgotten = Model.open(Demo.FILE, new ModelOptions().threads(1));
        Session session = forgotten.session();
        session.generate(Demo.ONCE, Demo.greedy(8)).next();
      }
      System.gc();
      Thread.sleep(20);
      if (round == 20) before = residentBytes();
    }
    long grown = residentBytes() - before;
    for (int i = 0; i < 250 && grown >= 64 << 20; ++i) { // the collector comes when it comes
      System.gc();
      Thread.sleep(20);
      grown = residentBytes() - before;
    }
    assertTrue(grown < 64 << 20, "200 forgotten models, of 3 MiB and more each, left " + (grown >> 20) + " MiB");
  }

  private static long residentBytes() throws Exception {
    String pages = java.nio.file.Files.readString(java.nio.file.Path.of("/proc/self/statm")).split(" ")[1];
    return Long.parseLong(pages) * 4096;
  }

  @Test
  void aHundredSessionsLeakNoDescriptorsOrThreads() {
    model.session().generate(Demo.ONCE, Demo.greedy(1)).text();
    int descriptors = Demo.descriptors();
    for (int i = 0; i < 100; ++i) {
      try (Session session = model.session()) {
        session.generate(Demo.ONCE, Demo.greedy(1)).text();
      }
    }
    assertTrue(Demo.descriptors() <= descriptors + 2, "Java itself may open a file meanwhile");
  }

  @Test
  void anExitWithRequestsUnderWayIsQuick() throws Exception {
    long nothing = exitNanoseconds("nothing");
    for (String what : List.of("async", "loops")) {
      long took = exitNanoseconds(what) - nothing;
      // Their answers would take many times as long.
      assertTrue(took < 1_000_000_000L, what + " took " + took / 1_000_000 + " ms longer");
    }
  }

  /** What a killed process left, the next one removes; what one that lives has, it does not. */
  @Test
  void theFilesOfKilledProcessesGo(@TempDir Path folder) throws Exception {
    List<String> options = List.of("-Djava.io.tmpdir=" + folder);
    Process killed = started(options, "stays");
    Set<Path> ofKilled = entries(folder);
    assertEquals(1, ofKilled.size(), "the library of the jar is unpacked there");
    killed.destroyForcibly().waitFor();
    assertEquals(ofKilled, entries(folder), "nobody is left who could remove it");

    Process other = started(options, "stays");
    Set<Path> ofOther = entries(folder);
    assertEquals(1, ofOther.size());
    assertNotEquals(ofKilled, ofOther);
    assertEquals(3, started(options, "nothing").waitFor());
    assertEquals(ofOther, entries(folder));
    other.getOutputStream().close();
    assertEquals(3, other.waitFor());
    assertEquals(Set.of(), entries(folder));
  }

  /** A process that has a model and, as it says, is about to end. */
  private static Process started(List<String> options, String what) throws Exception {
    Process process = Demo.java(options, ExitProgram.class, what);
    assertNotNull(new BufferedReader(new InputStreamReader(process.getInputStream())).readLine());
    return process;
  }

  private static Set<Path> entries(Path folder) throws Exception {
    try (Stream<Path> list = Files.list(folder)) {
      // Java's own is hsperfdata_USER.
      return list.filter(path -> path.getFileName().toString().startsWith("tenon-")).collect(Collectors.toSet());
    }
  }

  /** The least of three: the machine may have something else to do. */
  static long exitNanoseconds(String what) throws Exception {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 3; ++i) {
      Process process = Demo.java(ExitProgram.class, what);
      String printed = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine();
      assertTrue(process.waitFor(60, TimeUnit.SECONDS));
      long ended = System.nanoTime();
      assertEquals(3, process.exitValue());
      least = Math.min(least, ended - Long.parseLong(printed));
    }
    return least;
  }
}
