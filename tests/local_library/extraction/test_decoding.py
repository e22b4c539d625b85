"""Encodings told from bytes alone, in the languages that people use them for."""

import pytest

from local_library.extraction.decoding import decoded
from local_library.extraction.limited import LimitedExtractor

SENTENCES = {
    "shift_jis": "従業員は毎年十五日の有給休暇を取得できます。病気休暇には診断書が必要です。",
    "euc_jp": "従業員は毎年十五日の有給休暇を取得できます。病気休暇には診断書が必要です。",
    "iso2022_jp": "従業員は毎年十五日の有給休暇を取得できます。",
    "gb18030": "每位员工每年享有十五天带薪年假，病假需要医生证明。请在系统里提前两周申请。",
    "big5": "每位員工每年享有十五天帶薪年假，病假需要醫生證明。請在系統裡提前兩週申請。",
    "euc_kr": "모든 직원은 매년 십오 일의 유급 휴가를 받습니다. 병가에는 진단서가 필요합니다.",
    "koi8_r": "Каждому сотруднику полагается отпуск. Больничный лист подписывает врач поликлиники.",
    "cp1251": "Каждому сотруднику полагается отпуск. Больничный лист подписывает врач поликлиники.",
    "cp1252": "Jeder bekommt fünfzehn Tage Urlaub für das Jahr, und die Änderung prüft der Büroleiter.",
    "cp1250": "Każdy ma piętnaście dni urlopu, a zaświadczenie jest potrzebne, jak nie ma go w domu. Że",
    "iso8859_2": "Každý má patnáct dní dovolené, a na lékařské potvrzení se čeká, když je doma. Též to možné je.",
    "cp1254": "Her çalışan bir yıl için on beş gün izin alır ve bu izin daha sonra da kullanılır, gibi değil şu.",
    "cp1253": "Κάθε υπάλληλος έχει δεκαπέντε ημέρες άδεια. Η άδεια ασθενείας θέλει ιατρική βεβαίωση.",
    "cp1255": "כל עובד מקבל חמישה עשר ימי חופשה בשנה. חופשת מחלה דורשת אישור רופא.",
    "cp1256": "يحصل كل موظف على خمسة عشر يوما من الإجازة في السنة. تتطلب الإجازة المرضية شهادة طبيب.",
    "utf-16-le": "Jeder bekommt fünfzehn Tage Urlaub.",
    "utf-16-be": "Každý má patnáct dní dovolené.",
    "utf-32-le": "Fifteen days for everybody.",
    "utf-32-be": "Fifteen days for everybody.",
}


@pytest.mark.parametrize("encoding", SENTENCES)
def test_text_without_a_mark_is_read_in_its_encoding(encoding: str) -> None:
    """Line ends become one kind, and nothing is lost."""
    sentence = SENTENCES[encoding]
    text, _ = decoded(f"{sentence}\r\n{sentence}\r\n".encode(encoding))
    assert text == f"{sentence}\n{sentence}\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_is_believed_and_is_no_text(encoding: str) -> None:
    """The byte order mark does not end up in the first word."""
    assert decoded("Ёж".encode(encoding))[0] == "Ёж"


def test_wide_text_is_no_binary_file(extractor: LimitedExtractor) -> None:
    """Zero bytes alone do not make a program of a text; a program stays refused."""
    text = extractor.extract("a.txt", "Fünfzehn Tage.".encode("utf-16-le"), "hash")[0]
    assert text.segments[0].text == "Fünfzehn Tage."
    assert not decoded(b"\x7fELF\x02\x01\x01" + b"\x00" * 64 + b"\x01\x02" * 99)[1].startswith("utf-16")


def test_a_declaration_counts_in_markup_alone() -> None:
    """A plain text that talks about encodings is not read in the one it names."""
    content = "charset=koi8-r: Jeder bekommt fünfzehn Tage Urlaub, und die Änderung ist für das Jahr.".encode("cp1252")
    assert "fünfzehn" in decoded(content)[0]
    assert "fünfzehn" not in decoded(content, is_markup=True)[0]
