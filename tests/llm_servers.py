"""Servers that speak like vLLM, SGLang, llama.cpp, Ollama and OpenAI, with a tiny GPT-2 behind.

Each follows the fields that the original documents, with its limits and quirks. All count what a
server of its kind would have to read, though its cache holds earlier prompts.
"""

import json
import random
import threading
import time
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from same_gru.hf import SIZE, import_transformers
from seqray.blackbox.remote.llm.box import openai_box

TOKENS = ["<unk>", "<s>", "</s>", *"abcdefgh", " "]
START, END = 1, 2
NAME = "tiny"
PROMPT, PROMPT_TOKENS = "ab", [START, 3, 4]
FORBIDDEN = {"logit_bias", "allowed_token_ids", "guided_choice", "guided_regex", "grammar"}
"""Fields that change which token is drawn; log-probabilities are taken before."""


# The model ----------------------------------------------------------------------------------------


def tiny_model(**changes):
    """Return a GPT-2 of double precision, so that every way to run it gives the same."""
    transformers, torch = import_transformers(), pytest.importorskip("torch")
    torch.manual_seed(1)
    ids = {"bos_token_id": START, "eos_token_id": END, "vocab_size": len(TOKENS)}
    size = {**SIZE, "n_layer": 1, "n_positions": 128, **ids, **changes}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**size)).double().eval()


def tiny_tokenizer():
    """Return a tokenizer of letters, which puts <s> before every text."""
    transformers = import_transformers()
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors  # noqa: PLC0415

    numbers = {token: i for i, token in enumerate(TOKENS)}
    plain = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    plain.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", START)]
    )
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=plain, **special)


def saved_folder(folder, **changes):
    """Write model and tokenizer where ``hf:`` finds them."""
    tiny_model(**changes).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def encode(text, special):
    """Return the tokens of a text as the tokenizer does, special tokens in it included."""
    tokens, rest = [START] if special else [], text
    while rest:
        token = next((t for t in TOKENS if rest.startswith(t)), None)
        tokens.append(0 if token is None else TOKENS.index(token))
        rest = rest[len(token or " ") :]
    return tokens


class Predictor:
    """Predicts the next token; equal prompts are computed once."""

    def __init__(self, jitter=0.0):
        self.model, self.jitter, self.known = tiny_model(), jitter, {}
        self.lock = threading.Lock()

    def logs(self, prompts):
        """Return log-probabilities; with jitter they depend on the batch, as on a GPU."""
        torch = pytest.importorskip("torch")
        with self.lock, torch.inference_mode():
            for prompt in set(map(tuple, prompts)) - self.known.keys():
                logits = self.model(torch.tensor([prompt])).logits[0, -1]
                self.known[prompt] = logits.log_softmax(0).numpy()
            logs = np.array([self.known[tuple(prompt)] for prompt in prompts])
        rng = np.random.default_rng(len(prompts))
        return logs + self.jitter * rng.normal(size=logs.shape)


# What a server's cache saves ----------------------------------------------------------------------


class BlockCache:
    """Caches whole blocks of tokens, as vLLM does; SGLang's blocks have one token."""

    def __init__(self, block):
        self.block, self.cached = block, set()

    def n_cached(self, prompt):
        n = 0
        while n + self.block < len(prompt) and prompt[: n + self.block] in self.cached:
            n += self.block
        for end in range(self.block, len(prompt) + 1, self.block):
            self.cached.add(prompt[:end])
        return n


class SlotCache:
    """Keeps the last prompt of each of some slots, as llama.cpp and Ollama do."""

    def __init__(self, n_slots=4):
        self.slots = [()] * n_slots

    def n_cached(self, prompt):
        shared = [self._shared(slot, prompt) for slot in self.slots]
        best = int(np.argmax(shared))
        self.slots.insert(0, prompt)
        del self.slots[best + 1]
        return min(shared[best], len(prompt) - 1)

    @staticmethod
    def _shared(one, other):
        n = 0
        while n < min(len(one), len(other)) and one[n] == other[n]:
            n += 1
        return n


