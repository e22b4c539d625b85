"""What a query looks for within its budget, and how a passage is judged; and that queries of every kind find."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_library import DomainLibrary
from local_library.matching import (
    BODY_POSTINGS,
    HEAD_POSTINGS,
    NOISE_POSTINGS,
    QueryPlan,
    judged,
    named_in,
    planned,
)
from local_library.tokens import Held

MILLION = 1_000_000
FEWEST, MOST = 4, 48


def counting(counts: dict[str, int], *, others: int = 0, field: str = "body") -> Callable[[str, str], int]:
    """Frequencies in one field; every other token stands in ``others`` passages, in every field."""
    return lambda asked, token: counts.get(token, others) if asked == field or others else 0


def plan_of(query: str, *, passages: int = 1_000, frequency: int = 3) -> QueryPlan:
    return planned(query, ["english"], lambda _field, _token: frequency, passages)


def spent(plan: QueryPlan, fields: tuple[str, ...], frequency: Callable[[str, str], int]) -> tuple[int, int]:
    """How many postings the terms of some fields ask for, and how many terms they are."""
    chosen = [term for term in plan.wanted if term.field in fields]
    return sum(frequency(term.field, term.token) for term in chosen), len(chosen)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["crane", "harbour", "rope", "lamp", "quay", "the", "of", "年假", "政策", "урок"]), max_size=80
    ),
    st.lists(st.integers(1, MILLION), min_size=7, max_size=7),
)
def test_no_query_spends_more_than_its_budget(words: list[str], counts: list[int]) -> None:
    """Postings stay within the budget of each kind, however long the query: more only for the four rarest terms."""

    def frequency(field: str, token: str) -> int:
        return counts[sum(map(ord, field + token)) % len(counts)]

    plan = planned(" ".join(words), ["english", "german"], frequency, MILLION)
    kinds = ((("body",), BODY_POSTINGS), (("gram", "phon"), NOISE_POSTINGS), (("head",), HEAD_POSTINGS))
    for fields, budget in kinds:
        postings, terms = spent(plan, fields, frequency)
        assert terms <= FEWEST or (postings <= budget and terms <= MOST)


def test_a_long_conversation_keeps_all_its_telling_words() -> None:
    """A hundred spoken words are not pruned to the rarest few: what the talk is about stays, rare or not."""
    topics = [f"topic{number}" for number in range(30)]
    talk = " ".join(f"so could you then tell me about the {topic} please" for topic in topics)
    plan = planned(talk, ["english"], counting(dict.fromkeys(topics, 2_000) | {"the": 900_000}), MILLION)
    kept = {term.token for term in plan.wanted if term.field == "body"}
    assert set(topics) <= kept
    assert "the" not in kept


def test_only_rare_words_are_looked_for_by_their_grams() -> None:
    """The grams of a word that stands in more than a hundredth of the passages find nothing new and cost the most."""
    counts = {"gearbox": 10_001, "crane": 10_000}
    plan = planned("gearbox crane", ["english"], counting(counts, others=5), MILLION)
    grams = {term.token for term in plan.wanted if term.field == "gram"}
    assert "_cra" in grams
    assert not any(gram in "_gearbox_" for gram in grams)


def test_in_a_small_library_every_word_has_its_grams() -> None:
    """A hundredth of forty passages is no reason to take a word for common."""
    plan = planned("gearbox", ["english"], counting({"gearbox": 20}, others=2), 40)
    assert any(term.field == "gram" for term in plan.wanted)


def test_a_word_weighs_more_the_fewer_passages_hold_it() -> None:
    """The weight is the logarithm that BM25 uses; a word nobody wrote weighs as one that stands once."""
    plan = planned("rare common unheard", ["english"], counting({"rare": 1, "common": 600}), 1_000)
    rare, common, unheard = (word.weight for word in plan.words)
    assert rare == pytest.approx(math.log(1 + 999.5 / 1.5))
    assert common < rare / 5
    assert unheard == rare
    assert plan.weight == rare + common + unheard


def test_a_character_weighs_by_the_passages_that_hold_it() -> None:
    """What is asked for of a pair is each of its characters, the common one less than the rare one."""
    plan = planned("年假", [], counting({"年": 500, "假": 10, "年假": 1}), 1_000)
    assert [(word.word, word.tokens) for word in plan.words] == [("年", ("年假",)), ("假", ("年假",))]
    assert plan.words[0].weight == pytest.approx(math.log(1 + 500.5 / 500.5))
    assert plan.words[1].weight == pytest.approx(math.log(1 + 990.5 / 10.5))


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("The gearbox of the crane takes oil.", 1.0),
        ("The gearbox takes oil.", 2 / 3),
        ("Nothing of it.", 0.0),
        ("The gearbocks of the crain takes oil.", (1 + 2 * 0.8) / 3),
    ],
)
def test_coverage_is_the_share_of_the_question_that_is_there(text: str, covered: float) -> None:
    """Words count by their weight, misheard ones by four fifths of it."""
    plan = plan_of("gearbox crane oil")
    assert judged(plan, Held(text, "english"), 10.0, 0.7).coverage == pytest.approx(covered)


@pytest.mark.parametrize(
    ("text", "covered"), [("The lightkouse.", 0.8), ("The lightbulb.", 0.0), ("The lighthousekeepers.", 0.0)]
)
def test_a_word_is_misheard_when_most_of_its_grams_are_there(text: str, covered: float) -> None:
    """Half of the grams of both together in common, and nearly the same length; a shared beginning is not enough."""
    assert judged(plan_of("lighthouse"), Held(text, "english"), 0.0, 0.5).coverage == pytest.approx(covered)


def test_misheard_words_are_looked_for_only_where_they_decide() -> None:
    """Where the exact words reach the floor, or nothing could, the misheard ones are not counted."""
    plan = plan_of("gearbox crane oil")
    passage = Held("The gearbocks of the crane takes oil.", "english")
    assert judged(plan, passage, 10.0, 0.1).coverage == pytest.approx(2 / 3)
    assert judged(plan, passage, 10.0, 9.9).coverage == pytest.approx(2 / 3)
    assert judged(plan, passage, 10.0, 0.85).coverage > 0.9


def test_a_stronger_match_is_more_relevant() -> None:
    """Half of the strength counts, measured against the best that a passage could get."""
    plan = plan_of("gearbox crane oil grease")
    passage = Held("gearbox crane oil grease", "english")
    weak, strong = judged(plan, passage, 0.0, 0.0), judged(plan, passage, 2.2 * plan.weight, 0.0)
    assert weak.relevance == pytest.approx(1.0)
    assert strong.relevance == pytest.approx(1.5)


def test_few_words_in_common_prove_little() -> None:
    """One heavy word of four makes half of the coverage and still no such relevance; a short question is whole."""
    counts = {"zebrafinch": 1, "live": 300, "nest": 300, "eat": 300}
    plan = planned("zebrafinch live nest eat", ["english"], counting(counts), 1_000)
    one = judged(plan, Held("a zebrafinch", "english"), 0.0, 0.0)
    assert one.coverage > 0.6
    assert one.relevance == pytest.approx(one.coverage * (1 - 0.5 * 3 / 4))
    assert judged(plan_of("zebrafinch"), Held("a zebrafinch", "english"), 0.0, 0.0).relevance == pytest.approx(1.0)


def test_a_long_talk_need_not_be_answered_whole() -> None:
    """Of forty telling words as much as ten weigh is a full answer; of ten, all ten are."""
    talk = " ".join(f"topic{number}" for number in range(40))
    plan, ten = plan_of(talk), plan_of(" ".join(talk.split()[:10]))
    assert plan.weight == pytest.approx(ten.weight)
    half = Held(" ".join(talk.split()[:5]), "english")
    assert judged(plan, half, 0.0, 0.0).coverage == pytest.approx(0.5)
    assert judged(plan, Held(talk, "english"), 1e9, 0.0).coverage == 1.0
    assert judged(plan, Held(talk, "english"), 1e9, 0.0).relevance == pytest.approx(1.5)


def test_two_characters_count_as_a_word() -> None:
    """A Chinese question of sixteen characters is as long as one of eight words: all of it is asked for."""
    plan = planned("潮汐观测站每日更新水位数据报告表", [], lambda _field, _token: 3, 1_000)
    assert plan.weight == pytest.approx(sum(word.weight for word in plan.words))


@pytest.mark.parametrize(
    ("query", "words"), [("gearbox 油", {"gearbox", "油"}), ("gearbox 润油", {"gearbox", "润", "油"})]
)
def test_a_single_character_beside_other_words_is_asked_for(query: str, words: set[str]) -> None:
    """A character of an unspaced script counts alone, or by the pairs that it is part of."""
    assert {word.word for word in plan_of(query).words} == words


def test_a_question_without_words_is_answered_by_nothing() -> None:
    """No word, no weight, no relevance."""
    plan = plan_of("?!")
    assert (plan.words, plan.wanted) == ((), ())
    assert judged(plan, Held("anything", "english"), 5.0, 0.0).relevance == 0.0


def test_a_title_is_named_when_all_its_telling_words_are_asked_for() -> None:
    """Function words of the title need not be said; a title of nothing else is never named."""
    plan = plan_of("what does the crane manual say of oil")
    assert named_in(plan, "The Manual of the Crane", "english")
    assert not named_in(plan, "Crane safety manual", "english")
    assert not named_in(plan, "The", "english")


@pytest.fixture
def shelf(library: DomainLibrary) -> DomainLibrary:
    """Error codes, people and titles that differ in one word."""
    codes = "".join(f"## Code E-{n}\n\nE-{n} means that sensor {n * 3} lost its signal.\n\n" for n in range(1040, 1050))
    people = "## Staff\n\nSiobhan O'Brien leads the Zürich office. Jean-Luc Müller keeps the archive.\n"
    titles = {f"/{n}.md": f"# Handbook of {n}\n\nChapters for everyone.\n" for n in ("sailing", "rowing", "diving")}
    texts = {"/codes.md": f"# Error codes\n\n{codes}", "/people.md": f"# People\n\n{people}", **titles}
    library.import_many((path, text.encode()) for path, text in texts.items())
    return library


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("E-1042", "sensor 3126"),
        ("what does error e 1047 mean", "sensor 3141"),
        ("1044", "sensor 3132"),
        ("O'Brien", "Zürich office"),
        ("who is jean luc muller", "keeps the archive"),
        ("siobhan", "leads the Zürich office"),
        ("Handbook of rowing", "Chapters for everyone"),
    ],
)
def test_codes_names_titles_and_single_words_are_found(shelf: DomainLibrary, query: str, words: str) -> None:
    """The shortest questions that people ask find the one passage that is meant."""
    assert words in shelf.search(query)[0].text


def test_the_exact_title_comes_first(shelf: DomainLibrary) -> None:
    """A question that is a title finds that document, not one with nearly the same."""
    assert shelf.search("Handbook of diving")[0].passage.title == "Handbook of diving"


def test_a_long_talk_finds_what_it_is_about(shelf: DomainLibrary) -> None:
    """A hundred and more words of dialogue around one topic do not hide it."""
    small_talk = "so um well i was just wondering if you could maybe help me out a little bit with this you know " * 5
    talk = f"{small_talk} i met siobhan o'brien at the zurich office {small_talk} who leads it"
    assert len(talk.split()) > 100
    assert "Siobhan O'Brien leads" in shelf.search(talk)[0].text
