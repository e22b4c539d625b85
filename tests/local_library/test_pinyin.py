"""How Chinese characters sound, for those that a recognizer mistook."""

import pytest

from local_library import DomainLibrary
from local_library.pinyin import han_sounds


@pytest.mark.parametrize(
    ("written", "heard"),
    [("年假", "念家"), ("四十", "事实"), ("南方", "兰芳"), ("经理", "今里"), ("床前", "窗钱")],
)
def test_characters_that_sound_alike_have_one_sound(written: str, heard: str) -> None:
    """Tones, and sounds that many speakers do not tell apart, make no difference."""
    assert han_sounds(written) == han_sounds(heard)
    assert len(han_sounds(written)) == 1


@pytest.mark.parametrize("run", ["年", "休暇はいつ", "", "ไทย"])
def test_what_is_not_two_chinese_characters_has_no_sound(run: str) -> None:
    """One character sounds like too many others; Japanese reads its characters otherwise."""
    assert han_sounds(run) == []


def test_a_question_of_misheard_characters_finds_its_passage(library: DomainLibrary) -> None:
    """Every second character is another one that sounds alike: index and floor both go by the sound."""
    library.import_many([("/休假.md", "# 休假\n\n每位员工每年有十五天年假。\n".encode())])
    assert library.search("元工每念有多少天念假")[0].locator == "/休假.md#休假"