class Counts:
    """What was sent to a server, and what it had to read."""

    def __init__(self, cache):
        self.cache, self.read_before = cache, set()
        self.requests, self.prompts, self.paths = [], [], []
        self.draws = []
        """For each prompt how often it was sent before because an end was drawn."""
        self.n_sent = self.n_read = self.n_again = 0

    def add(self, prompt, draw=0):
        prompt = tuple(prompt)
        self.draws.append(draw)
        cached = self.cache.n_cached(prompt)
        self.prompts.append(prompt)
        self.n_sent += len(prompt)
        self.n_read += len(prompt) - cached
        for end in range(cached + 1, len(prompt) + 1):
            self.n_again += prompt[:end] in self.read_before
            self.read_before.add(prompt[:end])


# Servers ------------------------------------------------------------------------------------------


class RefusalError(Exception):
    """The server answers with an error of its own."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def refuse_unless(condition, text, status=400):
    if not condition:
        raise RefusalError(status, text)


class LlmServer:
    """What all dialects share: a model, counts, and trouble that a test makes."""

    cache = staticmethod(lambda: BlockCache(1))
    owner = "somebody"
    max_listed = 20

    def __init__(self, *, jitter=0.0, trouble=None, models=(NAME,), key=None, max_len=128):
        self.predictor, self.counts = Predictor(jitter), Counts(self.cache())
        self.trouble, self.models, self.key, self.max_len = trouble, models, key, max_len
        self.keys_seen, self.rng, self.n_failures = set(), random.Random(0), 0

    def routes(self):
        """Return the answers by method and path."""
        return {"GET /v1/models": self.list_models}

    def list_models(self, _):
        extra = {"max_model_len": self.max_len} if self.owner in ("vllm", "sglang") else {}
        data = [
            {"id": name, "object": "model", "created": time.time(), "owned_by": self.owner, **extra}
            for name in self.models
        ]
        return {"object": "list", "data": data}

    def tokenize(self, body):
        tokens = encode(body["prompt"], body.get("add_special_tokens", True))
        return {"tokens": tokens, "count": len(tokens), "max_model_len": self.max_len}

    def predict(self, prompts, draw=0):
        for prompt in prompts:
            refuse_unless(len(prompt), "a prompt is empty")
            refuse_unless(len(prompt) < self.max_len, f"the context has {self.max_len} tokens")
            self.counts.add(prompt, draw)
        return self.predictor.logs(prompts)

    def draw(self, logs, temperature, seed):
        """Draw a token."""
        if temperature == 0:
            return int(np.argmax(logs))
        weights = np.exp(logs / temperature)
        return int(np.random.default_rng(seed).choice(len(logs), p=weights / weights.sum()))

    @staticmethod
    def top(logs, n):
        """Return the likeliest tokens."""
        return [int(token) for token in np.argsort(-logs)[:n]]

    async def __call__(self, scope, receive, send):
        from starlette.requests import Request  # noqa: PLC0415
        from starlette.responses import JSONResponse  # noqa: PLC0415

        request = Request(scope, receive)
        content = await request.body()
        path = f"{request.method} {request.url.path}"
        self.counts.paths.append(path)
        self.keys_seen.add(request.headers.get("authorization"))
        if self.trouble is not None and await self.trouble(self, path, send):
            return
        answer = self.routes().get(path)
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            response = JSONResponse({"error": "a key is needed"}, 401)
        elif answer is None:
            response = JSONResponse({"detail": "Not Found"}, 404)
        else:
            body = json.loads(content) if content else {}
            self.counts.requests.append((path, body))
            try:
                response = JSONResponse(answer(body))
            except RefusalError as error:
                response = JSONResponse({"error": {"message": str(error)}}, error.status)
        await response(scope, receive, send)


class VllmServer(LlmServer):
    """vLLM's /v1/completions: it lists the tokens that a request names, 128 at most."""

    cache = staticmethod(lambda: BlockCache(16))
    owner = "vllm"
    takes_wanted = True

    def routes(self):
        return {
            **super().routes(),
            "POST /tokenize": self.tokenize,
            "POST /v1/completions": self.complete,
        }

    def complete(self, body):
        refuse_unless(body["model"] in self.models, f"no model {body['model']}", 404)
        refuse_unless(body["logprobs"] <= self.max_listed, "too many logprobs")
        wanted = body.get("logprob_token_ids") if self.takes_wanted else None
        refuse_unless(len(wanted or ()) <= 128, "logprob_token_ids: 128 at most")
        choices = []
        for at, logs in enumerate(self.predict(body["prompt"])):
            drawn = self.draw(logs, body["temperature"], 0)
            listed = [drawn, *(wanted or self.top(logs, body["logprobs"]))]
            names = {i: f"token_id:{i}" for i in listed}
            top = {names[i]: max(float(logs[i]), -9999.0) for i in listed}
            logprobs = {
                "tokens": [names[drawn]],
                "token_logprobs": [float(logs[drawn])],
                "top_logprobs": [top],
                "text_offset": [0],
            }
            reason = "stop" if drawn == END else "length"
            text = "" if drawn == END else TOKENS[drawn]
            choice = {"index": at, "text": text, "logprobs": logprobs, "finish_reason": reason}
            choices.append(choice)
        return {"id": "cmpl-1", "object": "text_completion", "choices": choices[::-1]}


