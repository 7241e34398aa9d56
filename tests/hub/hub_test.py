#!/usr/bin/env python3
"""libtenon-hub against a hub on loopback that tells the truth and lies.

    hub_test.py LIBRARY DEMO_MODEL PROGRAM|- [TEST...]

With huggingface_hub installed, that package reads what was pulled."""

import fcntl
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from hub_library import Hub, HubError
from lying_server import COMMIT, LyingHub, git_sha1

PIECE = 65536
LIBRARY = DEMO = PROGRAM = None


def bytes_of(size, seed=1):
    return random.Random(seed).randbytes(size)


MODEL = bytes_of(20 * PIECE + 1234)


class HubTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tenon-hub-"))
        self.cache = self.folder / "hub"
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.hubs = []

    def tearDown(self):
        for hub in self.hubs:
            hub.close()

    def serve(self, files=None, **how):
        server = LyingHub(files or {"name-Q4_K_M.gguf": MODEL, "README.md": b"# name\n"}, **how)
        self.hubs.append(server)
        return server

    def hub(self, server=None, **options):
        wanted = {"cache_folder": str(self.cache), "url_folder": str(self.folder / "urls"), "piece_bytes": PIECE,
                  "retry_seconds": 0.01, "stall_seconds": 20.0}
        if server is not None:
            wanted["endpoint"] = server.endpoint
        return Hub(**{**wanted, **options})

    def refused(self, status, words, call, *arguments):
        with self.assertRaises(HubError) as caught:
            call(*arguments)
        self.assertEqual(status, caught.exception.status, caught.exception)
        for word in words.split("|"):
            self.assertIn(word, str(caught.exception))
        return str(caught.exception)

    def assert_same(self, path, data=MODEL):
        self.assertEqual(hashlib.sha256(data).hexdigest(), hashlib.sha256(Path(path).read_bytes()).hexdigest())

    def left_over(self):
        """Files under way, and blobs."""
        return sorted(path.name for path in self.cache.glob("models--*/blobs/*"))


