"""Which language a text is in, as far as its stemmer must know, and which words say little by themselves."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import regex

_FUNCTION_WORDS: Mapping[str, str] = {
    "english": """a about all also am an and any are as at be been being but by can could did do does doing for
        from get got had has have having he her here him his how i if in into is it its just know let
        like many may me might mine more most much must my need no nor not now of off on once one only or
        other our out over please shall she should so some such tell than that the their them then there
        these they this those to too up us very want was we were what when where which while who whom
        whose why will with would you your yours ok okay yes hi hello hey thanks thank um uh oh well
        really s t m re ve ll d don doesn didn isn aren wasn won can't cannot""",
    "german": """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der
        des die dies diese dieser dieses doch du durch ein eine einem einen einer eines er es für gibt
        hat hatte haben ich ihr ihre im in ist ja kann kein keine man mein mich mir mit muss nach nicht
        noch nur ob oder sein seine sich sie sind so über um und uns unser unter viel viele vom von vor
        wann war waren warum was welche welcher welches wem wen wenn wer werden wie wieviel wird wo wurde
        wurden zu zum zur bitte""",
    "french": """à ai aller alors au aux avec avez avoir bien c ce ces cet cette ceux chez comme comment d dans de
        des du elle elles en encore est et était être fait il ils j je l la le les leur leurs lui m ma
        mais me même mes moi mon n ne non nos notre nous on ont ou où par pas plus pour pourquoi qu quand
        que quel quelle quelles quels qui quoi s sa sans se ses si son sont sur ta te tes toi ton tous
        tout très tu un une vos votre vous y été""",
    "spanish": """a al algo como cómo con cual cuál cuáles cuando cuándo cuánto cuántos de del desde donde dónde el
        él ella ellos en entre era es esa ese eso esta está están este esto estos fue fueron ha han hasta
        hay la las le les lo los más me mi mis mucho muy no nos o para pero por porque qué que quien
        quién se ser si sí sin sobre son su sus también te tiene tu tú un una uno unos y ya yo""",
    "italian": """a ad ai al alla alle allo anche che chi ci come con cosa cui da dal dalla dei del della delle di
        dove è e ed era essere fa gli ha hanno i il in io la le lo loro ma mi molto nel nella nei non o
        per perché più qual quale quali quando quanti quanto questa questo se si sia sono su sua sul suo
        tra un una uno""",
    "portuguese": """a à ao aos as às até com como da das de do dos e é ela ele em entre era essa esse esta este eu
        foi foram há isso já mais mas me muito na nas não no nos o os ou para pela pelo por qual quais
        quando quanto que quem são se sem ser seu sua também tem um uma você""",
    "dutch": """aan al als bij dan dat de den der deze die dit door een en er ge geen haar had heb hebben heeft
        het hij hoe hun ik in is je kan maar met mijn na naar niet nog of om onder ook op over te tot uit
        van veel voor waar waarom wanneer was wat we welke werd wie wij worden wordt ze zich zijn zo zou""",
    "swedish": """alla är att av blev de dem den det dig du efter ej en ett för från ha hade han har hon hur i inte
        jag kan man med mellan men mig mot när någon och om på sig sin som så till under upp ut vad var
        varför vem vi vid vilka vilken är""",
    "danish": """af alle at blev da de dem den der det dig du efter eller en er et for fra han har havde hun hvad
        hvem hvilken hvilket hvor hvordan hvorfor i ikke jeg kan man med men mig mod nu når og om op over
        på sig sin som så til ud under var ved vi""",
    "norwegian": """alle at av ble de deg dem den det du eller en er et etter for fra få ha hadde han har hun hva
        hvem hvilken hvor hvordan hvorfor i ikke jeg kan man med men meg mot nå når og om opp over på seg
        sin som så til ut under var ved vi""",
    "finnish": """ei että en hän he ja jos joka kuin kuka kun me mikä mitä miten millä missä miksi milloin minä
        mutta ne niin nyt ole oli on ovat se sen sinä tai tämä te vai voi""",
    "hungarian": """a az és egy hogy nem is de ha van volt mint csak már meg ki mi mit mikor hol miért hogyan melyik
        ez ezt azt lesz vagy""",
    "romanian": """a ai al ale am ar are au ca care ce cel cu cum când câte câți de din după este eu fi fost în într
        îl la le lui mai nu o pe pentru prin sau se sunt și un una unde unei unui""",
    "turkish": """acaba ama bana bazı ben bir biz bu çok da daha de değil diye en gibi hangi hangisi için ile ise
        kaç kadar ki kim mi mı mu mü nasıl ne neden nedir nerede niçin o olan olarak oldu olduğu sen siz
        şu ve veya ya""",
    "russian": """а без был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть
        ещё же за здесь и из или им их к как какая какие какой какое ко когда кто ли мне может мы на над
        не него нет ни но о об он она они оно от очень по под при с сколько со так также такой там то
        того только ты у уже чего чем что чтобы эта эти это этот я""",
    "greek": """από για δεν είναι εκ ένα ένας η ήταν θα και κατά με μια μία να ο οι ότι πότε πού πως πώς πόσα
        πόσο ποια ποιο ποιος σε στη στην στις στο στον στους στα τα τη την της τι τις το τον του τους των
        ως""",
    "arabic": """أن إلى إن أو التي الذي في كان كانت كم كيف لا لم لماذا ما ماذا متى من هذا هذه هل هو هي و أين أي عن
        على مع بين تم ذلك قد""",
    "hindi": """का की के को से में है हैं और या पर था थी थे कि क्या कब कहाँ कौन कौनसा किस कितने कितना ने यह वह इस
        उस एक नहीं भी तो ही लिए""",
}

