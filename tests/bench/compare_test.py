"""bench/compare with bench programs that only pretend: they print what engines print."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPARE = pathlib.Path(__file__).resolve().parents[2] / "bench" / "compare"

# Speeds drift from run to run, as on a shared machine: a counter in a file makes both programs slower
# with time. Every run notes its letter and arguments.
FAKE = """#!{python} -IS
import json, pathlib, sys
log = pathlib.Path({log!r})
runs = log.read_text().splitlines() if log.exists() else []
log.write_text("\\n".join(runs + [{letter!r} + " " + " ".join(sys.argv[1:])]) + "\\n")
slowness = 1 + 0.01 * len(runs)
speed = lambda base: base / slowness
{body}
"""
TENON = """
print(json.dumps({"runs": [{"cells": [
    {"phase": "prefill", "median_tokens_per_second": speed(200)},
    {"phase": "decode", "median_tokens_per_second": speed(30)}]}]}))
"""
LLAMA = """
print(json.dumps([
    {"n_prompt": 256, "n_gen": 0, "avg_ts": 1, "samples_ts": [speed(100)]},
    {"n_prompt": 0, "n_gen": 48, "avg_ts": speed(20)}]))
"""


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"

    def program(self, letter, body):
        path = self.folder / letter
        path.write_text(FAKE.format(python=sys.executable, log=str(self.log), letter=letter,
                                    body=body))
        os.chmod(path, 0o755)
        return str(path)

    def compare(self, *flags, a=TENON, b=LLAMA):
        return subprocess.run(
            [sys.executable, str(COMPARE), "model.gguf", "--a", self.program("A", a), "--b",
             self.program("B", b), *flags], capture_output=True, text=True, check=False)

    def fails(self, text, *flags, **programs):
        done = self.compare("--blocks", "1", *flags, **programs)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertNotIn("Traceback", done.stderr)

    def test_pairs_cancel_a_drift(self):
        done = self.compare("--blocks", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)["summary"]
        self.assertAlmostEqual(summary["prefill"]["ratio"]["median"], 2.0, delta=0.002)
        self.assertAlmostEqual(summary["decode"]["ratio"]["median"], 1.5, delta=0.002)
        self.assertEqual(summary["decode"]["blocks"], 2)
        low, high = summary["decode"]["ratio"]["range"]
        self.assertLessEqual(low, high)

    def test_order_is_abba_and_baab(self):
        self.compare("--blocks", "2")
        letters = "".join(line[0] for line in self.log.read_text().splitlines())
        self.assertEqual(letters, "ABBABAAB")

    def test_passes_cells_and_flags_on(self):
        self.compare("--blocks", "1", "--prompt", "64", "--generate", "8", "--threads", "3",
                     "--a-flags", "--isa avx2", "--b-flags", "-fa 1")
        runs = self.log.read_text().splitlines()
        self.assertEqual(runs[0], "A bench model.gguf -p 64 -n 8 -r 1 -t 3 --json --isa avx2")
        self.assertEqual(runs[1], "B -m model.gguf -p 64 -n 8 -r 1 -t 3 -o json -fa 1")

    def test_table_shows_the_ratio_and_the_check(self):
        done = self.compare("--blocks", "1", "--b-kind", "tenon", b=TENON)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("prefill 256:", "decode 48:", "A / B    1.0", "A / A", "quartiles", "range"):
            self.assertIn(text, done.stdout)

    def test_warns_when_a_program_differs_from_itself(self):
        drifting = TENON.replace("speed(200)", "200 / (1 + len(runs))")
        self.assertIn("measure again", self.compare("--blocks", "1", a=drifting).stdout)

    def test_one_phase_is_enough(self):
        only = 'print(json.dumps([{"n_prompt": 0, "n_gen": 48, "avg_ts": 20}]))'
        done = self.compare("--blocks", "1", "--prompt", "0", b=only)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("prefill", done.stdout)

    def test_says_what_is_wrong(self):
        self.fails("status 3: out of cheese",
                   b="print('out of cheese', file=sys.stderr); sys.exit(3)")
        self.fails("not the JSON expected", b="print('no json')")
        self.fails("not the JSON expected", b="print('[1]')")
        self.fails("not the JSON expected", a="print('[]')")
        self.fails("decode speed is 0", b="print(json.dumps([{'n_prompt': 0, 'avg_ts': 0}]))")
        self.fails("no phase that both have", b="print('[]')")
        self.fails("did not end within", "--timeout", "0.3", a="import time; time.sleep(20)")
        self.fails("nothing to measure", "--prompt", "0", "--generate", "0")
        self.fails("at least 1", "--blocks", "0")
        missing = self.compare("--blocks", "1", "--a", "/nowhere/tenon")
        self.assertIn("/nowhere/tenon: cannot be run", missing.stderr)


if __name__ == "__main__":
    unittest.main()
