"""The control words of RTF that matter for its text: characters, character sets, and groups that hold no text."""

from collections.abc import Mapping

CHARACTERS: Mapping[str, str] = {
    "tab": " ",
    "line": "\n",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "zwj": "\u200d",
    "zwnj": "\u200c",
    "~": " ",
    "_": "-",
    "-": "",
    "\n": "\n",
    "\\": "\\",
    "{": "{",
    "}": "}",
}
CHARSETS: Mapping[int, str] = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
ENCODINGS: Mapping[str, str] = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
# Groups without text of the document, and what is said of them where that matters to people.
LEFT_OUT: Mapping[str, str] = {
    **dict.fromkeys(("pict", "nonshppict", "objdata"), "Pictures were left out."),
    **dict.fromkeys(
        ("header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf"),
        "Page headers and footers were left out.",
    ),
    **dict.fromkeys(("annotation", "atnauthor", "atnid"), "Comments were left out."),
    **dict.fromkeys(("colortbl", "fldinst", "listtext", "pntext", "sn", "sv", "sp", "objclass", "themedata"), ""),
}
READ_THOUGH_STARRED = frozenset({"shpinst", "shptxt", "footnote", "nesttableprops"})

__all__ = ["CHARACTERS", "CHARSETS", "ENCODINGS", "LEFT_OUT", "READ_THOUGH_STARRED"]
