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
asked = lambda flag: int(sys.argv[sys.argv.index(flag) + 1])
{body}
"""
TENON = """
cells = [{"phase": "prefill", "tokens": asked("-p"), "median_tokens_per_second": speed(200)},
         {"phase": "decode", "tokens": asked("-n"), "median_tokens_per_second": speed(30)}]
print(json.dumps({"runs": [{"cells": [cell for cell in cells if cell["tokens"]]}]}))
"""
LLAMA = """
tests = [{"n_prompt": asked("-p"), "n_gen": 0, "avg_ts": 1, "samples_ts": [speed(100)]},
         {"n_prompt": 0, "n_gen": asked("-n"), "avg_ts": speed(20)}]
print(json.dumps([test for test in tests if test["n_prompt"] + test["n_gen"]]))
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

    def compare(self, *flags, a=TENON, b=LLAMA, stdout=subprocess.PIPE):
        return subprocess.run(
            [sys.executable, str(COMPARE), "model.gguf", "--a", self.program("A", a), "--b",
             self.program("B", b), *flags], stdout=stdout, stderr=subprocess.PIPE, text=True,
            check=False)

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
        steady = {"a": TENON.replace("speed(", "("), "b": LLAMA.replace("speed(", "(")}
        self.assertNotIn("measure again", self.compare("--blocks", "1", **steady).stdout)
        drifting = TENON.replace("speed(200)", "200 / (1 + len(runs))")
        table = self.compare("--blocks", "1", a=drifting, b=steady["b"]).stdout
        self.assertIn("A differs from itself", table)
        self.assertNotIn("B differs from itself", table)
        drifting = LLAMA.replace("speed(20)", "20 / (1 + len(runs))")
        table = self.compare("--blocks", "1", a=steady["a"], b=drifting).stdout
        self.assertIn("B differs from itself", table)
        self.assertNotIn("A differs from itself", table)

    def test_one_phase_is_enough(self):
        done = self.compare("--blocks", "1", "--prompt", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("prefill", done.stdout)
        self.assertIn("decode 48:", done.stdout)

    def test_refuses_results_that_were_not_asked_for(self):
        cell = '{"phase": "prefill", "tokens": %d, "median_tokens_per_second": 9}'
        more = TENON.replace("cells = [", "cells = [" + cell + ", ")
        self.fails("measured prefill twice", a=more % 256)
        self.fails("measured prefill of 8 tokens, asked for 256", a=more % 8)
        self.fails("measured prefill of 8 tokens, asked for 0", "--prompt", "0", a=more % 8)
        test = '{"n_prompt": %d, "n_gen": %d, "avg_ts": 9}'
        more = LLAMA.replace("tests = [", "tests = [" + test + ", ")
        self.fails("measured decode twice", b=more % (0, 48))
        self.fails("measured decode of 8 tokens, asked for 48", b=more % (0, 8))
        self.fails("measured 256 tokens of prefill and 48 of decode in one result",
                   b=more % (256, 48))
        self.fails("measured no decode of 48 tokens",
                   b='print(json.dumps([{"n_prompt": 256, "n_gen": 0, "avg_ts": 9}]))')

    def test_a_full_device_is_one_line(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.compare("--blocks", "1", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         "compare: writing to standard output failed: No space left on device\n")

    def test_says_what_is_wrong(self):
        self.fails("status 3: out of cheese",
                   b="print('out of cheese', file=sys.stderr); sys.exit(3)")
        self.fails("not the JSON expected", b="print('no json')")
        self.fails("not the JSON expected", b="print('[1]')")
        self.fails("not the JSON expected", a="print('[]')")
        self.fails("decode speed is 0", b=LLAMA.replace("speed(20)", "0"))
        self.fails("measured no prefill of 256 tokens", b="print('[]')")
        self.fails("--a-flags: No closing quotation", "--a-flags", "--isa 'avx2")
        self.fails("--b-flags: No closing quotation", "--b-flags", '"')
        self.fails("did not end within", "--timeout", "0.3", a="import time; time.sleep(20)")
        self.fails("nothing to measure", "--prompt", "0", "--generate", "0")
        self.fails("at least 1", "--blocks", "0")
        missing = self.compare("--blocks", "1", "--a", "/nowhere/tenon")
        self.assertIn("/nowhere/tenon: cannot be run", missing.stderr)


if __name__ == "__main__":
    unittest.main()