class OldVllmServer(VllmServer):
    """vLLM before ``logprob_token_ids``: it ignores what it does not know."""

    takes_wanted = False


class SglangServer(LlmServer):
    """SGLang's /generate; its cache is a tree of tokens."""

    owner = "sglang"

    def routes(self):
        return {
            **super().routes(),
            "GET /get_model_info": lambda _: {"model_path": NAME, "is_generation": True},
            "POST /tokenize": self.tokenize,
            "POST /generate": self.generate,
        }

    def generate(self, body):
        refuse_unless(body["return_logprob"], "no logprobs")
        results = []
        for logs, wanted in zip(
            self.predict(body["input_ids"]), body["token_ids_logprob"], strict=True
        ):
            drawn = self.draw(logs, body["sampling_params"]["temperature"], 0)
            about = {
                "prompt_tokens": len(logs),
                "output_token_logprobs": [[float(logs[drawn]), drawn, None]],
                "output_token_ids_logprobs": [[[float(logs[i]), i, None] for i in wanted]],
            }
            results.append({"text": TOKENS[drawn], "meta_info": about})
        return results


class LlamaCppServer(LlmServer):
    """llama.cpp's /completion; its cache has slots."""

    cache = SlotCache
    owner = "llamacpp"

    def routes(self):
        return {
            **super().routes(),
            "GET /props": lambda _: {
                "default_generation_settings": {"n_ctx": self.max_len},
                "eos_token": "</s>",
                "model_path": "tiny.gguf",
            },
            "POST /tokenize": lambda body: {
                "tokens": encode(body["content"], body.get("add_special", False))
            },
            "POST /completion": self.complete,
        }

    def list_models(self, body):
        listed = super().list_models(body)
        for each in listed["data"]:
            each["meta"] = {"n_vocab": len(TOKENS), "n_ctx": self.max_len, "n_params": 1000}
        return listed

    def complete(self, body):
        results = []
        for at, logs in enumerate(self.predict(body["prompt"])):
            top = [self.entry(logs, i) for i in self.top(logs, body["n_probs"])]
            drawn = self.entry(logs, self.draw(logs, body["temperature"], 0))
            whole = {"index": at, "content": drawn["token"], "generation_settings": {}}
            whole["completion_probabilities"] = [drawn | {"top_logprobs": top}]
            fields = body.get("response_fields") or whole
            results.append({name: whole[name] for name in fields})
        return results if len(results) > 1 else results[0]

    @staticmethod
    def entry(logs, token):
        text = TOKENS[token]
        return {
            "id": token,
            "token": text,
            "bytes": list(text.encode()),
            "logprob": float(logs[token]),
        }