class Pulls(HubTest):
    def test_a_file_goes_into_the_shared_layout(self):
        server = self.serve()
        model = self.hub(server, token="secret").pull("hf:owner/name:q4_k_m")
        self.assert_same(model.path)
        digest = hashlib.sha256(MODEL).hexdigest()
        repository = self.cache / "models--owner--name"
        self.assertEqual(f"{repository}/snapshots/{COMMIT}/name-Q4_K_M.gguf", model.path)
        self.assertEqual(f"../../blobs/{digest}", os.readlink(model.path))
        self.assertEqual(COMMIT, (repository / "refs/main").read_text())
        self.assertEqual([digest], self.left_over())
        self.assertEqual(("hf:owner/name:Q4_K_M", "hub", COMMIT, "", 1, len(MODEL)),
                         (model.reference, model.source, model.commit, model.note, model.num_files, model.size_bytes))

    def test_several_connections_fetch_each_byte_once(self):
        server = self.serve()
        self.hub(server, connections=4).pull("hf:owner/name")
        self.assertEqual(len(MODEL), server.sent)
        self.assertGreater(server.answers, 4)

    def test_the_token_goes_to_the_hub_alone(self):
        server = self.serve()
        self.hub(server, token="secret").pull("hf:owner/name")
        for role, path, headers in server.requests:
            self.assertEqual("Bearer secret" if role == "hub" else None, headers.get("Authorization"), path)
        self.assertIn("storage", {role for role, _, _ in server.requests})

    def test_nothing_is_asked_twice(self):
        server = self.serve()
        hub = self.hub(server)
        hub.pull("hf:owner/name")
        asked = len(server.requests)
        self.assertEqual(hub.pull("hf:owner/name").path, hub.find("hf:owner/name").path)
        self.assertEqual(2, len(server.requests) - asked)  # the commit and the listing
        self.assertEqual(len(MODEL), server.sent)

    def test_revisions_have_refs_of_their_own(self):
        server = self.serve(revision="refs/pr/3")
        hub = self.hub(server)
        self.refused("ARGUMENT", "no such revision", hub.pull, "hf:owner/name")
        model = hub.pull("hf:owner/name@refs/pr/3:Q4_K_M")
        self.assertEqual("hf:owner/name@refs/pr/3:Q4_K_M", model.reference)
        self.assertEqual(COMMIT, (self.cache / "models--owner--name/refs/refs/pr/3").read_text())
        self.assert_same(hub.find(model.reference).path)

    def test_small_files_are_verified_by_git_digests(self):
        server = self.serve({"config.json": b"{}", "model.safetensors": MODEL, "tokenizer.json": b""})
        hub = self.hub(server)
        model = hub.pull("hf:owner/name")
        self.assertEqual({git_sha1(b"{}"), git_sha1(b""), hashlib.sha256(MODEL).hexdigest()}, set(self.left_over()))
        self.assertEqual({"config.json", "model.safetensors", "tokenizer.json"}, set(os.listdir(model.path)))
        shutil.rmtree(self.cache)
        server.lies.other_bytes = 10**6
        self.refused("FORMAT", "git digest", hub.pull, "hf:owner/name")

    def test_a_listing_has_pages(self):
        server = self.serve({**{f"a{i:03}.txt": b"x" for i in range(25)}, "z-Q8_0.gguf": MODEL})
        server.lies.page = 10
        self.assert_same(self.hub(server).pull("hf:owner/name:Q8_0").path)

    def test_a_mirror_without_digests_is_said(self):
        server = self.serve()
        server.lies.no_digests = True
        model = self.hub(server).pull("hf:owner/name")
        self.assertIn("no digests", model.note)
        self.assert_same(model.path)

    def test_split_models_and_their_projector_come_whole(self):
        files = {f"Q8_0/m-Q8_0-{i:05}-of-00003.gguf": bytes_of(9000, i) for i in (1, 2, 3)}
        files |= {"mmproj-F16.gguf": b"f16", "mmproj-Q8_0.gguf": b"q8", "m-imatrix.gguf": b"no",
                  "Q4_0/m-Q4_0.gguf": b"4"}
        model = self.hub(self.serve(files)).pull("hf:owner/name:Q8_0")
        self.assertEqual(4, model.num_files)
        self.assertTrue(model.path.endswith("/Q8_0/m-Q8_0-00001-of-00003.gguf"))
        self.assertEqual(b"q8", Path(model.projector).read_bytes())
        self.assertEqual("../../../blobs/", os.readlink(model.path)[:15])

    def test_a_folder_brings_what_a_loader_needs(self):
        index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
        needed = {"config.json": b"{}", "tokenizer.json": b"{}", "1_Pooling/config.json": b"{}",
                  "additional_chat_templates/tool.jinja": b"x", "model-00001-of-00002.safetensors": b"1",
                  "model-00002-of-00002.safetensors": b"2", "model.safetensors.index.json": json.dumps(index).encode()}
        others = {"pytorch_model.bin": b"p", "original/consolidated.00.pth": b"p", "onnx/model.onnx": b"o",
                  "a.png": b"i", "consolidated.safetensors": b"c", "modeling.py": b"x",
                  "model-00003-of-00003.safetensors": b"3"}
        model = self.hub(self.serve({**needed, **others})).pull("hf:owner/name")
        found = {str(path.relative_to(model.path)) for path in Path(model.path).rglob("*") if not path.is_dir()}
        self.assertEqual(set(needed), found)

    def test_an_index_may_name_its_own_shards_only(self):
        for shard in ("../../x.safetensors", "/etc/passwd", "absent.safetensors", 3):
            index = json.dumps({"weight_map": {"a": shard}}).encode()
            server = self.serve({"config.json": b"{}", "model.safetensors.index.json": index})
            self.refused("FORMAT", "index.json names", self.hub(server).pull, "hf:owner/name")

    def test_other_kinds_are_named(self):
        for name, words in {"pytorch_model.bin": "pickle", "model.onnx": "ONNX", "m.litertlm": "LiteRT"}.items():
            self.refused("UNSUPPORTED", words, self.hub(self.serve({name: b"x"})).pull, "hf:owner/name")

    def test_the_largest_that_fits_is_chosen(self):
        demo = Path(DEMO).read_bytes()
        server = self.serve({"m-Q8_0.gguf": demo + bytes(70000), "m-Q4_K_M.gguf": demo,
                             "m-BF16.gguf": demo + bytes(99999)})
        model = self.hub(server, memory_bytes=1 << 33).pull("hf:owner/name")
        self.assertEqual("hf:owner/name:Q8_0", model.reference)
        self.assertIn("by its plan", model.note)
        self.assertIn("positions", model.note)
        self.refused("LIMIT", "none of its quantisations fits|Q4_K_M", self.hub(server, memory_bytes=1 << 20).pull,
                     "hf:owner/name")

    def test_a_proxy_is_used_if_it_is_told(self):
        server, proxy = (self.serve(stored=set()) for _ in range(2))
        os.environ["http_proxy"] = os.environ["HTTP_PROXY"] = "http://127.0.0.1:9"
        self.addCleanup(lambda: [os.environ.pop(name) for name in ("http_proxy", "HTTP_PROXY")])
        self.assert_same(self.hub(server).pull("hf:owner/name").path)  # the environment's is not
        shutil.rmtree(self.cache)
        self.assert_same(self.hub(endpoint="http://hub.example", proxy=proxy.endpoint).pull("hf:owner/name").path)
        self.assertTrue(any(path.startswith("http://hub.example/") for path in proxy.proxied))

    def test_a_proxy_sees_no_token_for_this_machine(self):
        server, proxy = (self.serve(stored=set()) for _ in range(2))
        self.assert_same(self.hub(server, token="secret", proxy=proxy.endpoint).pull("hf:owner/name").path)
        self.assertEqual([], proxy.requests)
        self.assertIn("Bearer secret", {headers.get("Authorization") for _, _, headers in server.requests})

    def test_progress_grows_to_the_end(self):
        seen = []
        server = self.serve()
        self.hub(server).pull("hf:owner/name",
                              lambda told: seen.append((told.phase, told.bytes_done, told.bytes_total)))
        self.assertEqual((len(MODEL), len(MODEL)), seen[-1][1:])
        self.assertEqual(sorted(done for _, done, _ in seen), [done for _, done, _ in seen])


