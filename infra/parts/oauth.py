"""Who else may come in: tokens of an issuer that the operator names. Without one, the key alone opens the door."""

from aws_cdk import CfnParameter, CfnRule, CfnRuleAssertion, Fn, Stack

_PARAMETERS = {
    "OAuthIssuer": ("MCP_OAUTH_ISSUER", "issuer whose signed tokens are accepted besides the key; empty: none"),
    "OAuthAudience": ("MCP_OAUTH_AUDIENCE", "audience that such a token must name; needed with an issuer"),
    "OAuthJwks": ("MCP_OAUTH_JWKS", "where the issuer's keys are, if not where it says itself"),
}


def oauth_environment(stack: Stack) -> dict[str, str]:
    """Parameters of the stack, as variables of a server's function."""
    made = {name: CfnParameter(stack, name, default="", description=about) for name, (_, about) in _PARAMETERS.items()}
    _need_an_audience(stack, made["OAuthIssuer"], made["OAuthAudience"])
    return {variable: made[name].value_as_string for name, (variable, _) in _PARAMETERS.items()}


def _need_an_audience(stack: Stack, issuer: CfnParameter, audience: CfnParameter) -> None:
    """CloudFormation refuses the change before a function is made that would serve nobody."""
    CfnRule(
        stack,
        "IssuerNeedsAudience",
        rule_condition=Fn.condition_not(Fn.condition_equals(issuer.value_as_string, "")),
        assertions=[
            CfnRuleAssertion(
                assert_=Fn.condition_not(Fn.condition_equals(audience.value_as_string, "")),
                assert_description="OAuthIssuer needs OAuthAudience",
            )
        ],
    )
