"""Quality of the local library on judged collections: ranking, misheard questions, and the floor.

Run with ``python benchmarks/local_quality.py --data FOLDER [--queries N] [--half tune]``. A collection is a gzipped
JSON file with ``docs`` ([id, title, text]), ``queries`` ([id, text]) and ``qrels``. Weights and floor were chosen on
every other question; what is printed is measured on the rest, unless ``--half tune`` asks for the others. Without the
folder a small collection of the project's own is measured: the handbook of the examples. The peers are BM25 (bm25s)
over the same words without stems, grams and sounds, and bm25s with its own tokenizer.
"""

import argparse
import gzip
import json
import math
import random
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from local_library import DomainLibrary
from local_library.records import ExtractedText, Segment, SegmentKind
from local_library.tokens import terms

NAMES = ("cranfield", "cmrc", "xquad_en", "xquad_de", "dstc10_last")
DEPTH = 20
HALVES = {"tune": 0, "report": 1}
NOISE = (0.2, 0.4)
FLOORS = (0.5, 0.55, 0.6, 0.7)
HANDBOOK = Path(__file__).resolve().parents[1] / "examples" / "handbook"

_DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_BY_SOUND = """ph:f ck:k ee:ea ea:ee ai:ay qu:kw wh:w tion:shun kn:n wr:r ie:y oo:u ll:l ss:s tt:t mm:m c:k y:i s:c
    ei:ai ä:e v:f d:t z:s ü:i"""
