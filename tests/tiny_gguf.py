"""A tiny Llama as a GGUF file, and llama.cpp's own server that runs it."""

import os
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest

from llm_servers import END, START, TOKENS, tiny_tokenizer
from same_gru.hf import SMALL, import_transformers

SERVER_VARIABLE = "SEQRAY_LLAMA_SERVER"
"""Names the program ``llama-server``."""

START_SECONDS = 60
"""How long the server may take to start."""

NORMAL, UNKNOWN, CONTROL = 1, 2, 3
"""Types of tokens in a GGUF file."""


def tiny_llama():
    """Return a Llama: llama.cpp computes it to single precision, and a GPT-2's GELU to half."""
    transformers, torch = import_transformers(), pytest.importorskip("torch")
    torch.manual_seed(2)
    sizes = {**SMALL, "vocab_size": len(TOKENS), "bos_token_id": START, "eos_token_id": END}
    sizes |= {"max_position_embeddings": 128}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()


def llama_folder(folder):
    """Write the Llama and its tokenizer where ``hf:`` finds them."""
    tiny_llama().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def write_gguf(path):
    """Write the Llama as llama.cpp reads it, in single precision."""
    gguf = pytest.importorskip("gguf")
    model = tiny_llama()
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.replace(" ", "▁") for token in TOKENS])
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([UNKNOWN, CONTROL, CONTROL, *[NORMAL] * (len(TOKENS) - 3)])
    writer.add_bos_token_id(START)
    writer.add_eos_token_id(END)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    for name, array in _tensors(model):
        writer.add_tensor(name, np.ascontiguousarray(array, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


PARTS = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""The parts of a layer in transformers, and in llama.cpp."""


def _tensors(model):
    """Yield the arrays of a Llama under llama.cpp's names."""
    arrays = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    config = model.config
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    yield "token_embd.weight", arrays["model.embed_tokens.weight"]
    yield "output.weight", arrays["lm_head.weight"]
    yield "output_norm.weight", arrays["model.norm.weight"]
    for layer in range(config.num_hidden_layers):
        for theirs, ours in PARTS.items():
            array = arrays[f"model.layers.{layer}.{theirs}.weight"]
            if ours in heads:  # the two numbers that are rotated together stand side by side
                halves = array.reshape(heads[ours], 2, -1, array.shape[1])
                array = halves.swapaxes(1, 2).reshape(array.shape)
            yield f"blk.{layer}.{ours}.weight", array


@contextmanager
def llama_server(folder, *arguments):
    """Start llama.cpp's server with the tiny model, and yield its address."""
    program = os.environ.get(SERVER_VARIABLE)
    if not program or not os.access(program, os.X_OK):
        pytest.skip(f"{SERVER_VARIABLE} names no llama-server of llama.cpp")
    path = folder / "tiny.gguf"
    write_gguf(path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "-m", str(path), "--host", "127.0.0.1", "--port", str(port)]
    command += [
        "-c",
        "512",
        "-np",
        "4",
        "-t",
        "1",
        "--cache-type-k",
        "f32",
        "--cache-type-v",
        "f32",
    ]
    command += ["-fa", "off", "--no-warmup", *arguments]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _await_health(f"http://127.0.0.1:{port}/health", process, folder / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _await_health(url, process, log):
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        assert time.monotonic() < deadline, "llama-server does not start"
        time.sleep(0.05)
