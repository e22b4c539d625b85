"""The text rules: nothing hidden stays, nothing visible goes, a cut never breaks a character."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from gateway.text import clean_text, cut_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)
AWKWARD = st.text(
    st.sampled_from(
        "aé的 \n.。क्ष"
        "\u200d\u200c\u200b\ufe0f👩🏽🚀🇩🇪🏴\U000e0067\U000e0062\U000e007f\u0301\u202e\ud83d\ude00\rᠮ\u180e\u180b\u06001#"
    ),
    max_size=80,
)

NEEDED = {
    "Persian with a joiner": "می\u200cخواهم کتاب\u200cها",
    "Hindi with a joiner": "क्\u200dष और क्\u200cष",
    "Malayalam final joiner": "അവന്\u200d വന്നു",
    "heart with its colour": "❤\ufe0f",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "astronaut with a skin tone": "👩🏽\u200d🚀",
    "rainbow flag": "🏳\ufe0f\u200d🌈",
    "keycap": "1\ufe0f\u20e3",
    "flag of England": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "flag of Scotland": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "flag of Wales": "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "flag of Germany": "🇩🇪",
    "Mongolian vowel separator": "ᠬᠠᠷ\u180eᠠ",
    "Vietnamese, decomposed": "Tie\u0302\u0301ng Vie\u0323\u0302t",
    "Hebrew with points": "שָׁלוֹם",
    "Thai": "ภาษาไทยน้ำ",
    "Korean": "한국어 문서",
    "Chinese": "发布手册,第三章。",
    "Arabic number sign": "\u06dd١",
    "tabs and lines": "a\tb\n\nc",
    "replacement character": "a\ufffdb",
}

HIDDEN = {
    "tag characters": ("A\U000e0041\U000e0042\U000e0043B", "AB"),
    "tags behind a flag that does not exist": ("🏴\U000e0075\U000e0073\U000e007f", "🏴"),
    "a flag cut short": ("🏴\U000e0067\U000e0062\U000e0065", "🏴"),
    "variation selectors as bytes": ("a\ufe00\ufe01\U000e0100\U000e01efb", "ab"),
    "a second selector": ("❤\ufe0f\ufe0f\ufe0e", "❤\ufe0f"),
    "selector without an emoji": ("x\ufe0f", "x"),
    "zero-width spaces": ("pass\u200bw\u2060ord\ufeff", "password"),
    "joiners in Latin": ("a\u200db\u200cc", "abc"),
    "two joiners": ("क\u200d\u200dष", "कष"),
    "joiner behind an emoji": ("😀\u200dx", "😀x"),
    "right-to-left override": ("exe.\u202egnp", "exe.gnp"),
    "isolates and marks": ("\u2066a\u2069\u200e\u200f\u061cb", "ab"),
    "controls": ("a\x00b\x07c\x1b[31md\x7f\x9b", "abc[31md"),
    "soft hyphen": ("hand\u00adbook", "handbook"),
    "fillers": ("a\u3164\u115f\u1160\uffa0\u034f\u17b4b", "ab"),
    "interlinear notes": ("a\ufff9b\ufffac\ufffb", "abc"),
    "a joiner beside a selector that goes": ("\u0600\u200c\u180b", "\u0600"),
    "a Mongolian selector without a letter": ("\u180e a\u180b", " a"),
    "invisible operators": ("a\u2061b\u2062c\u2064", "abc"),
    "private use": ("a\ue000\U000f0000\U0010fffdb", "ab"),
    "noncharacters": ("a\ufffe\uffff\ufdd0b", "ab"),
    "lone surrogates": ("a\ud800b\udfffc", "abc"),
    "surrogates the wrong way round": ("\ude00\ud83d", ""),
    "line ends of every kind": ("a\r\nb\rc\x0bd\x0ce\u2028f\u2029g\x85h", "a\nb\nc\nd\ne\nf\ng\nh"),
    "a tag out of two surrogates": ("a\udb40\udc41b", "ab"),
}


@pytest.mark.parametrize("text", NEEDED.values(), ids=NEEDED.keys())
def test_characters_that_scripts_and_emoji_need_stay(text: str) -> None:
    """Joiners, selectors and marks that change what a reader sees come back untouched."""
    assert clean_text(text) == text


@pytest.mark.parametrize(("text", "seen"), HIDDEN.values(), ids=HIDDEN.keys())
def test_characters_that_nobody_sees_go(text: str, seen: str) -> None:
    """What has no visible form cannot carry a message to the model."""
    assert clean_text(text) == seen


def test_a_surrogate_pair_becomes_its_character() -> None:
    """Two halves that stand together are one emoji, not two errors."""
    assert clean_text("\ud83d\ude00!") == "😀!"


def test_clean_text_comes_back_as_the_same_object() -> None:
    """Text without hidden characters costs one scan and no copy."""
    for text in ("The handbook, page 3.\n" * 100, "发布手册 ❤ é" * 100):
        assert clean_text(text) is text


@given(ANY_TEXT | AWKWARD)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    """Cleaning is stable for every text there is."""
    once = clean_text(text)
    assert clean_text(once) == once


@given(ANY_TEXT | AWKWARD)
def test_clean_text_can_always_be_encoded(text: str) -> None:
    """No unpaired surrogate is left to break the socket, and nothing hidden is left to read."""
    clean = clean_text(text)
    clean.encode()
    assert not regex.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\U000e0000\U000e0001]", clean
    )


@given(ANY_TEXT | AWKWARD, st.integers(0, 90))
def test_a_cut_keeps_its_limit_and_says_so(text: str, limit: int) -> None:
    """What is cut is a beginning of the text within the limit, and is disclosed."""
    cut, was_cut = cut_text(text, limit)
    assert len(cut) <= limit or not was_cut
    assert was_cut == (len(text) > limit)
    assert was_cut or cut == text


@given(AWKWARD.map(clean_text), st.integers(1, 60))
def test_a_cut_of_clean_text_is_clean(text: str, limit: int) -> None:
    """A joiner never dangles at the end of a cut, so that cleaning the cut changes nothing."""
    cut, _ = cut_text(text, limit)
    assert clean_text(cut) == cut


@given(
    st.lists(st.sampled_from(["👨\u200d👩\u200d👧", "e\u0301\u0323", "क्षि", "🇩🇪", "한", "x", " "]), min_size=1),
    st.integers(6, 50),
)
def test_a_cut_never_falls_inside_a_character(graphemes: list[str], limit: int) -> None:
    """Emoji, combining sequences, conjuncts and flags are whole or gone."""
    text = "".join(graphemes)
    whole = regex.findall(r"\X", text)
    cut, _ = cut_text(text, limit)
    ends = {len("".join(whole[:count]).rstrip()) for count in range(len(whole) + 1)} | {len(text)}
    assert len(cut) in ends


def test_a_cut_falls_behind_a_sentence_that_ends_near() -> None:
    """The listener hears whole sentences where that costs little."""
    assert cut_text("One is here. Two is here. Three", 28) == ("One is here. Two is here.", True)
    assert cut_text("第一句在这里。第二句在这里。第三", 15) == ("第一句在这里。第二句在这里。", True)


def test_a_cut_falls_behind_a_word_when_no_sentence_ends_near() -> None:
    """Half a word is not read aloud."""
    assert cut_text("alpha beta gamma delta", 18) == ("alpha beta gamma", True)


def test_a_number_with_a_point_is_not_the_end_of_a_sentence() -> None:
    """A full stop counts only where white space follows."""
    assert cut_text("The price is 3.50 euros today", 20) == ("The price is 3.50", True)


def test_a_text_of_one_endless_character_is_cut_all_the_same() -> None:
    """A letter under ten thousand accents cannot break the bound."""
    cut, was_cut = cut_text("a" + "\u0301" * 10_000, 100)
    assert (len(cut), was_cut) == (100, True)


@pytest.mark.timeout(10)
def test_a_hundred_thousand_flags_are_cut_between_two() -> None:
    """Flags pair up from the start of their run, and a long run costs no more for each of them."""
    cut, _ = cut_text("🇩🇪" * 100_000, 120_001)
    assert cut == "🇩🇪" * 60_000


def test_a_joiner_goes_with_the_letter_it_joined() -> None:
    """Behind a cut there is nothing left to join."""
    assert cut_text("می\u200cخواهم", 3) == ("می", True)
    assert cut_text("ᠬᠠᠷ\u180eᠠ", 4) == ("ᠬᠠᠷ", True)
