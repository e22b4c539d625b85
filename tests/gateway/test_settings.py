"""Settings are read once from the environment, and wrong ones are named."""

import pytest

from gateway.settings import DEFAULT_PORT, GatewaySettings, InvalidSetting


def test_settings_come_from_the_environment() -> None:
    """Every kind of value is converted: numbers, switches, lists and choices."""
    settings = GatewaySettings.from_environment(
        {
            "EARPIECE_PORT": "9000",
            "EARPIECE_TIMEOUT_SECONDS": "1.5",
            "EARPIECE_ON_BARGE_IN": "finish_silently",
            "EARPIECE_ALLOWED_ORIGINS": "https://a.example, https://b.example/",
            "QWEN_AUDIO_DOMAIN_LIBRARY": "on",
        }
    )
    assert (settings.port, settings.timeout_seconds) == (9000, 1.5)
    assert settings.on_barge_in == "finish_silently"
    assert settings.allowed_origins == ("https://a.example", "https://b.example")
    assert settings.domain_library


def test_what_is_given_wins_over_the_environment() -> None:
    """An option of the command line is stronger than a variable; None is no option."""
    environment = {"EARPIECE_PORT": "9000", "EARPIECE_HOST": "::1"}
    settings = GatewaySettings.from_environment(environment, port=9001, host=None)
    assert (settings.host, settings.port) == ("::1", 9001)
    assert GatewaySettings.from_environment({}).port == DEFAULT_PORT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EARPIECE_PORT", "many"),
        ("EARPIECE_PORT", "70000"),
        ("EARPIECE_TIMEOUT_SECONDS", "0"),
        ("EARPIECE_TIMEOUT_SECONDS", "nan"),
        ("EARPIECE_ISOLATION", "fork"),
        ("EARPIECE_ON_BARGE_IN", "ignore"),
        ("EARPIECE_UPSTREAM", "http://model.example"),
        ("EARPIECE_DOMAIN_LIBRARY", "perhaps"),
        ("EARPIECE_DOMAIN_LIBRARY_EMBEDDER", "magic"),
        ("EARPIECE_MAX_SESSIONS", "-1"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    """The message says which variable is wrong and what it may be."""
    with pytest.raises(InvalidSetting, match=name):
        GatewaySettings.from_environment({name: value})


@pytest.mark.parametrize(
    ("upstream", "dialect"),
    [
        (None, "embedded"),
        ("wss://api.openai.com/v1/realtime", "openai"),
        ("ws://127.0.0.1:8000/v1/realtime", "openai"),
        ("wss://dashscope.aliyuncs.com/api-ws/v1/realtime", "dashscope"),
        ("wss://w.cn-beijing.maas.aliyuncs.com/api-ws/v1/realtime", "dashscope"),
        ("wss://aliyuncs.com.evil.example/realtime", "openai"),
    ],
)
def test_the_dialect_is_told_by_the_host(upstream: str | None, dialect: str) -> None:
    """Nobody has to name the dialect of a well-known address."""
    assert GatewaySettings(upstream=upstream).dialect == dialect


def test_a_vendors_key_is_used_for_that_vendor_alone() -> None:
    """A key that lies in the environment for other programs is never sent to another host."""
    keys = {"OPENAI_API_KEY": "sk-one", "DASHSCOPE_API_KEY": "sk-two"}

    def key(upstream: str) -> str:
        return GatewaySettings.from_environment({**keys, "EARPIECE_UPSTREAM": upstream}).upstream_key

    assert key("wss://api.openai.com/v1/realtime") == "sk-one"
    assert key("wss://dashscope.aliyuncs.com/api-ws/v1/realtime") == "sk-two"
    assert key("wss://api.openai.com.evil.example/v1/realtime") == ""
    assert key("ws://127.0.0.1:8000/v1/realtime") == ""


def test_no_secret_is_shown() -> None:
    """Settings end up in logs and bug reports."""
    settings = GatewaySettings(
        upstream="wss://api.openai.com/v1", upstream_key="sk-one", token_hashes="ana:" + "0" * 64
    )
    assert "sk-one" not in repr(settings)
    assert "0" * 64 not in repr(settings)
