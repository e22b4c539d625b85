"""What the index holds of a text, in every script."""

import hashlib
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_library.languages import detected_language, folded_han
from local_library.pinyin import han_sounds
from local_library.tokens import ANALYZER_ID, Held, analysis, grams, normalized, sounds, telling_grams, terms


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ("The reviewers approved releases", "english", ["the", "review", "approv", "releas"]),
        ("Die Häuser der Städte", "german", ["die", "haus", "der", "stadt"]),
        ("новые документы", "russian", ["нов", "документ"]),
        ("हिन्दी में", "hindi", ["हिन्द", "में"]),
        ("年假政策", "english", ["年", "假", "政", "策", "年假", "假政", "政策"]),
        ("ＡＢＣ １２", "english", ["abc", "12"]),
    ],
)
def test_words_are_stemmed_and_unspaced_scripts_give_characters_and_pairs(
    text: str, language: str, tokens: list[str]
) -> None:
    """Each script is cut as it is written."""
    assert analysis(text, language).body.split() == tokens


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("how many reviewers does it need", "english"),
        ("wie viele Tage gibt es und wo", "german"),
        ("combien de jours est-ce que nous avons", "french"),
        ("сколько дней", "russian"),
        ("πόσες ημέρες", "greek"),
        ("quantum flux", "english"),
    ],
)
def test_the_language_is_detected_by_its_function_words(text: str, language: str) -> None:
    """Script and function words decide; English when nothing does."""
    assert detected_language(text) == language


def test_traditional_characters_are_found_by_simplified_ones() -> None:
    """Both write the same tokens."""
    assert folded_han("員工請假規則") == "员工请假规则"
    assert analysis("員工請假").body == analysis("员工请假").body


def test_misheard_words_share_grams_and_sounds() -> None:
    """A word spelt by its sound keeps most of what the index holds of it."""
    assert set(grams("reviewer")) & set(grams("revewer"))
    assert sounds(["phone"]) == sounds(["fone"])
    assert sounds(["hot", "fix"])[-1] == sounds(["hotfix"])[0]
    assert sounds(["hot", "урок", "fix"]) == [*sounds(["hot"]), *sounds(["fix"])]


@pytest.mark.parametrize(
    ("word", "asked"),
    [
        ("reviewer", ("_rev", "evie", "iewe", "wer_")),
        ("planner", ("_pla", "lann", "nner", "ner_")),
        ("cat", ("_cat", "cat_")),
    ],
)
def test_a_query_asks_for_every_second_gram_and_the_last(word: str, asked: tuple[str, ...]) -> None:
    """A short word is asked for by all its grams; each gram asked for is one that the index holds."""
    assert telling_grams(word) == asked
    assert set(asked) <= set(grams(word))


def test_of_an_unspaced_run_the_pairs_say_something_and_the_characters_little() -> None:
    """Characters tell only where they stand alone; grammar never does."""
    assert [(term.word, term.stop) for term in terms("年假")] == [("年", True), ("假", True), ("年假", False)]
    assert [(term.word, term.stop) for term in terms("年 的")] == [("年", False), ("的", True)]


def test_a_passage_tells_by_its_words_without_function_words() -> None:
    """What may have been misheard is looked for among the words that say something."""
    assert Held("The crane and the rope", "english").words == {"crane", "rope"}


def test_korean_words_give_pairs() -> None:
    """Korean particles cling to their word; pairs find it all the same."""
    assert set(grams("휴가는")) & set(grams("휴가"))


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_cut_alike_by_all_three_ways(text: str, other: str) -> None:
    """Index, query and judgement see the same tokens, whatever the text holds."""
    found = terms(text, "english")
    body = [term.token for term in found]
    assert analysis(text, "english").body.split() == body
    assert all(Held(text, "english").holds([term.token], unspaced=term.unspaced) for term in found)
    spaced = {term.token for term in found if not term.unspaced}
    for term in terms(other, "english"):
        assert term.unspaced or Held(text, "english").holds([term.token], unspaced=False) == (term.token in spaced)
    assert not any(" " in token or not token for token in body)


@settings(deadline=None)
@given(st.text(max_size=100))
def test_grams_and_sounds_are_those_of_the_words_that_say_something(text: str) -> None:
    """What is made once for a word is what its grams and its sound are, in the order of the text."""
    words = [term.word for term in terms(text, "english") if not term.unspaced and not term.stop]
    made = analysis(text, "english")
    assert made.gram.split() == [gram for word in words for gram in grams(word)]
    pairs = [term.word for term in terms(text, "english") if term.unspaced]
    assert made.phon.split()[: len(sounds(words))] == sounds(words)
    assert set(made.phon.split()[len(sounds(words)) :]) <= {code for pair in pairs for code in han_sounds(pair)}


@settings(deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=100))
def test_plain_ascii_is_cut_as_any_other_text(text: str) -> None:
    """The fast way for ASCII gives what the general way gives."""
    general = [term.token for term in terms(text + " é", "english")][:-1]
    assert [term.token for term in terms(text, "english")] == general


@settings(deadline=None)
@given(st.text(max_size=100))
def test_normalizing_twice_changes_nothing(text: str) -> None:
    """A normalized text is its own normal form."""
    assert normalized(normalized(text)) == normalized(text)


def test_other_tokens_have_another_name() -> None:
    """Whoever changes what a text gives also changes ANALYZER_ID, so that older indexes are made anew."""
    text = "Twenty-two reviewers approved E-1042. 年假政策与报销流程 ソフトウェア 릴리스 검토 การอนุมัติ новые Häuser मेरा"
    made = "|".join(astuple(analysis(text)))
    assert (ANALYZER_ID, hashlib.sha256(made.encode()).hexdigest()[:12]) == ("tokens-2", "8da13e222e10")
