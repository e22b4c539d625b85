"""Words that carry nothing of what is asked, and those that say what kind of answer is wanted. Data, not rules.

English, German, French, Spanish, Chinese and Japanese. A language that is not here loses hits, never correctness:
its small words count as content, so fewer queries are found to be alike.
"""

import re

_ENGLISH = (
    "a about all many much also am an and any are as at be been being but by can could did do does doing done for "
    "from get had has have having he her here him his how i if in into is it its let like may me might must my of "
    "okay on one or our please shall she should so some such tell than that the their them then there these they "
    "thing this those to uh um us was we were what when where which who whom whose why will with would you your "
    "know find look up give show want need "
)
_GERMAN = (
    "aber als am an auch auf aus bei bin bis das dass dem den der des die dies diese dieser dieses ein eine einem "
    "einen einer eines er es für gab gibt hat hatte hatten haben ich ihr ihre im in ist kann man mir mit nach "
    "oder sein seine sich sie sind so über um und uns unter viel viele vom von vor war waren was welche welchem "
    "welchen welcher welches wann warum wer wem wen weshalb wessen wie wieso wird wo wodurch womit woher wohin "
    "wurde wurden zu zum zur "
)
_FRENCH = (
    "au aux avec ce ces cette dans de des du elle en est et il la le les leur on ou par pas pour qu que quel "
    "quelle quels quelles qui sa se ses son sont sur un une vous nous combien quand où pourquoi comment "
)
_SPANISH = (
    "al con cual cuales cuando cuanto cuantos como de del donde el ella en es esta este la las lo los para por "
    "porque que quien se sin son su sus un una y "
)
FUNCTION_WORDS = frozenset((_ENGLISH + _GERMAN + _FRENCH + _SPANISH).split())
FUNCTION_CHARACTERS = re.compile(
    "请问|麻烦|需要|要求|告诉我|想知道|是什么|什么时候|为什么|什么|怎么样|怎么|如何|哪一年|哪一个|哪个|哪些|哪里|哪儿|哪|谁|多少|多久|多大|多长|"
    "几个|几|是否|有没有|可以|一下|吗|呢|吧|啊|呀|的|了|是|在|有|被|由|于|和|与|或|及|其|该|这|那|我们|你们|他们|我|你|他|她|它|"
    "ですか|ますか|とは|です|ます|した|して|から|まで|の|は|が|を|に|で|と|も|か"
)
_NEGATIONS = "no not never none without except cannot nicht kein keine keinen ohne nie sans jamais ni sin nunca "
NEGATIONS = frozenset(_NEGATIONS.split())
NEGATION_CHARACTERS = re.compile("不|没|未|无|非")
_GENERIC = "number count date year time location place reason cause person name anzahl datum jahr ort grund "
GENERIC_WORDS = frozenset(_GENERIC.split())
GENERIC_CHARACTERS = re.compile("数量|日期|时间|地点|原因|名称|名字|人物")

# In this order: what one kind has matched is not looked at for the next, so that "what year" asks for no thing.
_KINDS = {
    "time": r"\b(when|what year|which year|what date|date|wann|welchem jahr|datum|quand|cuando)\b"
    "|什么时候|何时|哪一?年|哪天|几月|日期",
    "count": r"\b(how many|how much|number of|wie ?viele?|anzahl|combien|cuantos)\b|多少|几个|几次|几名|数量",
    "measure": r"\b(how (long|old|far|big|tall|large|high|deep|often)|wie (lange?|alt|weit|groß|hoch|tief|oft))\b"
    "|多长|多大|多高|多远|多久",
    "place": r"\b(where|location|wo|wohin|woher|donde|où)\b|哪里|哪儿|何处|在哪|什么地方|地点",
    "reason": r"\b(why|reason|warum|weshalb|wieso|grund|pourquoi)\b|为什么|为何|原因",
    "person": r"\b(who|whom|whose|wer|wem|wen|qui|quien)\b|谁|哪位|何人",
    "thing": r"\b(what|which|welche[mnrs]?|quel(le)?s?|cual(es)?)\b|^was\b|什么|哪个|哪些",
}
KIND_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}

__all__ = [
    "FUNCTION_CHARACTERS",
    "FUNCTION_WORDS",
    "GENERIC_CHARACTERS",
    "GENERIC_WORDS",
    "KIND_PATTERNS",
    "NEGATIONS",
    "NEGATION_CHARACTERS",
]
