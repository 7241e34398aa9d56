"""Python hosts that end with a model open: cffi unloads the library while the model's threads live.
usage: ends_with_a_model.py LIBRARY MODEL"""
import signal
import subprocess
import sys

SKIPPED = 77
ROUNDS = 50
HOST = """
import sys, cffi
ffi = cffi.FFI()
ffi.cdef('''
int32_t tenon_options_create(void** out);
int32_t tenon_options_set_int(void* options, const char* key, int64_t value);
int32_t tenon_model_open(const char* path, const void* options, void** model);
int32_t tenon_session_create(void* model, const void* options, void** session);
int32_t tenon_session_append_text(void* session, const char* text, size_t length, uint32_t flags);
int32_t tenon_session_generate(void* session, void* sampler, uint64_t tokens, void* call, void* user);
''')
c = ffi.dlopen(sys.argv[1])
out = ffi.new('void**')
c.tenon_options_create(out)
options = out[0]
assert c.tenon_options_set_int(options, b'threads', 2) == 0
assert c.tenon_model_open(sys.argv[2].encode(), options, out) == 0
assert c.tenon_session_create(out[0], ffi.NULL, out) == 0
session = out[0]
assert c.tenon_session_append_text(session, b'Once', 4, 1) == 0
assert c.tenon_session_generate(session, ffi.NULL, 20, ffi.NULL, ffi.NULL) == 0
"""

try:
    import cffi  # noqa: F401
except ImportError:
    print("skipped: python3-cffi is not installed")
    sys.exit(SKIPPED)
for i in range(ROUNDS):
    ended = subprocess.run([sys.executable, "-c", HOST, *sys.argv[1:3]])
    if ended.returncode != 0:
        how = signal.Signals(-ended.returncode).name if ended.returncode < 0 else ended.returncode
        sys.exit(f"host {i} of {ROUNDS} ended with {how}")
print(f"{ROUNDS} hosts ended well")
