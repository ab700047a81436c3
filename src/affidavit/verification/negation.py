"""Decides by its words whether a sentence says that something is not there.

Only trouble counts (errors, throttles, denials, …), and words for health and totality. "It could not reach the host"
denies nothing: it says what happened. A claim that is taken for a denial needs an answer that looked everywhere, and
can always stand in `gaps` instead; a denial that is not noticed would be a guess sold as evidence. In doubt it is one.
"""

import re
import unicodedata

_TROUBLE = (
    r"(?:error|fail|fault|throttl|time-?out|timed|denial|denied|block|crash|exception|problem|issue|trouble|shortage|"
    r"out.of.memory|oom|kill|refus|reject|retr[iy]|deploy|chang|event|line|entr[iy]|sign|trace|evidence|indication|"
    r"hint|record|symptom|restart|drop|outage|spike|mention|warning)"
)
# Of these no setting speaks: they happen to runs.
_MISHAP = r"(?:throttl|time-?out|timed out|crash|out of memory|oom|error|fail|fault)"
_HAPPENED = (
    r"(?:throttl|fail|time|denied|block|crash|happen|occur|appear|show|see|log|contain|exceed|r[ua]n out|restart|chang|"
    r"mention|report|record|present|affect|involv|take place|hit|suffer|found|visible|kill|broken|wrong|missing|figure|"
    r"at fault|to blame|responsible|an? (?:issue|problem|factor)|the (?:cause|problem|reason)|due to|caused)"
)
_RUNS = r"(?:runs?|invocations?|requests?|calls?|attempts?|executions?|events?)"
_GOES_WELL = r"(?:succe|finish|complet|pass|work|went|ended|ok\b|well\b|fine\b)"
_FEW = r"(?:\W+\w+){0,3}?\W+"
_NOTHING = r"(?:0|zero|nil|none|negative|nought|gone|over|missing)"
_DENIALS = (
    r"^\W*(?:no|not|nothing|never|zero|nought)\b",
    r"\bnone\b|\bthere (?:is|are|was|were) (?:no|nothing)\b",
    r"\b(?:no|zero|0|without|free[- ](?:of|from)|devoid of|absence of|lack(?:s|ed|ing)?|neither|nor|"
    rf"(?:hardly|barely|scarcely|few,? if) any|not (?:a single|one|any)|nil)\b{_FEW}{_TROUBLE}",
    rf"\bnot (?:a |an |been )?{_MISHAP}|\b(?:non|un)-?(?:throttl|fail|block|affect|harm|interrupt|disturb)|"
    rf"\b{_MISHAP}\w*-?(?:free|less)\b|\bnon-?existent\b|\bhas yet to\b|\bhave yet to\b",
    rf"\b(?:is|are|was|were|been|did|does|do|has|have|had|wo|will|would)(?: not|n['’]t)\b{_FEW}{_HAPPENED}",
    rf"\b(?:cannot|can['’]t|can not) be{_FEW}(?:cause|reason|problem|seen|found)",
    rf"(?: not|n['’]t) (?:find|see|observe|detect|notice|spot)\b{_FEW}{_TROUBLE}",
    rf"\bnever\b{_FEW}{_HAPPENED}",
    r"\brul(?:e|es|ed|ing)\b(?:\W+\w+){0,3}?\W+out\b|\bexclud(?:e|es|ed|ing)\b|\bout of the question\b|\bunlikely\b",
    r"\bcan be (?:dismissed|discounted|discarded|disregarded|set aside)\b|\bplay(?:s|ed) no (?:part|role)\b",
    r"\b(?:absent|nowhere|nobody|unaffected|untouched|uneventful|healthy|clean|quiet|silent|spotless|intact|innocent|"
    r"flawless(?:ly)?|smoothly|freely|stable|nominal|routine|recovered)\b",
    r"\bfail(?:s|ed)? to (?:appear|show|occur|happen)|\bmissing from the (?:log|window|answer|event)",
    rf"\b(?:all|every|each)\b(?:\W+\w+){{0,3}}?\W+{_RUNS}\b(?:\W+\w+){{0,3}}?\W+{_GOES_WELL}",
    r"\bthe only\b(?! (?:\w+ )?(?:line|run|event|invocation|entry)\b)",
    r"\bonly (?:one|once|this|these|that|succe\w+)\b|\b(?:apart|aside) from th|\bnothing but\b",
    r"\bnothing (?:about|of|on|else|wrong|unusual|to see)\b|\b(?:just|merely) (?:start|info|the usual|normal)\b",
    rf"{_TROUBLE}\w*(?:\W+\w+){{0,3}}?\W+(?:is|are|was|were|at|remain(?:s|ed)?|stay(?:s|ed)?|equals?|reads?)\W+"
    rf"(?:at )?{_NOTHING}\b|{_TROUBLE}\w*(?: count\w*| total\w*)?\s*[:=]\s*(?:0|zero|nil|negative)\b",
    rf"{_TROUBLE}\w*(?: has| have)? (?:stopped|ceased|subsided|vanished|disappeared|ended|went away|stays? away)\b",
    r"\b(?:been|is|was|are|were) resolved\b|\bresolved (?:it|them)sel(?:f|ves)\b",
    r"\b(?:well|far|safely) (?:below|under|within)\b(?! the \d| its \d| \d| \w+ \d)",
    r"\b(?:has|have) (?:all|every)\b(?:\W+\w+){0,3}?\W+needs?\b",
    r"\b(?:works?|working|runs?|running|operat\w+) (?:fine|well|normally|correctly|again|as (?:expected|usual))\b",
    r"\b(?:is|are|was|were|looks?|did) (?:fine|ok|okay|in order|normal|good|sufficient|adequate|avoided)\b",
    r"\ball (?:good|green|clear)\b|\bchecks? out\b",
    # The same in the languages that a chat model is likeliest to fall into.
    r"\b(?:keine?[nmrs]?|nicht|niemals|ohne|weder|aucune?|jamais|sans|ning[uú]na?|nunca|jam[aá]s|sin|nessuna?|senza|"
    r"nenhuma?|sem|geen|niet|zonder|ingen|inga|utan|brak|bez)\b",
)
_DENIAL = re.compile("|".join(_DENIALS), re.IGNORECASE)


