"""bench/gpu_check with programs that only pretend: a step that fails, hangs or crashes never stops the rest."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPU_CHECK = pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu_check"

HEAD = """#!{python} -IS
import json, os, pathlib, signal, sys, time
asked = sys.argv[1] if len(sys.argv) > 1 else ""
"""
DEVICE = {"name": "gpu", "kind": "gpu", "description": "a pretended GPU", "unavailable": "",
          "memory_total": 8 << 30, "memory_available": 7 << 30}
TENON = """
device = {device!r}
if asked == "backends":
    print(json.dumps([{{"name": "cuda", "state": "ready", "description": "", "devices": [device]}}]))
elif asked == "make-model":
    pathlib.Path(sys.argv[4]).write_text("model")
elif asked == "run":
    if "--file" in sys.argv: time.sleep(30)
    print("an answer")
elif asked == "logits":
    pathlib.Path(sys.argv[sys.argv.index("--output") + 1]).write_bytes(b"logits")
elif asked == "bench":
    phases = ["decode"] if "--sequences" in sys.argv else ["prefill", "decode"]
    cells = [{{"phase": phase, "tokens": 8, "sequences": 1, "bytes_per_token": 1e9,
              "median_tokens_per_second": 100.0}} for phase in phases]
    print(json.dumps({{"runs": [{{"load_seconds": 1, "token_multiplications": 1e9, "cells": cells}}]}}))
"""
PROBE = """
answers = {
    "rates": {"copy_bytes_per_second": 2e11, "link_up_bytes_per_second": 1e10,
              "link_down_bytes_per_second": 1e10, "product_multiplications_per_second": 1e12},
    "create": {"seconds_each": 0.01, "bytes_lost": 0},
    "beside": {"others": 7, "compared": 4, "different": 0},
    "cancel": {"cancelled": 5, "most_seconds": 0.01},
    "hold": {"held_bytes": 1},
}
print(json.dumps(answers[asked]), flush=True)
if asked == "hold": time.sleep(30)
"""
SUITE = """
print("[  PASSED  ] 12 tests.")
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        self.write("tenon", TENON.format(device=DEVICE))
        self.write("device_probe", PROBE)
        self.write("test_conformance", SUITE)

    def write(self, name, body):
        path = self.folder / "bin" / name
        path.write_text(HEAD.format(python=sys.executable) + body)
        os.chmod(path, 0o755)

    def check(self, *flags):
        output = self.folder / "report.json"
        done = subprocess.run([sys.executable, str(GPU_CHECK), "--build", str(self.folder), "--short", "--output",
                               str(output), *flags], capture_output=True, text=True, check=False, timeout=60)
        self.assertNotIn("Traceback", done.stderr)
        return done, json.loads(output.read_text())["steps"]

    def test_all_goes_well(self):
        done, steps = self.check()
        self.assertEqual(done.returncode, 0, done.stdout)
        skipped = {name for name, step in steps.items() if step["status"] == "skipped"}
        self.assertEqual(skipped, {"peer", "sanitizers"})
        self.assertAlmostEqual(steps["speed"]["figures"]["decode"]["share_of_ceiling"], 0.5)
        self.assertAlmostEqual(steps["speed"]["figures"]["prefill"]["share_of_ceiling"], 0.1)
        # A line for each step.
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()], list(steps))

    def test_a_step_that_fails_does_not_stop_the_rest(self):
        self.write("device_probe", PROBE.replace('"different": 0', '"different": 1'))
        done, steps = self.check("--only", "determinism,creation")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(steps["determinism"]["status"], "failed")
        self.assertIn("1 of 4 answers", steps["determinism"]["text"])
        self.assertEqual(steps["creation"]["status"], "passed")

    def test_a_crash_is_told_by_its_signal(self):
        self.write("test_conformance", "os.kill(os.getpid(), signal.SIGSEGV)")
        done, steps = self.check("--only", "conformance,creation")
        self.assertEqual(done.returncode, 1)
        self.assertIn("SIGSEGV", steps["conformance"]["text"])
        self.assertIn("conformance  failed", done.stdout)

    def test_what_hangs_is_ended(self):
        self.write("test_conformance", "time.sleep(50)")
        done, steps = self.check("--only", "conformance", "--limit", "1.5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not end in time", steps["conformance"]["text"])

    def test_what_prints_nonsense_is_a_failure(self):
        self.write("device_probe", "print('nonsense')")
        _, steps = self.check("--only", "ceilings,creation,cancel")
        for name in ("ceilings", "creation", "cancel"):
            self.assertEqual(steps[name]["status"], "failed")
            self.assertIn("nonsense", steps[name]["text"])

    def test_what_is_not_built_is_skipped(self):
        (self.folder / "bin" / "device_probe").unlink()
        done, steps = self.check("--only", "ceilings,conformance")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(steps["ceilings"]["status"], "skipped")
        self.assertIn("not built", steps["ceilings"]["text"])

    def test_other_answers_after_others_are_failures(self):
        # Each answer another one.
        self.write("tenon", TENON.format(device=DEVICE).replace('print("an answer")', "print(time.monotonic())"))
        _, steps = self.check("--only", "first_token,neighbour")
        for name in ("first_token", "neighbour"):
            self.assertEqual(steps[name]["status"], "failed", name)

    def test_a_device_that_cannot_be_used_ends_it_with_its_reason(self):
        self.write("tenon", TENON.format(device={**DEVICE, "unavailable": "driver 535, needs 580"}))
        done, steps = self.check()
        self.assertEqual(done.returncode, 2)
        self.assertIn("driver 535", steps["devices"]["text"])
        self.assertEqual({step["status"] for name, step in steps.items() if name != "devices"}, {"skipped"})

    def test_a_step_that_there_is_not_is_refused(self):
        done = subprocess.run([sys.executable, str(GPU_CHECK), "--only", "speling"], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no step speling", done.stderr)


if __name__ == "__main__":
    unittest.main()
