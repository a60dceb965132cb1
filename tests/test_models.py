"""`for_model`: every model that a shipped format serves finds it, however its name is written."""

from __future__ import annotations

import chatpeg
import pytest

MODELS = {
    "hermes": "NousResearch/Hermes-2-Pro-Llama-3-8B NousResearch/Hermes-3-Llama-3.1-8B Qwen/Qwen2.5-7B-Instruct "
    "XiaomiMiMo/MiMo-VL-7B-RL tencent/Youtu-LLM-2B Tele-AI/TeleChat3-36B",
    "qwen3-hermes": "Qwen/Qwen3-0.6B Qwen/Qwen3-30B-A3B-Instruct-2507 Qwen/Qwen3-4B-Thinking-2507 Qwen/QwQ-32B "
    "Qwen/Qwen3-VL-8B-Instruct Qwen/Qwen3-Next-80B-A3B-Instruct internlm/Intern-S1 HuggingFaceTB/SmolLM3-3B",
    "qwen3-coder": "Qwen/Qwen3-Coder-30B-A3B-Instruct Qwen/Qwen3-Coder-480B-A35B-Instruct Qwen/Qwen3-Coder-Next "
    "Nanbeige/Nanbeige4.1-3B ornith/Ornith-1",
    "qwen3.5": "Qwen/Qwen3.5-9B Qwen/Qwen3.6-35B-A3B Qwen/Qwen3.8-27B",
    "glm-4.5": "zai-org/GLM-4.5 zai-org/GLM-4.5-Air zai-org/GLM-4.6 zai-org/GLM-4.5V zai-org/GLM-OCR",
    "glm-4.7": "zai-org/GLM-4.7 zai-org/GLM-4.7-Flash zai-org/GLM-5 zai-org/GLM-5.3",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3 deepseek-ai/DeepSeek-V3-0324 deepseek-ai/DeepSeek-R1 "
    "deepseek-ai/DeepSeek-R1-0528 deepseek-ai/DeepSeek-R1-Distill-Qwen-32B deepcogito/cogito-v2-preview-llama-70B",
    "deepseek-v3.1": "deepseek-ai/DeepSeek-V3.1 deepseek-ai/DeepSeek-V3.1-Terminus deepseek-ai/DeepSeek-V3.2-Exp",
    "deepseek-v3.2": "deepseek-ai/DeepSeek-V3.2 deepseek-ai/DeepSeek-V3.2-Speciale",
    "deepseek-v4": "deepseek-ai/DeepSeek-V4 deepseek-ai/DeepSeek-V4-Flash",
    "deepseek-v4.1": "deepseek-ai/DeepSeek-V4.1 deepseek-ai/DeepSeek-V4.1-Flash",
    "deepseek-r1": "Hcompany/Holo2-4B BlinkDL/rwkv7-g1 fla-hub/RWKV7-World-2.9B",
    "kimi-k2": "moonshotai/Kimi-K2-Instruct-0905 moonshotai/Kimi-K2-Thinking moonshotai/Kimi-K2.5 moonshotai/Kimi-K2.6 "
    "moonshotai/Kimi-Linear-48B-A3B-Instruct",
    "kimi-k3": "moonshotai/Kimi-K3",
    "llama3-json": "meta-llama/Llama-3.1-8B-Instruct meta-llama/Llama-3.2-3B-Instruct meta-llama/Llama-3.3-70B-Instruct "
    "meta-llama/Meta-Llama-3.1-70B-Instruct",
    "llama4-pythonic": "meta-llama/Llama-4-Scout-17B-16E-Instruct meta-llama/Llama-4-Maverick-17B-128E-Instruct "
    "Team-ACE/ToolACE-8B",
    "mistral-v3": "mistralai/Mistral-7B-Instruct-v0.3 mistralai/Mistral-Nemo-Instruct-2407 "
    "mistralai/Mixtral-8x22B-Instruct-v0.1 mistralai/Mistral-Small-Instruct-2409 mistralai/Mistral-Large-Instruct-2407",
    "mistral-v11": "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
    "mistral-v11-think-text": "mistralai/Magistral-Small-2506",
    "mistral-v13": "mistralai/Devstral-Small-2507 mistralai/Devstral-Small-2-24B-Instruct-2512 "
    "mistralai/Ministral-3-8B-Instruct-2512",
    "mistral-v13-think": "mistralai/Magistral-Small-2509 mistralai/Ministral-3-14B-Reasoning-2512 "
    "mistralai/Mistral-Small-4-119B mistralai/Mistral-Medium-3.5 mistralai/Mistral-Large-3-675B-Instruct-2512",
    "minimax-m2": "MiniMaxAI/MiniMax-M2 MiniMaxAI/MiniMax-M2.1 MiniMaxAI/MiniMax-M2.5",
    "gemma-4": "google/gemma-4-E2B-it google/gemma-4-31B-it",
    "functiongemma": "google/functiongemma-270m-it",
    "gpt-oss": "openai/gpt-oss-20b openai/gpt-oss-120b openai/gpt-oss-safeguard-20b",
    "lfm2": "LiquidAI/LFM2-1.2B LiquidAI/LFM2.5-1.2B-Instruct",
}
PAIRS = [(name, model) for name, models in MODELS.items() for model in models.split()]


@pytest.mark.parametrize(("name", "model"), PAIRS, ids=[model for _, model in PAIRS])
def test_a_model_finds_its_format(name: str, model: str) -> None:
    """By its name on the Hub, without its organisation, in any case, and as the file of a quantisation."""
    bare = model.rsplit("/", maxsplit=1)[-1]
    for spelling in (model, bare, model.lower(), bare.upper(), f"{bare}-Q4_K_M.gguf", f"unsloth/{bare}-GGUF"):
        assert chatpeg.for_model(spelling).name == name


def test_every_format_serves_a_model() -> None:
    """A shipped format that no model name leads to fails here."""
    assert {path.name for path in map(chatpeg.load, MODELS)} == set(MODELS)


def test_a_path_of_a_file_is_a_name_too() -> None:
    """People have a file, not a name."""
    assert chatpeg.for_model("/models/Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf").name == "qwen3-coder"
    assert chatpeg.for_model("C:\\models\\gemma-4-31B-it-UD-Q8_K_XL.gguf").name == "gemma-4"
    assert chatpeg.for_model("gpt-oss-120b-mxfp4-00001-of-00003.gguf").name == "gpt-oss"


def test_an_unknown_model_hears_which_formats_come_close() -> None:
    """The error names formats, not patterns."""
    with pytest.raises(chatpeg.UnknownFormat, match="qwen"):
        chatpeg.for_model("Qwen/Qwen9-Codor-30B")