# Of other scripts, and like no letter of ours: `12 μs`, `λ`.
_SYMBOLS = frozenset("μλΔΩ")
# Of one run that is cited anybody may say that it shows no error; how it ended is checked elsewhere.
_ONE_RUN = re.compile(
    r"(?i)\b(?:the one|this|that|the cited|the newest|the last) (?:run|invocation|request|line)(?: in sight)?\b[^;]*?"
    r"\b(?:shows?|has|had|holds?|with|without) (?:no|an?|any) (?:error|failure|sign)s?(?: of [\w ]+)?(?=[.;,]|$)"
)
_WORD = re.compile(r"\w+")


def denies(sentence: str, *, quoting: str = "") -> bool:
    """`quoting` is what the sentence is about: names in other scripts that stand there may be repeated."""
    visible = _visible(sentence)
    if not _is_readable(visible, _visible(quoting)):
        return True
    visible = _ONE_RUN.sub("", visible)
    return _DENIAL.search(" ".join(visible.split())) is not None


def _visible(text: str) -> str:
    """Invisible characters and line breaks would part words that belong together."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(char for char in plain if char.isprintable() or char.isspace())


def _is_readable(sentence: str, quoted: str) -> bool:
    """Other scripts are not: neither their words, nor a Latin word with one of their letters in it."""
    return all(all(map(_is_ours, word)) or _is_quoted(word, quoted) for word in _WORD.findall(sentence))


def _is_quoted(word: str, quoted: str) -> bool:
    """A letter of ours among others is no name but a disguise, whoever wrote it first."""
    return len(word) > 1 and word in quoted and not any(char.isalpha() and _is_ours(char) for char in word)


def _is_ours(char: str) -> bool:
    is_latin = char.isascii() or not char.isalpha() or unicodedata.name(char, "").startswith("LATIN")
    return is_latin or char in _SYMBOLS