_SUBSTITUTIONS = tuple(pair.split(":") for pair in _BY_SOUND.split())
_SAME_SOUND = """
    在再载 做作坐座 是事市式世试室 地的得德 公工功攻宫 里理力历立利 有由又右友游 年念
    人任认仁 国果过 中种重众 家加佳价 时石实识十 生声升省胜 成城程承称 明名命 新心信辛
    东动冬懂 会回汇惠 学雪血 文问闻温 长常场厂 建见件间简 机几计记级及 全权泉 区曲去取
    主住著注助 发法罚 方放房访 高告搞 行形型星 子字自资 军均君 电店点典 路录陆 海害还
    青清轻请 安按岸 南男难 北被备背 县现线限 河和合何 山三散 花画话化 金近今进 语与于雨余
    书术数树属 期其起气七奇 月越约 一以已意医 位为未委 分份
"""
_HOMOPHONES = {mark: group for group in _SAME_SOUND.split() for mark in group}
_HAN = re.compile(r"[\u4e00-\u9fff]")
OWN, SAME_WORDS = "local library", "BM25, same words"
UNANSWERABLE = "dstc10_last"  # last turns alone name neither place nor topic: what they find says nothing of the floor
Ranking = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, questions, and which documents answer them how well."""

    name: str
    documents: Sequence[tuple[str, str, str]]
    queries: Sequence[tuple[str, str]]
    judgements: Mapping[str, Mapping[str, int]]


def misheard(question: str, seed: str, share: float = 0.2) -> str:
    """``question`` with about ``share`` of its words disturbed; the same for the same seed."""
    choose = random.Random(seed)
    if _HAN.search(question):
        return "".join(_other_mark(mark, choose) if choose.random() < share * 2 else mark for mark in question)
    said: list[str] = []
    for word in question.lower().split():
        if choose.random() >= share:
            said.append(word)
        elif said and choose.random() < 0.15:
            said[-1] += word
        else:
            said.append(_disturbed(word, choose))
    return " ".join(said)


def _other_mark(mark: str, choose: random.Random) -> str:
    others = _HOMOPHONES.get(mark, "").replace(mark, "")
    return choose.choice(others) if others else mark


def _disturbed(word: str, choose: random.Random) -> str:
    if word.isdigit():
        return " ".join(_DIGITS[int(digit)] for digit in word)
    for written, heard in choose.sample(_SUBSTITUTIONS, 4):
        if written in word:
            return word.replace(written, heard, 1)
    if len(word) > 5 and choose.random() < 0.5:
        cut = choose.randrange(2, len(word) - 2)
        return f"{word[:cut]} {word[cut:]}"
    cut = choose.randrange(1, len(word) - 1) if len(word) > 3 else 0
    return word[:cut] + word[cut + 1 :] if cut else word


class WholeText:
    """One document, one passage, as the collections judge them."""

    def extract(self, path: str, content: bytes, source_content_hash: str) -> tuple[ExtractedText, str]:
        title, text = content.decode().split("\n", 1)
        segments = (Segment(0, SegmentKind.PARAGRAPH, text),)
        return ExtractedText(source_content_hash, "whole-1", title, segments), "text/plain"

    def close(self) -> None:
        return None


def loaded(folder: Path, name: str, most_queries: int = 1_000_000, half: str = "report") -> Collection:
    """A collection with at most ``most_queries`` of the questions of one half, spread over all of them."""
    with gzip.open(folder / f"{name}.json.gz") as file:
        raw = json.load(file)
    judged = [(key, text) for key, text in raw["queries"] if raw["qrels"].get(key)]
    asked = judged[HALVES[half] :: 2]
    spread = asked[:: max(1, len(asked) // most_queries)][:most_queries]
    return Collection(name, [tuple(one) for one in raw["docs"]], spread, raw["qrels"])


def handbook() -> Collection:
    """The example handbook, asked for by its own headings."""
    documents, queries, judgements = [], [], {}
    for path in sorted(HANDBOOK.glob("*.md")):
        title, _, text = path.read_text(encoding="utf-8").partition("\n")
        documents.append((path.name, title.strip("# "), text))
        for heading in (line.strip("# ") for line in text.split("\n") if line.startswith("## ")):
            key = f"{path.name}:{heading}"
            queries.append((key, f"{title.strip('# ')} {heading}"))
            judgements[key] = {path.name: 1}
    return Collection("handbook", documents, queries, judgements)


def library_of(collection: Collection, store: Path) -> DomainLibrary:
    library = DomainLibrary(store, extractor=WholeText(), floor=0.0)
    library.import_many((f"/{key}", f"{title}\n{text or title}".encode()) for key, title, text in collection.documents)
    return library


def ranked_by(library: DomainLibrary) -> Ranking:
    def rank(query: str) -> list[str]:
        return list(dict.fromkeys(one.passage.path[1:] for one in library.search(query, limit=DEPTH, per_document=1)))

    return rank


def bm25_of(collection: Collection, words: Callable[[str], list[str]] | None) -> Ranking:
    import bm25s

    texts = [text if text.startswith(title) else f"{title} {text}" for _, title, text in collection.documents]
    retriever = bm25s.BM25()
    tokens = [words(text) for text in texts] if words else bm25s.tokenize(texts, show_progress=False)
    retriever.index(tokens, show_progress=False)

    def rank(query: str) -> list[str]:
        asked = [words(query)] if words else bm25s.tokenize([query], show_progress=False)
        try:
            found, scores = retriever.retrieve(asked, k=DEPTH, show_progress=False)
        except ValueError:  # no word of the question is known
            return []
        return [collection.documents[n][0] for n, score in zip(found[0], scores[0], strict=True) if score > 0]

    return rank


def plain_words(text: str) -> list[str]:
    return [term.token if term.unspaced else term.word for term in terms(text)]


def scores(rank: Ranking, collection: Collection, queries: Sequence[tuple[str, str]]) -> tuple[float, ...]:
    """Means of nDCG@10 and recall@1, @5, @20 over ``queries``."""
    sums = [0.0] * 4
    for key, text in queries:
        relevant = {document: grade for document, grade in collection.judgements[key].items() if grade > 0}
        found = rank(text)
        sums[0] += _ndcg(found, relevant)
        for position, depth in enumerate((1, 5, 20), start=1):
            sums[position] += len(relevant.keys() & set(found[:depth])) / min(len(relevant), depth)
    return tuple(total / len(queries) for total in sums)


def _ndcg(found: Sequence[str], relevant: Mapping[str, int]) -> float:
    def gain(grades: Sequence[int]) -> float:
        return sum(float(2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades[:10]))

    best = gain(sorted(relevant.values(), reverse=True))
    return gain([relevant.get(document, 0) for document in found]) / best if best else 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """How many questions had any answer above a floor: the collection's own, clean and misheard, and foreign ones."""

    clean: Sequence[bool]
    misheard: Sequence[bool]
    foreign: Sequence[bool]


def answered(store: Path, floor: float, collection: Collection, foreign: Sequence[str]) -> Answered:
    with DomainLibrary(store, extractor=WholeText(), floor=floor) as library:
        return Answered(
            [bool(library.search(text, limit=1)) for _, text in collection.queries],
            [bool(library.search(misheard(text, key), limit=1)) for key, text in collection.queries],
            [bool(library.search(text, limit=1)) for text in foreign],
        )


