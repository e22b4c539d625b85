"""Pure: whether a URI carries credentials, by the name of a parameter or by the shape of a value.

Names are judged where a value follows them, in the query and in the path; shapes everywhere. A word alone is no
credential: a page about passwords is a page.
"""

import re
import unicodedata
from urllib.parse import unquote

# Names are compared in lower case, without anything but letters and digits.
_CREDENTIAL_WORDS = re.compile(
    "token|secret|passw|passkey|pwd|pswd|psswd|signature|signedrequest|credential|assertion|samlre|samlart|hmac|jwt"
    "|bearer|csrf|xsrf|wpnonce|verifier|magiclink|kennwort|wachtwoord|motdepasse|contraseña|contrasena|senha|пароль"
    "|密码|密碼|パスワード|sessionid|sessid|accessid|keypairid|accesskey|privatekey"
    "|^oauth|^xamz|^xgoog|^xoss|^xobs|^xtos|^xcos|^xms|^qsign|^qak"
    "|(?:auth|sig|nonce|creds|pw|psw|pword)$"
    "|(?:user|client|login|api)cred$"
    "|(?:user|db|my|login|api|admin|new|old|http|ftp|smtp|mail|web|account|root)pass$"
    "|(?:api|app|auth|user|client|consumer|customer|developer|share|resource|license|licence|encryption|decryption"
    "|master|service|storage|account|session|subscription|function|functions|ssh|signing)key$"
    "|(?:oob|auth|authorization|access|verification|security|recovery|reset|activation|onetime|login|device|pin)code$"
)
_CREDENTIAL_NAMES = frozenset(
    (
        *("key", "sig", "sign", "auth", "authorization", "authentication", "sas", "cred", "cookie", "wresult"),
        *("pass", "passphrase", "passcode", "pin", "otp", "totp", "code", "session", "sess", "sid", "ticket", "policy"),
        *("rlkey", "skey", "pkey", "authkey", "ak", "sk", "hdnea", "hdnts", "hdntl", "userpass"),
    )
)
# Issuers give their secrets a prefix, so that they are found where they do not belong. Where a prefix could also begin
# the name of a page, a digit or a long word without a hyphen has to follow.
_CREDENTIAL_VALUE = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"eyJ[\w-]{6,}\.[\w-]{6,}"
    r"|AKIA[0-9A-Z]{12,}|ASIA(?=[A-Z]*[0-9])[0-9A-Z]{16}(?![0-9A-Z])"
    r"|gh[oprsu]_\w{16,}|github_pat_(?=\w*\d)\w{16,}|glpat-(?:[\w.]{16,}|(?=[\w.-]*\d)[\w.-]{10,})"
    r"|(?<!-)sk-(?:\w{20,}|(?:\w+-)*(?=\w*[0-9A-Z])\w{16,})|[rs]k_(?:live|test)_\w{16,}|whsec_[\w+/]{16,}|gsk_\w{40,}"
    r"|xox[abeoprs]-(?=[\w-]*\d)[\w-]{8,}|xapp-\d-[\w-]{8,}|AIza[\w-]{20,}|ya29\.[\w-]{20,}"
    r"|hf_[A-Za-z]{30,}|npm_[A-Za-z0-9]{30,}|pypi-AgE[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(?:at|ca|pa|ss)_[0-9a-f]{32}"
    r"|hv[bsr]\.[\w-]{20,}|dop_v1_[0-9a-f]{32,}|ATATT3[\w-]{20,}|tskey-[a-z]+-\w{10,}|xai-\w{40,}|lin_api_\w{20,}"
    r"|Basic[ +](?=[\w/]*[\d=])[\w/]{6,}|Bearer[ +](?:\w{16,}|(?=[\w.~/-]*\d)[\w.~/-]{8,})"
    r")|-----BEGIN"
    r"|://[^/?#\s@]+:[^/?#\s@]+@"  # another URL's user information
    r"|/services/T\w{6,}/B\w{6,}/\w{16,}|/webhooks/\d{15,}/[\w-]{40,}|/bot\d{6,}:[\w-]{30,}"  # posting needs no more
    r"|/\([A-Z]\([\w-]{16,}\)",  # a session in the path
    re.ASCII,
)
_QUERY_NAME = re.compile(r"(?:^|[?&;#])\s*([^=&;?#]*)")
_PATH_NAME = re.compile(r"[/?&;#,~]\s*([^=&;?#/,~]+)=")
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def carries_credentials(path: str, query: str) -> bool:
    """Whether this path or this query, with its question mark, holds what opens something to whoever has the URI."""
    path, parameters = _unquoted(path), _unquoted(f"{path.partition(';')[2]}&{query[1:]}")
    if _CREDENTIAL_VALUE.search(f"{path} {parameters}"):
        return True
    names = _QUERY_NAME.findall(parameters)
    if "=" in path:
        names += _PATH_NAME.findall(path)
    return any(_names_credential(name) for name in names if name)


def _names_credential(name: str) -> bool:
    plain = re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", name)).lower()
    return plain in _CREDENTIAL_NAMES or _CREDENTIAL_WORDS.search(plain) is not None


def _unquoted(text: str) -> str:
    """Read percent escapes, also where they were applied more than once."""
    for _ in range(4):
        if not _PERCENT_ESCAPE.search(text):
            break
        text = unquote(text, errors="replace")
    return text


__all__ = ["carries_credentials"]