_UNSPACED_STOP_TEXT = """
    的 了 是 在 和 吗 呢 吧 啊 我 你 他 她 它 们 这 那 有 就 都 也 很 请 问 么 什 怎 哪 谁 几 多 少 何
    什么 怎么 哪些 哪里 哪个 哪年 多少 几个 为什 如何 是否 可以 我们 你们 他们 这个 那个 一个 以及 或者 因为 所以
    请问 告诉 一下 是什 的是 是谁 谁是 在哪 有哪 有什 是哪 是多 么时 时候 么样 怎样 が の は を に へ と で も
    か です ます した して する ある いる こと もの これ それ どの なに なん 何で でし ました ですか ますか すか
"""
UNSPACED_STOP = frozenset(_UNSPACED_STOP_TEXT.split())
"""Characters and pairs of unspaced scripts that carry grammar or a question, not a topic."""

STOP_WORDS = frozenset(word for words in _FUNCTION_WORDS.values() for word in words.split())

_SCRIPT_LANGUAGES = (
    (regex.compile(r"\p{Cyrillic}"), "russian"),
    (regex.compile(r"\p{Greek}"), "greek"),
    (regex.compile(r"\p{Arabic}"), "arabic"),
    (regex.compile(r"\p{Devanagari}"), "hindi"),
    (regex.compile(r"\p{Armenian}"), "armenian"),
    (regex.compile(r"\p{Tamil}"), "tamil"),
)
_LATIN_WORDS = regex.compile(r"\p{Latin}+")
_LATIN_LANGUAGES = tuple(
    (language, frozenset(words.split()))
    for language, words in _FUNCTION_WORDS.items()
    if language not in ("russian", "greek", "arabic", "hindi")
)
_LOOK_AT_CHARACTERS = 2_000


def detected_language(text: str) -> str:
    """The Snowball name of the language whose function words ``text`` (lower case) uses most; English when in doubt."""
    sample = text[:_LOOK_AT_CHARACTERS]
    latin = _LATIN_WORDS.findall(sample)
    for script, language in _SCRIPT_LANGUAGES:
        if len(script.findall(sample)) > sum(map(len, latin)):
            return language
    hits = [(sum(word in words for word in latin), language) for language, words in _LATIN_LANGUAGES]
    best = max(hits, key=lambda hit: hit[0])
    return best[1] if best[0] else "english"


def folded_han(text: str) -> str:
    """``text`` with traditional Chinese characters written in their simplified form."""
    if text.isascii() or not _traditional().search(text):
        return text
    return text.translate(_simplified())


@lru_cache(maxsize=1)
def _traditional() -> re.Pattern[str]:
    """Finds any character that may need folding; those beyond the basic plane apart, since one set of all is slow."""
    basic = "".join(chr(mark) for mark in _simplified() if mark < 0x10000)
    return re.compile(f"[{basic}]|[\U00020000-\U0003ffff]")


@lru_cache(maxsize=1)
def _simplified() -> dict[int, str]:
    lines = (Path(__file__).parent / "simplified.txt").read_text(encoding="utf-8").splitlines()
    pairs = "".join(line for line in lines if not line.startswith("#"))
    return dict(zip(map(ord, pairs[::2]), pairs[1::2], strict=True))


__all__ = ["STOP_WORDS", "UNSPACED_STOP", "detected_language", "folded_han"]
