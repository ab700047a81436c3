"""Does a sentence say that something is not there? By its words: there is no other way without a chat model.

Only trouble counts (errors, throttles, denials, …), and words for health and totality. "It could not reach the host"
denies nothing: it says what happened. A claim that is taken for a denial needs an answer that looked everywhere, and
can always stand in `gaps` instead; a denial that is not noticed would be a guess sold as evidence. In doubt it is one.
"""

import re

_TROUBLE = (
    r"(?:error|fail|fault|throttl|time-?out|timed|denial|denied|block|crash|exception|problem|issue|trouble|shortage|"
    r"out.of.memory|oom|kill|refus|reject|retr[iy]|deploy|chang|event|line|entr[iy]|sign|trace|evidence|indication|"
    r"hint|record|symptom|restart|drop|outage|spike|mention|warning)"
)
_HAPPENED = (
    r"(?:throttl|fail|time|denied|block|crash|happen|occur|appear|show|see|log|contain|exceed|r[ua]n out|restart|chang|"
    r"mention|report|record|present|affect|involv|take place|hit|suffer|found|visible|kill|broken|wrong|missing|"
    r"at fault|to blame|responsible|the (?:cause|problem|reason)|due to|caused)"
)
_RUNS = r"(?:runs?|invocations?|requests?|calls?|attempts?|executions?|events?)"
_GOES_WELL = r"(?:succe|finish|complet|pass|work|went|ended|ok\b|well\b|fine\b)"
_FEW = r"(?:\W+\w+){0,3}?\W+"
_DENIALS = (
    r"^\W*(?:no|nothing|never|zero)\b",
    r"\bnone\b|\bthere (?:is|are|was|were) (?:no|nothing)\b",
    r"\b(?:no|zero|0|without|free (?:of|from)|devoid of|absence of|lack(?:s|ed|ing)?|neither|nor|hardly any|"
    rf"not (?:a single|one|any)|nil)\b{_FEW}{_TROUBLE}",
    rf"\b(?:is|are|was|were|been|did|does|do|has|have|had)(?: not|n['’]t)\b{_FEW}{_HAPPENED}",
    rf"\b(?:cannot|can['’]t|can not) be{_FEW}(?:cause|reason|problem|seen|found)",
    rf"\bnever\b{_FEW}{_HAPPENED}",
    r"\brul(?:e|es|ed|ing)\b(?:\W+\w+){0,3}?\W+out\b|\bexclud(?:e|es|ed|ing)\b",
    r"\b(?:absent|nowhere|nobody|unaffected|untouched|uneventful|healthy|clean|quiet|silent|spotless|intact|innocent|"
    r"flawless(?:ly)?|smoothly)\b",
    r"\bfail(?:s|ed)? to (?:appear|show|occur|happen)|\bmissing from the (?:log|window|answer|event)",
    rf"\b(?:all|every|each)\b(?:\W+\w+){{0,3}}?\W+{_RUNS}\b(?:\W+\w+){{0,3}}?\W+{_GOES_WELL}",
    r"\bthe only\b|\bonly (?:one|once|this|these|that|succe\w+)\b|\b(?:apart|aside) from th|\bnothing but\b",
    rf"{_TROUBLE}\w*(?:\W+\w+){{0,3}}?\W+(?:is|are|was|were|at|remain(?:s|ed)?|stay(?:s|ed)?|equals?)\W+"
    r"(?:at )?(?:0|zero|nil|gone|over|missing)\b",
    r"\b(?:works?|working|runs?|running|operat\w+) (?:fine|well|normally|correctly|again|as (?:expected|usual))\b",
    r"\b(?:is|are|was|were|looks?) (?:fine|ok|okay|in order|normal|good)\b",
)
_DENIAL = re.compile("|".join(_DENIALS), re.IGNORECASE)


def denies(sentence: str) -> bool:
    # Invisible characters and line breaks would part words that belong together.
    visible = "".join(char for char in sentence if char.isprintable() or char.isspace())
    return _DENIAL.search(" ".join(visible.split())) is not None
