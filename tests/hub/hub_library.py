"""libtenon-hub by ctypes, as the tests call it."""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

STATUS = ["OK", "FORMAT", "UNSUPPORTED", "LIMIT", "IO", "NO_MEMORY", "ARGUMENT", "GRAMMAR", "TEMPLATE", "BUSY",
          "CANCELLED", "DEADLINE", "PLUGIN", "STATE", "INTERNAL"]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("offline", c_uint32),
                *((name, c_char_p) for name in ("endpoint", "token", "cache_folder", "url_folder", "ollama_folder",
                                                "lmstudio_folder", "llamacpp_folder", "proxy", "no_proxy", "ca_file")),
                ("connections", c_uint32), ("retries", c_uint32), ("stall_seconds", c_double),
                ("connect_seconds", c_double), ("retry_seconds", c_double), ("memory_bytes", c_uint64),
                ("context", c_uint64), ("piece_bytes", c_uint64)]


class Info(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("is_whole", c_uint32),
                *((name, c_char_p) for name in ("reference", "path", "projector", "source", "commit", "note")),
                ("size_bytes", c_uint64), ("num_files", c_uint64)]


class Progress(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("phase", c_uint32), ("file", c_char_p), ("file_index", c_uint64),
                ("num_files", c_uint64), ("bytes_done", c_uint64), ("bytes_total", c_uint64)]


ON_PROGRESS = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Progress))


class HubError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = STATUS[status]


class Model:
    """The facts of a model as attributes."""

    def __init__(self, info):
        for name, _ in Info._fields_:
            value = getattr(info, name)
            setattr(self, name, value.decode() if isinstance(value, bytes) else value)


class Hub:
    library = None

    @classmethod
    def load(cls, path):
        library = cls.library = ctypes.CDLL(path)
        library.tenon_hub_create.argtypes = [POINTER(Options), POINTER(c_void_p)]
        library.tenon_hub_pull.argtypes = [c_void_p, c_char_p, ON_PROGRESS, c_void_p, POINTER(c_void_p)]
        library.tenon_hub_find.argtypes = [c_void_p, c_char_p, POINTER(c_void_p)]
        library.tenon_hub_remove.argtypes = [c_void_p, c_char_p, POINTER(c_uint64)]
        library.tenon_hub_model_get_info.argtypes = [c_void_p, POINTER(Info)]
        library.tenon_hub_list_create.argtypes = [c_void_p, POINTER(c_void_p)]
        library.tenon_hub_list_size.argtypes = [c_void_p]
        library.tenon_hub_list_size.restype = c_size_t
        library.tenon_hub_list_get_info.argtypes = [c_void_p, c_size_t, POINTER(Info)]
        library.tenon_hub_last_error.restype = c_char_p
        for name in ("tenon_hub_destroy", "tenon_hub_model_destroy", "tenon_hub_list_destroy", "tenon_hub_cancel"):
            getattr(library, name).argtypes = [c_void_p]
            getattr(library, name).restype = None

    def __init__(self, **options):
        given = Options(struct_size=ctypes.sizeof(Options))
        for name, value in options.items():
            setattr(given, name, value.encode() if isinstance(value, str) else value)
        self.handle = c_void_p()
        self.check(self.library.tenon_hub_create(ctypes.byref(given), ctypes.byref(self.handle)))

    def __del__(self):
        self.library.tenon_hub_destroy(self.handle)

    def check(self, status):
        if status != 0:
            raise HubError(status, self.library.tenon_hub_last_error().decode())

    def taken(self, handle):
        info = Info(struct_size=ctypes.sizeof(Info))
        self.check(self.library.tenon_hub_model_get_info(handle, ctypes.byref(info)))
        model = Model(info)
        self.library.tenon_hub_model_destroy(handle)
        return model

    def pull(self, reference, progress=None):
        model = c_void_p()
        call = ON_PROGRESS(lambda user, told: int(bool(progress(told.contents)))) if progress else ON_PROGRESS()
        self.check(self.library.tenon_hub_pull(self.handle, reference.encode(), call, None, ctypes.byref(model)))
        return self.taken(model)

    def find(self, reference):
        model = c_void_p()
        self.check(self.library.tenon_hub_find(self.handle, reference.encode(), ctypes.byref(model)))
        return self.taken(model)

    def list(self):
        handle = c_void_p()
        self.check(self.library.tenon_hub_list_create(self.handle, ctypes.byref(handle)))
        models = []
        for index in range(self.library.tenon_hub_list_size(handle)):
            info = Info(struct_size=ctypes.sizeof(Info))
            self.check(self.library.tenon_hub_list_get_info(handle, index, ctypes.byref(info)))
            models.append(Model(info))
        self.library.tenon_hub_list_destroy(handle)
        return models

    def remove(self, reference):
        freed = c_uint64()
        self.check(self.library.tenon_hub_remove(self.handle, reference.encode(), ctypes.byref(freed)))
        return freed.value

    def cancel(self):
        self.library.tenon_hub_cancel(self.handle)