def measured(collection: Collection, others: Sequence[Collection]) -> tuple[dict[str, list[float]], list[Answered]]:
    """The figures of each engine, clean and at each level of noise, and what each floor lets through."""
    levels = [collection.queries]
    levels += [[(key, misheard(text, key, share)) for key, text in collection.queries] for share in NOISE]
    foreign = [text for one in others if _are_strangers(one, collection) for _, text in one.queries[:80]]
    with tempfile.TemporaryDirectory() as store:
        with library_of(collection, Path(store)) as library:
            engines = {
                OWN: ranked_by(library),
                SAME_WORDS: bm25_of(collection, plain_words),
                "bm25s as it comes": bm25_of(collection, None),
            }
            figures = {
                name: [cell for level in levels for cell in scores(rank, collection, level)]
                for name, rank in engines.items()
            }
        return figures, [answered(Path(store), floor, collection, foreign) for floor in FLOORS]


def main(data: Path | None, most_queries: int, half: str) -> None:
    """Print a table of rankings, one of what they gain over BM25, and one of the floor."""
    known = [name for name in NAMES if data is not None and (data / f"{name}.json.gz").exists()]
    if not known:
        print("No judged collections were given with --data; measured on the example handbook alone.\n")
    collections = [loaded(data, name, most_queries, half) for name in known if data is not None] or [handbook()]
    noisy = "".join(f" {share:.0%} misheard nDCG@10 | R@1 | R@5 | R@20 |" for share in NOISE)
    print(f"| collection | engine | nDCG@10 | R@1 | R@5 | R@20 |{noisy}")
    print(f"|---|---|{'---:|' * 4 * (1 + len(NOISE))}")
    gains, floors = [], {}
    for collection in collections:
        others = [one for one in collections if one is not collection]
        figures, floors[collection.name] = measured(collection, others)
        for name, cells in figures.items():
            print(f"| {collection.name} | {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |", flush=True)
        gains.append(_gains(collection.name, figures))
    print(f"\n| nDCG@10 against the better BM25 | clean | {' | '.join(f'{share:.0%} misheard' for share in NOISE)} |")
    print("\n".join([f"|---|{'---:|' * (1 + len(NOISE))}", *gains]))
    print("\n| collection | floor | false rejects | of 20% misheard | false accepts of foreign questions |")
    print("|---|---:|---:|---:|---:|")
    for name, at_each in floors.items():
        print("\n".join(_floor_line(name, floor, one) for floor, one in zip(FLOORS, at_each, strict=True)))
    for place, floor in enumerate(FLOORS):
        print(_floor_line("together", floor, _pooled({name: at_each[place] for name, at_each in floors.items()})))


def _pooled(at_one_floor: Mapping[str, Answered]) -> Answered:
    own = [one for name, one in at_one_floor.items() if name != UNANSWERABLE]
    return Answered(
        [known for one in own for known in one.clean],
        [known for one in own for known in one.misheard],
        [known for one in at_one_floor.values() for known in one.foreign],
    )


def _gains(name: str, figures: Mapping[str, Sequence[float]]) -> str:
    """Relative gain over the better peer, and the share of that peer's remaining error that is gone."""
    cells = []
    for place in range(0, 4 * (1 + len(NOISE)), 4):
        own = figures[OWN][place]
        peer = max(cells[place] for engine, cells in figures.items() if engine != OWN)
        cells.append(f"{own / peer - 1:+.1%}, error {(peer - own) / (1 - peer):+.0%}" if 0 < peer < 1 else "")
    return f"| {name} | {' | '.join(cells)} |"


def _floor_line(name: str, floor: float, one: Answered) -> str:
    rejected = [1 - _share(found) for found in (one.clean, one.misheard)]
    return f"| {name} | {floor:.2f} | {rejected[0]:.3f} | {rejected[1]:.3f} | {_share(one.foreign):.3f} |"


def _share(found: Sequence[bool]) -> float:
    return sum(found) / max(1, len(found))


def _are_strangers(left: Collection, right: Collection) -> bool:
    """Whether the questions of one have no answer in the other (XQuAD is one text in several languages)."""
    return not (left.name.startswith("xquad") and right.name.startswith("xquad"))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path)
    arguments.add_argument("--queries", type=int, default=300)
    arguments.add_argument("--half", choices=HALVES, default="report")
    chosen = arguments.parse_args()
    main(chosen.data, chosen.queries, chosen.half)
