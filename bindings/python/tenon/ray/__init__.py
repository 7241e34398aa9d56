"""Tenon on several machines by Ray: a Serve deployment that routes requests to the replica that
caches their prefix, and batches of files. Needs `pip install "tenon-llm[ray]"`.

    from ray import serve
    from tenon.ray import Client, application
    client = Client(serve.run(application("/models/demo-q8_0.gguf", replicas=2)))
    for piece in client.stream("Once upon a time", max_tokens=20):
        print(piece, end="")

Ray places, restarts and scales. This module adds the choice of a replica (PrefixRouter), streams
that continue after a replica's death (Client), OpenAI's routes over HTTP (http_application), and
stages of Ray Data (Stage, generate_files)."""

try:
    import ray.data
    import ray.serve
except ImportError as error:
    raise ImportError(f'tenon.ray needs Ray: pip install "tenon-llm[ray]" ({error})') from error

from ._client import Client
from ._files import generate_files
from ._http import from_arguments, http_application
from ._router import PrefixRouter
from ._serve import ModelReplica, application
from ._stage import Stage

__all__ = ["Client", "ModelReplica", "PrefixRouter", "Stage", "application", "from_arguments", "generate_files",
           "http_application"]
