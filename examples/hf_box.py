"""Extract an automaton from a language model of Hugging Face transformers.

    pip install '.[hf]'
    python examples/hf_box.py

A small GPT-2 learns sentences about a cat and a dog, and is saved as transformers saves models,
with its tokenizer. seqray opens the folder, asks the model with a cache that sentences share, and
returns an automaton. What both say comes next is printed side by side.
"""

import tempfile

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

import seqray

WORDS = ["the", "cat", "dog", "sleeps", "sees", "and"]
TOKENS = [*WORDS, "<start>", "<end>", "<padding>"]
START, END, PADDING = 6, 7, 8


def sentences(n: int, rng: np.random.Generator) -> list[list[int]]:
    """Return sentences such as 'the cat sees the dog and the dog sleeps', as numbers."""
    drawn = []
    for _ in range(n):
        words = []
        while not words or rng.random() < 0.3:
            words += [5] if words else []
            words += [0, rng.integers(1, 3)]
            words += [3] if rng.random() < 0.5 else [4, 0, rng.integers(1, 3)]
        drawn.append(words)
    return drawn


def trained(texts: list[list[int]], rng: np.random.Generator) -> transformers.GPT2LMHeadModel:
    """Return a model that has read each sentence about twice."""
    config = transformers.GPT2Config(
        n_layer=2,
        n_embd=32,
        n_head=2,
        n_positions=64,
        vocab_size=len(TOKENS),
        bos_token_id=START,
        eos_token_id=END,
    )
    model = transformers.GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for _ in range(100):
        batch = [[START, *texts[i], END][:32] for i in rng.integers(0, len(texts), 32)]
        width = max(map(len, batch))
        ids = torch.tensor([text + [PADDING] * (width - len(text)) for text in batch])
        aims = ids.masked_fill(ids == PADDING, -100)
        loss = model(ids, attention_mask=(ids != PADDING).long(), labels=aims).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Return a tokenizer to which every word is a token."""
    numbers = {token: number for number, token in enumerate(TOKENS)}
    plain = Tokenizer(models.WordLevel(numbers))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, bos_token="<start>", eos_token="<end>", pad_token="<padding>"
    )


def main() -> None:
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    model = trained(sentences(2000, rng), rng)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        box = seqray.open_black_box(f"hf:{folder}", alphabet=WORDS)
    sizes = {"n_prefixes": 40, "n_suffixes": 40, "max_rank": 10, "max_length": 30}
    extraction = seqray.extract(box, **sizes, purpose="reading")
    wa = extraction.best()
    print(f"the model became {wa}")
    print(f"{'next after':<24}" + "".join(f"{word:>16}" for word in [*WORDS, "the end"]))
    for text in ("", "the", "the cat", "the cat sees", "the dog sees the cat"):
        both = (m.next_symbol([text.split()])[0] for m in (box, wa))
        shown = [f"{a:7.3f} ({b:.3f})" for a, b in zip(*both, strict=True)]
        print(f"{text or '(nothing)':<24}" + "".join(f"{cell:>16}" for cell in shown))
    print("of the model (of the automaton)")


if __name__ == "__main__":
    main()