class PlainAddresses(HubTest):
    def test_a_file_comes_with_its_parts(self):
        server = self.serve({f"m-{i:05}-of-00002.gguf": bytes_of(3 * PIECE, i) for i in (1, 2)})
        hub = self.hub(server, token="secret")
        url = server.endpoint + "/plain/m-00002-of-00002.gguf"
        model = hub.pull(url)
        self.assertEqual((2, "url"), (model.num_files, model.source))
        self.assertTrue(model.path.endswith("m-00001-of-00002.gguf"))
        self.assert_same(model.path, bytes_of(3 * PIECE, 1))
        sent = server.sent
        self.assertEqual(model.path, hub.pull(url).path)
        self.assertLess(server.sent - sent, PIECE)
        self.assertEqual([model.path], [one.path for one in hub.list()])
        self.assertGreater(hub.remove(url), 0)
        self.refused("STATE", "is not in", hub.find, url)

    def test_a_new_version_replaces_the_old_one(self):
        server = self.serve({"m.gguf": MODEL})
        hub = self.hub(server)
        url = server.endpoint + "/plain/m.gguf"
        hub.pull(url)
        server.files["m.gguf"], server.plain_etag = MODEL[::-1], '"v2"'
        self.assert_same(hub.pull(url).path, MODEL[::-1])

    def test_a_version_that_changes_under_way_is_begun_again(self):
        server = self.serve({"m.gguf": MODEL})
        server.lies.cut_after = PIECE
        url = server.endpoint + "/plain/m.gguf"

        def change(told):
            if told.bytes_done > 3 * PIECE and server.plain_etag == '"v1"':
                server.files["m.gguf"], server.plain_etag = MODEL[::-1], '"v2"'
            return False

        self.assert_same(self.hub(server, connections=1).pull(url, change).path, MODEL[::-1])

    def test_without_a_length_the_end_is_the_end(self):
        server = self.serve({"m.gguf": MODEL})
        server.lies.no_ranges = server.lies.chunked = True
        url = server.endpoint + "/plain/m.gguf"
        self.assert_same(self.hub(server).pull(url).path)
        self.hub(server).remove(url)
        server.lies.cut_after = 5 * PIECE  # an end that is not marked is none
        server.lies.status["/plain/m.gguf"] = [(200, {})]
        self.refused("IO", "given up after 5 attempts", self.hub(server).pull, url)
        server.lies.cut_after, server.lies.chunked, server.lies.until_close = None, False, True
        self.refused("IO", "tells neither its length nor its end", self.hub(server).pull, url)
        self.refused("STATE", "is not in", self.hub(server).find, url)

    def test_another_query_is_another_file(self):
        server = self.serve({"m.gguf": MODEL})
        hub = self.hub(server)
        first, second = (server.endpoint + f"/plain/m.gguf?v={i}" for i in (1, 2))
        hub.pull(first)
        self.refused("STATE", "is not in", hub.find, second)
        self.refused("STATE", "is not in", hub.remove, second)
        self.assert_same(hub.find(first).path)
        server.files["m.gguf"] = MODEL[::-1]  # of one length and ETag with the other
        self.assert_same(hub.pull(second).path, MODEL[::-1])
        self.refused("STATE", "is not in", hub.find, first)

    def test_without_an_etag_one_answer_brings_it_all(self):
        server = self.serve({"m.gguf": MODEL})
        server.plain_etag = None
        server.lies.cut_after, server.lies.cuts_left = 9 * PIECE, 1
        server.lies.changed_head_after = 2  # that tells the size, and the one that is cut
        path = self.hub(server, connections=4).pull(server.endpoint + "/plain/m.gguf").path
        self.assert_same(path, bytes(100) + MODEL[100:])
        self.assertEqual({None, "bytes=0-0"}, {headers.get("Range") for _, _, headers in server.requests})

    def test_what_was_begun_can_be_removed(self):
        server = self.serve({"m.gguf": MODEL})
        server.lies.seconds_per_block = 0.01
        hub = self.hub(server)
        url = server.endpoint + "/plain/m.gguf"
        self.refused("CANCELLED", "", hub.pull, url, lambda told: told.bytes_done > 3 * PIECE)
        folder, = (path for path in (self.folder / "urls").iterdir() if path.name != ".locks")
        self.assertEqual({"m.gguf.tenon-partial", "m.gguf.tenon-partial.state"}, set(os.listdir(folder)))
        lock, = (self.folder / "urls/.locks").glob("*/m.gguf.lock")
        with open(lock) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.refused("BUSY", "is being fetched", hub.remove, url)
        self.assertGreater(hub.remove(url), 3 * PIECE)
        self.assertFalse(folder.exists())
        self.assertTrue(lock.exists())
        server.lies.seconds_per_block = 0
        self.refused("STATE", "is not in", hub.remove, url)
        hub.pull(url)
        hub.remove(url)
        self.assertFalse(folder.exists())

    def test_the_note_is_the_users_alone_and_replaces_a_link(self):
        server = self.serve({"m.gguf": MODEL})
        hub = self.hub(server)
        url = server.endpoint + "/plain/m.gguf"
        note = Path(hub.pull(url).path + ".source")
        self.assertEqual(0o600, note.stat().st_mode & 0o777)
        victim = self.folder / "victim"
        victim.write_bytes(b"mine")
        note.unlink()
        note.symlink_to(victim)
        hub.pull(url)
        self.assertEqual(b"mine", victim.read_bytes())
        self.assertFalse(note.is_symlink())
        self.assertEqual({"m.gguf", "m.gguf.source"}, set(os.listdir(note.parent)))

    def test_addresses_that_are_none(self):
        hub = self.hub(self.serve())
        for text, words in {"https://user:pw@a.example/m.gguf": "user or a password", "https://a.example/": ".gguf",
                            "ftp://a/m.gguf": "hf:OWNER/NAME", "https:///m.gguf": "host",
                            "https://a.example/..%2f..%2fm.gguf": ".gguf"}.items():
            self.refused("ARGUMENT", words, hub.pull, text)


