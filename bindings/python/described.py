"""The descriptions of both interfaces as the generator of Python sees them."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from generating import HIDDEN, Interface as Description, short  # noqa: E402

# What no rule covers: structures that hold arrays of pointers, or several callbacks, and pieces, which are waited
# for in intervals so that Python hears of signals.
HAND = {"tenon_model_load", "tenon_tokenizer_load", "tenon_request_next",
        "tenon_embedder_embed", "tenon_embedder_rank", "tenon_session_score"}
# Of no use in Python: the binding has a thread that runs an engine, in native/runner.h.
LEFT_OUT = {"tenon_engine_set_executor", "tenon_engine_set_store"}
# Answered without a library, or by other means.
LIBRARY = {"tenon_interface_description", "tenon_last_error", "tenon_last_system_error", "tenon_server_interface_description",
           "tenon_server_last_error"}

PYTHON_TYPES = {"uint16_t": "int", "int32_t": "int", "uint32_t": "int", "int64_t": "int", "uint64_t": "int", "size_t": "int",
                "double": "float", "float": "float"}


def type_name(struct):
    """tenon_model_info -> ModelInfo"""
    return "".join(part.capitalize() for part in short(struct).split("_"))


def is_hidden(field):
    return field["name"] in HIDDEN or field["name"].startswith("reserved")


class Interface(Description):
    """is_server: that of tenon/server.h."""

    def __init__(self, is_server=False):
        super().__init__(LEFT_OUT, HAND, file="server_interface.json" if is_server else "interface.json")
        self.is_server = is_server
        self.offered = [f for f in self.functions if f["name"] not in HAND | LIBRARY | self.destroys]

    def shown(self, struct):
        """Python sees the lengths of a batch, too."""
        return [field for field in self.structs[struct]["fields"]
                if not is_hidden(field) and
                (field["role"] != "length" or struct == "tenon_embedder_batch")]