class OllamaServer(LlmServer):
    """Ollama's /api/generate: one text at a time, 20 tokens, and nothing where the end is drawn."""

    cache = SlotCache
    owner = "library"

    def routes(self):
        return {
            **super().routes(),
            "GET /api/version": lambda _: {"version": "0.13.0"},
            "POST /api/show": self.show,
            "POST /api/generate": self.generate,
        }

    def show(self, body):
        refuse_unless(body["model"] in self.models, f"model '{body['model']}' not found", 404)
        info = {"gpt2.context_length": self.max_len, "tokenizer.ggml.eos_token_id": END}
        info["tokenizer.ggml.tokens"] = TOKENS if body.get("verbose") else None
        return {"details": {"family": "gpt2"}, "model_info": info}

    def generate(self, body):
        refuse_unless(0 <= body["top_logprobs"] <= 20, "top_logprobs must be between 0 and 20")
        if not body["prompt"]:
            return {"model": NAME, "response": "", "done": True, "done_reason": "load"}
        seed = body["options"]["seed"]
        (logs,) = self.predict([encode(body["prompt"], True)], seed)
        drawn = self.draw(logs, body["options"]["temperature"], seed)
        if drawn == END:
            return {"model": NAME, "response": "", "done": True, "done_reason": "stop"}
        top = [self.entry(logs, i) for i in self.top(logs, body["top_logprobs"])]
        listed = self.entry(logs, drawn) | {"top_logprobs": top}
        return {"model": NAME, "response": TOKENS[drawn], "done": True, "logprobs": [listed]}

    @staticmethod
    def entry(logs, token):
        return {"token": TOKENS[token], "logprob": float(logs[token])}


class PlainServer(LlmServer):
    """OpenAI's /v1/completions: the likeliest tokens by their texts; texts or ids as prompts.

    The drawn token is listed, too, so that there may be one more.
    """

    def routes(self):
        return {**super().routes(), "POST /v1/completions": self.complete}

    def complete(self, body):
        refuse_unless(body["logprobs"] <= self.max_listed, "logprobs: too many")
        prompts = [encode(p, True) if isinstance(p, str) else p for p in body["prompt"]]
        choices = []
        seed = body.get("seed", 0)
        for at, logs in enumerate(self.predict(prompts, seed)):
            drawn = self.draw(logs, body["temperature"], [at, seed])
            listed = [drawn, *self.top(logs, body["logprobs"])]
            top = {TOKENS[i]: float(logs[i]) for i in listed}
            logprobs = None if drawn == END else {"top_logprobs": [top], "tokens": [TOKENS[drawn]]}
            choices.append({"index": at, "text": TOKENS[drawn], "logprobs": logprobs})
        return {"object": "text_completion", "choices": choices}


SERVERS = {
    "vllm": VllmServer,
    "old vllm": OldVllmServer,
    "sglang": SglangServer,
    "llama.cpp": LlamaCppServer,
    "ollama": OllamaServer,
    "openai": PlainServer,
}

OPTIONS = {
    "vllm": {"end": "</s>"},
    "old vllm": {"end": END},
    "sglang": {"end": "</s>"},
    "llama.cpp": {},
    "ollama": {},
    "openai": {"end": "</s>", "top_k": 20},
}
"""What has to be said beside the alphabet and the prompt."""


async def unreliable(server, path, send):
    """Let 30 % of all queries fail, in every form; return whether there was an answer."""
    at = server.rng.random()
    if path.startswith("GET") or path.endswith(("tokenize", "show")) or at >= 0.3:
        return False
    server.n_failures += 1
    status, headers = 500, []
    if at < 0.1:
        status, headers = 429, [(b"retry-after", b"0")]
    if at > 0.2:
        headers = [(b"content-length", b"1000")]
    start = {"type": "http.response.start", "status": 200 if at > 0.2 else status}
    await send(start | {"headers": headers})
    await send({"type": "http.response.body", "body": b'{"choices": [', "more_body": at > 0.2})
    if at > 0.2:
        raise ConnectionError("cut on purpose")
    return True


@contextmanager
def serving_llm(server):
    """Serve on a thread, and yield the address."""
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    config = uvicorn.Config(server, port=0, log_level="critical", lifespan="off")
    runner = uvicorn.Server(config)
    thread = threading.Thread(target=runner.run, daemon=True)
    thread.start()
    while not runner.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{runner.servers[0].sockets[0].getsockname()[1]}"
    finally:
        runner.should_exit = True
        thread.join()


def opened(kind, url, **options):
    """Open the box of a server, with what it needs to be said and without much patience."""
    given = {"alphabet": "abc", "prompt": PROMPT, "backoff": 0.001, **OPTIONS[kind], **options}
    return openai_box(url, **given)


RUNNING = ExitStack()
"""Servers that run until the process ends."""


def llm_server(_):
    """Return the model behind a server that runs until the process ends."""
    return opened("vllm", RUNNING.enter_context(serving_llm(VllmServer())), max_length=40)