class Lied(HubTest):
    def test_a_range_answered_by_the_whole(self):
        server = self.serve()
        server.lies.no_ranges = True
        self.assert_same(self.hub(server).pull("hf:owner/name").path)
        self.assertEqual(1, server.answers)

    def test_a_later_range_answered_by_the_whole(self):
        server = self.serve()
        server.lies.no_ranges_after = 3
        self.assert_same(self.hub(server).pull("hf:owner/name").path)

    def test_another_range_than_asked_for(self):
        server = self.serve()
        server.lies.wrong_start = True
        self.assert_same(self.hub(server).pull("hf:owner/name").path)  # the whole, without ranges

    def test_connections_that_are_cut(self):
        server = self.serve()
        server.lies.cut_after = 3 * PIECE
        self.assert_same(self.hub(server).pull("hf:owner/name").path)
        self.assertLess(server.sent, 3 * len(MODEL))

    def test_cut_for_ever_without_ranges_ends(self):
        server = self.serve()
        server.lies.no_ranges = True
        server.lies.cut_after = 2 * PIECE
        self.refused("IO", "given up after", self.hub(server).pull, "hf:owner/name",
                     lambda told: server.answers > 30)
        self.assertLessEqual(server.answers, 6)  # the first brings something new

    def test_cut_for_ever_ends_and_goes_on_later(self):
        server = self.serve()
        hub = self.hub(server, connections=1)
        server.lies.cut_after = 3 * PIECE
        server.lies.cuts_left = 2
        server.lies.status["storage"] = [(200, {})] * 4 + [(500, {})]
        self.refused("IO", "given up after 5 attempts|is kept", hub.pull, "hf:owner/name")
        self.assertEqual(2, len(self.left_over()))  # the file under way and its state
        server.lies = type(server.lies)()
        before = server.sent
        self.assert_same(hub.pull("hf:owner/name").path)
        self.assertLess(server.sent - before, len(MODEL) - PIECE)
        self.assertEqual(1, len(self.left_over()))

    def test_another_version_at_the_hub(self):
        server = self.serve()
        server.lies.linked_etag = "f" * 64
        self.refused("IO", "another version", self.hub(server).pull, "hf:owner/name")

    def test_the_end_is_refused(self):
        server = self.serve()
        server.lies.status["storage"] = [(200, {}), (416, {"Content-Range": "bytes */7"}), (200, {})]
        self.assert_same(self.hub(server).pull("hf:owner/name").path)
        shutil.rmtree(self.cache)
        server.lies.status["storage"] = [(416, {})]
        self.refused("IO", "416", self.hub(server).pull, "hf:owner/name")

    def test_compressed_answers(self):
        server = self.serve()
        server.lies.gzip = True
        self.refused("IO", "compressed", self.hub(server).pull, "hf:owner/name")

    def test_wrong_lengths(self):
        for lie, value in {"length": 5, "total": 5, "extra": b"more"}.items():
            server = self.serve()
            server.lies.no_ranges = lie == "length"
            setattr(server.lies, lie, value)
            self.refused("IO", "announced", self.hub(server).pull, "hf:owner/name")

    def test_silence(self):
        server = self.serve()
        server.lies.silent_after = 2 * PIECE
        server.lies.silences_left = 2
        server.lies.silence = 30
        begin = time.monotonic()
        self.assert_same(self.hub(server, stall_seconds=0.3).pull("hf:owner/name").path)
        self.assertLess(time.monotonic() - begin, 25)
        server.lies.silences_left = 10**6
        server.lies.silent_after = 0
        shutil.rmtree(self.cache)
        self.refused("IO", "sends nothing", self.hub(server, stall_seconds=0.2, retries=2).pull, "hf:owner/name")

    def test_wrong_bytes_are_fetched_again_and_never_kept(self):
        server = self.serve()
        server.lies.other_bytes = 1
        self.assert_same(self.hub(server).pull("hf:owner/name").path)
        shutil.rmtree(self.cache)
        server.lies.other_bytes = 10**6
        self.refused("FORMAT", "sha256|nothing of it was kept", self.hub(server).pull, "hf:owner/name")
        self.assertEqual([], self.left_over())

    def test_bytes_that_were_hashed_are_not_written_over(self):
        server = self.serve()
        server.lies.no_ranges = True
        server.lies.cut_after, server.lies.cuts_left = 8 * PIECE, 1
        server.lies.changed_head_after = 1
        self.refused("FORMAT", "sha256", self.hub(server).pull, "hf:owner/name")

    def test_redirects_that_lead_nowhere(self):
        server = self.serve()
        for location, words in {"file:///etc/passwd": "invalid address", "http://u:p@127.0.0.1/": "invalid address",
                                f"{server.endpoint}/owner/name/resolve/{COMMIT}/name-Q4_K_M.gguf": "circle"}.items():
            server.lies.location = location
            self.refused("IO", words, self.hub(server).pull, "hf:owner/name")

    def test_addresses_that_expire_are_asked_for_again(self):
        server = self.serve()
        server.lies.status["storage"] = [(200, {}), (403, {}), (200, {}), (403, {}), (200, {})]
        self.assert_same(self.hub(server).pull("hf:owner/name").path)
        self.assertGreaterEqual(sum("/resolve/" in path for _, path, _ in server.requests), 3)

    def test_a_listing_with_hostile_names(self):
        server = self.serve()
        honest = json.dumps(server.tree())[1:-1]
        hostile = [{"type": "file", "path": path, "size": 1, "oid": "2" * 40}
                   for path in ("../../../x.gguf", "/etc/x.gguf", "a\\b.gguf", "a/../b.gguf", "a\nb.gguf", "C:x.gguf",
                                "a//b.gguf", "", "x" * 300 + ".gguf", "/".join("abcdefghijklmnopqrstu") + ".gguf")]
        server.lies.tree = f"[{json.dumps(hostile)[1:-1]}, {honest}]".encode()
        hub = self.hub(server)
        self.assert_same(hub.pull("hf:owner/name").path)
        server.lies.tree = json.dumps(hostile).encode()
        self.refused("UNSUPPORTED", "has neither GGUF files nor", hub.pull, "hf:owner/name")
        for tree, words in {b"[": "byte", b"{}": "no list", b'[{"type":"file","path":"a","size":-1}]': "size",
                            b'[{"type":"file","path":"a","size":99999999999999999}]': "size",
                            b"[" * 5000: "", f"[{honest}, {honest}]".encode(): "twice"}.items():
            server.lies.tree = tree
            with self.assertRaises(HubError) as caught:
                hub.pull("hf:owner/name")
            self.assertIn(caught.exception.status, ("FORMAT", "LIMIT"))
            self.assertIn(words, str(caught.exception))

    def test_a_file_in_the_place_of_a_folder(self):
        server = self.serve({"a.gguf": b"1", "a.gguf/b-Q8_0.gguf": b"2"})
        hub = self.hub(server)
        hub.pull("hf:owner/name:a.gguf")
        self.refused("IO", "is no folder", hub.pull, "hf:owner/name:Q8_0")

    def test_links_in_the_cache_are_not_followed_when_writing(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for place in ("models--owner--name/blobs", "models--owner--name/snapshots", "models--owner--name", ".locks"):
            shutil.rmtree(self.cache, ignore_errors=True)
            (self.cache / place).parent.mkdir(parents=True)
            (self.cache / place).symlink_to(elsewhere)
            self.refused("IO", "links are not followed", self.hub(self.serve()).pull, "hf:owner/name")
            self.assertEqual([], os.listdir(elsewhere))
        shutil.rmtree(self.cache)
        blobs = self.cache / "models--owner--name/blobs"
        blobs.mkdir(parents=True)
        victim = self.folder / "victim"
        victim.write_bytes(b"mine")
        (blobs / (hashlib.sha256(MODEL).hexdigest() + ".tenon-partial")).symlink_to(victim)
        self.refused("IO", "tenon-partial", self.hub(self.serve()).pull, "hf:owner/name")
        self.assertEqual(b"mine", victim.read_bytes())
        shutil.rmtree(blobs)
        refs = self.cache / "models--owner--name/refs"
        (refs / "main").unlink(missing_ok=True)
        (refs / "main").symlink_to(victim)
        self.hub(self.serve()).pull("hf:owner/name")
        self.assertEqual(b"mine", victim.read_bytes())
        self.assertFalse((refs / "main").is_symlink())
        self.assertEqual((COMMIT, ["main"]), ((refs / "main").read_text(), os.listdir(refs)))

    def test_links_in_the_cache_are_not_followed_when_removing(self):
        elsewhere = self.folder / "elsewhere"
        (elsewhere / "Q8_0").mkdir(parents=True)
        mine = [elsewhere / "m-Q4_0.gguf", elsewhere / "Q8_0/m-Q8_0.gguf"]
        for path in mine:
            path.write_bytes(b"mine")
        server = self.serve({"m-Q4_0.gguf": b"4", "Q8_0/m-Q8_0.gguf": b"8", "m-Q6_K.gguf": b"6"})
        hub = self.hub(server)
        for name in ("Q4_0", "Q8_0", "Q6_K"):
            hub.pull("hf:owner/name:" + name)
        snapshots = self.cache / "models--owner--name/snapshots"
        (snapshots / ("a" * 40)).symlink_to(elsewhere)
        (snapshots / ("b" * 40)).mkdir()
        (snapshots / ("b" * 40) / "Q8_0").symlink_to(elsewhere / "Q8_0")
        for name in ("Q4_0", "Q8_0"):
            hub.remove("hf:owner/name:" + name)
            self.refused("STATE", "", hub.find, "hf:owner/name:" + name)
        for path in mine:
            self.assertEqual(b"mine", path.read_bytes())
        blobs = self.cache / "models--owner--name/blobs"
        self.assertEqual([hashlib.sha256(b"6").hexdigest()], self.left_over())
        other = self.cache / "other"
        blobs.rename(other)
        blobs.symlink_to(other)
        hub.remove(f"hf:owner/name@{COMMIT}:m-Q6_K.gguf")
        self.assertEqual(1, len(os.listdir(other)))


class Refused(HubTest):
    def test_who_may_not(self):
        server = self.serve()
        where = "/api/models/owner/name/revision/main"
        for token, status, code, words in (
                ("", 401, "RepoNotFound", "private or gated|HF_TOKEN|/settings/tokens"),
                ("", 401, "GatedRepo", "accept their terms|{endpoint}/owner/name, then|HF_TOKEN"),
                ("t", 403, "GatedRepo", "accept their terms|account without access"),
                ("t", 401, "RepoNotFound", "no such model, or the token")):
            server.lies.status[where] = [(status, {"X-Error-Code": code})]
            hub = self.hub(server, token=token)
            self.refused("ARGUMENT", words.format(endpoint=server.endpoint), hub.pull, "hf:owner/name")

    def test_what_is_not_there(self):
        server = self.serve({"m-Q4_K_M.gguf": b"1", "m-Q8_0.gguf": b"2"})
        hub = self.hub(server)
        self.refused("ARGUMENT", 'no file or quantisation "Q5_K_M"|Q4_K_M, Q8_0', hub.pull, "hf:owner/name:Q5_K_M")
        self.refused("ARGUMENT", 'nearest name is "m-Q8_0.gguf"', hub.pull, "hf:owner/name:m-Q8_1.gguf")
        self.refused("ARGUMENT", "no such revision", hub.pull, "hf:owner/name@v2")
        self.refused("ARGUMENT", "no such model", hub.pull, "hf:owner/other")

    def test_not_now(self):
        server = self.serve()
        where = "/api/models/owner/name/revision/main"
        server.lies.status[where] = [(429, {"Retry-After": "0"}), (503, {}), (408, {}), (200, {})]
        server.lies.status["storage"] = [(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"}), (200, {})]
        self.assert_same(self.hub(server).pull("hf:owner/name").path)
        server.lies.status[where] = [(429, {"Retry-After": "5000"})]
        self.refused("IO", "too many requests|5000 seconds", self.hub(server).pull, "hf:owner/name")
        server.lies.status[where] = [(500, {"X-Error-Message": "on fire"})]
        self.refused("IO", "500|on fire|3 attempts", self.hub(server, retries=3).pull, "hf:owner/name")

    def test_nobody_there(self):
        self.refused("IO", "127.0.0.1", self.hub(endpoint="http://127.0.0.1:9", retries=2).pull, "hf:owner/name")

    def test_no_room(self):
        server = self.serve()
        server.lies.tree = json.dumps([{"type": "file", "path": "m.gguf", "size": 1 << 45, "oid": "1" * 40}]).encode()
        self.refused("IO", "has room for", self.hub(server).pull, "hf:owner/name")

    def test_names_that_are_none(self):
        hub = self.hub()
        for text in ("", "hf:", "hf:name", "hf:a/b/c", "hf:../x", "hf:a/..", "hf:a--b/c", "hf:a/b@", "hf:a/b@../x",
                     "hf:a/b:", "hf:a/b:../x", "hf:a/b:x\n", "hf:/b", "hf:a/", "model.gguf", "hf:a/b@x y", "x" * 5000):
            with self.assertRaises(HubError, msg=text) as caught:
                hub.pull(text)
            self.assertEqual("ARGUMENT", caught.exception.status, text)

    def test_a_token_needs_tls(self):
        for host in ("hub.example", "127.evil.example", "127.0.0.1.example"):
            self.refused("ARGUMENT", "without TLS", lambda: self.hub(endpoint=f"http://{host}", token="secret"))
        self.refused("ARGUMENT", "token", lambda: self.hub(token="a\r\nX: y"))


class EndedEarly(HubTest):
    def test_cancel_by_the_callback(self):
        server = self.serve()
        server.lies.seconds_per_block = 0.01
        hub = self.hub(server)
        self.refused("CANCELLED", "is kept", hub.pull, "hf:owner/name", lambda told: told.bytes_done > 3 * PIECE)
        server.lies.seconds_per_block = 0
        before = server.sent
        self.assert_same(hub.pull("hf:owner/name").path)
        self.assertLess(server.sent - before, len(MODEL))

    def test_cancel_while_nothing_comes(self):
        server = self.serve()
        server.lies.silent_after = PIECE
        server.lies.silence = 60
        hub = self.hub(server)
        told = []
        thread = threading.Thread(target=lambda: told.append(self.refused("CANCELLED", "", hub.pull, "hf:owner/name")))
        thread.start()
        self.assertTrue(server.wait_until_sent(PIECE))
        begin = time.monotonic()
        hub.cancel()
        thread.join(30)
        seconds = time.monotonic() - begin
        print(f"cancelled after {1000 * seconds:.0f} ms")
        self.assertEqual(1, len(told))
        self.assertLess(seconds, 5)  # 0.2 on a machine that is not busy

    def test_killed_at_twenty_points(self):
        data = bytes_of(64 * PIECE + 77, 3)
        server = self.serve({"m-Q8_0.gguf": data})
        server.lies.seconds_per_block = 0.001
        chance = random.Random(5)
        child = ("import sys; sys.path.insert(0, sys.argv[1]); from hub_library import Hub; Hub.load(sys.argv[2]);"
                 "Hub(cache_folder=sys.argv[3], endpoint=sys.argv[4], piece_bytes=int(sys.argv[5]))"
                 ".pull('hf:owner/name')")
        arguments = [sys.executable, "-c", child, str(Path(__file__).parent), LIBRARY, str(self.cache), server.endpoint,
                     str(PIECE)]
        for _ in range(20):
            aim = server.sent + chance.randrange(1, 12 * PIECE)
            process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
            while not server.wait_until_sent(aim, 0.2) and process.poll() is None:
                pass
            process.send_signal(signal.SIGKILL)
            process.wait()
            for blob in self.left_over():  # nothing stands under its name before it is whole
                if "." not in blob:
                    self.assertEqual(hashlib.sha256(data).hexdigest(), blob)
                    self.assert_same(self.cache / "models--owner--name/blobs" / blob, data)
        server.lies.seconds_per_block = 0
        self.assert_same(self.hub(server).pull("hf:owner/name").path, data)
        print(f"sent {server.sent / len(data):.2f} times the file")
        # Each kill loses at most the pieces under way on each connection.
        self.assertLess(server.sent, 3 * len(data))
        self.assertEqual(1, len(self.left_over()))

    def test_what_is_being_fetched_is_not_removed(self):
        server = self.serve()
        server.lies.seconds_per_block = 0.01
        hub = self.hub(server)
        self.refused("CANCELLED", "", hub.pull, "hf:owner/name", lambda told: told.bytes_done > 3 * PIECE)
        lock, = (self.cache / ".locks/models--owner--name").iterdir()
        with open(lock) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.refused("BUSY", "is being fetched", hub.remove, "hf:owner/name")
            self.assertEqual(2, len(self.left_over()))
        self.assertGreater(hub.remove("hf:owner/name"), 3 * PIECE)
        self.assertTrue(lock.exists())

    def test_two_processes_fetch_once(self):
        server = self.serve()
        server.lies.seconds_per_block = 0.002
        found, phases = [], set()

        def pull():
            found.append(self.hub(server).pull("hf:owner/name", lambda told: phases.add(told.phase)))

        threads = [threading.Thread(target=pull) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(3, len(found))
        self.assert_same(found[0].path)
        self.assertEqual(len(MODEL), server.sent)
        self.assertIn(2, phases)  # waiting


class OnThisMachine(HubTest):
    def test_offline(self):
        server = self.serve()
        self.refused("STATE", "nothing is fetched offline", self.hub(server, offline=1).pull, "hf:owner/name")
        self.hub(server).pull("hf:owner/name")
        asked = len(server.requests)
        self.assert_same(self.hub(server, offline=1).pull("hf:owner/name").path)
        self.refused("STATE", "Q8_0|offline", self.hub(server, offline=1).pull, "hf:owner/name:Q8_0")
        self.assertEqual(asked, len(server.requests))

    def test_list_and_remove(self):
        server = self.serve({"m-Q4_0.gguf": bytes_of(9000, 4), "m-Q8_0.gguf": bytes_of(18000, 8), "mmproj.gguf": b"p"})
        hub = self.hub(server)
        hub.pull("hf:owner/name:Q4_0")
        hub.pull("hf:owner/name:Q8_0")
        self.assertEqual({"hf:owner/name:Q4_0", "hf:owner/name:Q8_0"}, {model.reference for model in hub.list()})
        self.assertGreaterEqual(hub.remove("hf:owner/name:Q8_0"), 18000)
        self.assertEqual(["hf:owner/name:Q4_0"], [model.reference for model in hub.list()])
        self.assertEqual(2, len(self.left_over()))
        hub.remove("hf:owner/name")
        self.assertEqual([], hub.list())
        self.refused("STATE", "is not in", hub.remove, "hf:owner/name")

    def other_programs(self, data=MODEL):
        """Folders of other programs with a model each; the options that name them."""
        ollama = self.folder / "ollama"
        digest = hashlib.sha256(data).hexdigest()
        for name, target in {"registry.ollama.ai/library/qwen3/0.6b": digest, "hub.example/owner/name/latest": digest,
                             "registry.ollama.ai/library/gone/latest": "0" * 64}.items():
            manifest = ollama / "manifests" / name
            manifest.parent.mkdir(parents=True, exist_ok=True)
            manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [
                {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{target}", "size": len(data)}]}))
        (ollama / "blobs").mkdir()
        (ollama / "blobs" / f"sha256-{digest}").write_bytes(data)
        studio = self.folder / "studio"
        for path in ("pub/one/one-Q4_K_M.gguf", "pub/two/two-Q4_0.gguf", "pub/two/two-Q8_0.gguf",
                     "pub/mlx/model.safetensors", "pub/mlx/config.json"):
            (studio / path).parent.mkdir(parents=True, exist_ok=True)
            (studio / path).write_bytes(data)
        llama = self.folder / "llama"
        llama.mkdir()
        (llama / "owner_name_m-Q4_0.gguf").write_bytes(data)
        return {"ollama_folder": str(ollama), "lmstudio_folder": str(studio), "llamacpp_folder": str(llama)}

    def test_models_of_other_programs_are_read_where_they_are(self):
        hub = self.hub(**self.other_programs())
        names = {model.reference for model in hub.list()}
        self.assertEqual({"ollama:qwen3:0.6b", "ollama:hub.example/owner/name:latest", "lmstudio:pub/one",
                          "lmstudio:pub/two:two-Q4_0.gguf", "lmstudio:pub/two:two-Q8_0.gguf", "lmstudio:pub/mlx",
                          "llama.cpp:owner_name_m-Q4_0.gguf"}, names)
        for name in names - {"lmstudio:pub/mlx"}:
            self.assert_same(hub.find(name).path)
        self.assertTrue(hub.find("lmstudio:pub/two:q8_0").path.endswith("two-Q8_0.gguf"))
        self.refused("ARGUMENT", 'nearest name is "ollama:qwen3:0.6b"', hub.find, "ollama:qwen3:0.5b")
        for name in names:
            self.refused("ARGUMENT", "another program", hub.remove, name)

    def test_damaged_folders_only_hide_models(self):
        options = self.other_programs(b"some bytes")
        server = self.serve({"config.json": b"{}", "model.safetensors": b"w", "tokenizer.json": b"{}"})
        hub = self.hub(server, **options)
        hub.pull("hf:owner/name")
        whole = self.folder / "whole"
        shutil.copytree(self.folder, whole, symlinks=True, ignore=lambda folder, names: ["whole"])
        chance = random.Random(11)
        for _ in range(30):
            for name in ("hub", "ollama", "studio", "llama"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
                shutil.copytree(whole / name, self.folder / name, symlinks=True)
            places = sorted(path for name in ("hub", "ollama", "studio", "llama")
                            for path in (self.folder / name).rglob("*"))
            for place in chance.sample(places, 3):
                if not place.is_symlink() and not place.exists():
                    continue
                shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
                match chance.randrange(6):
                    case 0:
                        place.symlink_to("/etc/hostname")
                    case 1:
                        place.symlink_to(place.name)
                    case 2:
                        place.mkdir()
                    case 3:
                        place.write_bytes(chance.randbytes(chance.randrange(300)))
                    case 4:
                        os.mkfifo(place)
            for model in hub.list():
                # Links of the user's own folders are followed, those of the shared cache stay in it.
                if model.source == "hub":
                    self.assertTrue(os.path.realpath(model.path).startswith(os.path.realpath(self.cache)), model.path)
            for name in ("hf:owner/name", "ollama:qwen3:0.6b", "lmstudio:pub/one"):
                try:
                    hub.find(name)
                except HubError as error:
                    self.assertIn(error.status, ("STATE", "ARGUMENT", "FORMAT", "IO", "UNSUPPORTED"))

    def test_the_python_package_reads_it(self):
        try:
            import huggingface_hub
        except ImportError:
            self.skipTest("huggingface_hub is not installed: nobody else reads the cache")
        server = self.serve({"config.json": b"{}", "model.safetensors": MODEL, "1_Pooling/config.json": b"{}"})
        model = self.hub(server).pull("hf:owner/name")
        self.assertEqual(model.path, huggingface_hub.snapshot_download("owner/name", cache_dir=self.cache,
                                                                       local_files_only=True))
        self.assertEqual(model.path + "/1_Pooling/config.json", huggingface_hub.try_to_load_from_cache(
            "owner/name", "1_Pooling/config.json", cache_dir=self.cache))
        scanned = huggingface_hub.scan_cache_dir(self.cache)
        self.assertEqual(([], 1), (list(scanned.warnings), len(scanned.repos)))
        # The other way round, with files that the package wrote.
        shutil.rmtree(self.cache)
        written = huggingface_hub.snapshot_download("owner/name", cache_dir=self.cache, endpoint=server.endpoint)
        self.assertEqual(written, self.hub().find("hf:owner/name").path)


class Program(HubTest):
    def setUp(self):
        super().setUp()
        if PROGRAM == "-":
            self.skipTest("this build has no program")
        self.demo = Path(DEMO).read_bytes()
        self.server = self.serve({"demo-Q8_0.gguf": self.demo})
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "HF_ENDPOINT": self.server.endpoint,
                            "HF_HUB_CACHE": str(self.cache)}

    def run_it(self, *words, status=0, **variables):
        done = subprocess.run([PROGRAM, *words], env={**self.environment, **variables}, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(status, done.returncode, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_pull_list_rm(self):
        path = self.run_it("pull", "hf:owner/name:q8_0").strip()
        self.assert_same(path, self.demo)
        self.assertEqual("hf:owner/name:Q8_0  2.7 MiB\n", self.run_it("list"))
        listed = json.loads(self.run_it("list", "--json"))
        self.assertEqual([("hf:owner/name:Q8_0", path, "hub", True)],
                         [(m["reference"], m["path"], m["source"], m["is_whole"]) for m in listed])
        self.assertEqual("2.7 MiB freed\n", self.run_it("rm", "hf:owner/name"))
        self.assertEqual("", self.run_it("list"))
        self.assertIn("tenon: hf:owner/name: is not in", self.run_it("rm", "hf:owner/name", status=1))

    def test_models_by_name_are_fetched_once(self):
        question = ("What is the capital of Norway?", "--temperature", "0", "--max-tokens", "24")
        self.assertIn("no-such-flag", self.run_it("run", "hf:owner/name", "--no-such-flag", status=2))
        self.assertEqual(0, self.server.sent)
        self.assertIn("Oslo", self.run_it("run", "hf:owner/name:Q8_0", *question))
        asked = len(self.server.requests)
        for variables in ({}, {"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
            self.assertIn("Oslo", self.run_it("run", "hf:owner/name:Q8_0", *question, **variables))
        self.assertIn("Oslo", self.run_it("run", "--offline", "-m", "hf:owner/name", *question))
        self.assertIn("demo", self.run_it("inspect", "hf:owner/name"))
        self.assertEqual(asked, len(self.server.requests))
        self.assertIn("nothing is fetched offline", self.run_it("run", "--offline", "hf:owner/other", "x", status=1))
        self.assertIn("nothing is fetched offline",
                      self.run_it("pull", "hf:owner/other", status=1, TRANSFORMERS_OFFLINE="on"))

    def test_the_server_names_models_as_they_were_named(self):
        process = subprocess.Popen([PROGRAM, "serve", "hf:owner/name:Q8_0", "--port", "0"], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.assertEqual("serving owner/name:Q8_0\n", process.stdout.readline())

    def test_tokens_of_the_environment(self):
        (self.folder / "hf").mkdir()
        (self.folder / "hf/token").write_text("from-file\n")
        for wanted, variables in (("Bearer given", {"HF_TOKEN": "given"}),
                                  ("Bearer from-file", {"HF_HOME": str(self.folder / "hf")}), (None, {})):
            self.server.requests.clear()
            self.run_it("pull", "hf:owner/name", **variables)
            self.assertEqual({wanted}, {headers.get("Authorization") for role, _, headers in self.server.requests
                                        if role == "hub"})

    def test_ctrl_c_keeps_what_has_arrived(self):
        self.server.lies.seconds_per_block = 0.02
        process = subprocess.Popen([PROGRAM, "pull", "hf:owner/name"], env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.assertTrue(self.server.wait_until_sent(len(self.demo) // 3))
        process.send_signal(signal.SIGINT)
        self.assertEqual(-signal.SIGINT, process.wait(60))
        self.server.lies.seconds_per_block = 0
        self.assert_same(self.run_it("pull", "hf:owner/name").strip(), self.demo)

    def test_models_of_other_programs_run(self):
        ollama = self.folder / ".ollama/models"
        digest = hashlib.sha256(self.demo).hexdigest()
        manifest = ollama / "manifests/registry.ollama.ai/library/demo/latest"
        manifest.parent.mkdir(parents=True)
        (ollama / "blobs").mkdir()
        (ollama / f"blobs/sha256-{digest}").write_bytes(self.demo)
        manifest.write_text(json.dumps({"schemaVersion": 2, "layers": [{
            "mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": len(self.demo)}]}))
        self.assertEqual("ollama:demo:latest  2.7 MiB\n", self.run_it("list"))
        self.assertIn("Oslo", self.run_it("run", "ollama:demo", "What is the capital of Norway?", "--temperature", "0"))


if __name__ == "__main__":
    LIBRARY, DEMO, PROGRAM = sys.argv[1:4]
    Hub.load(LIBRARY)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
