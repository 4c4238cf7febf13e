"""Servers of language models: vLLM, SGLang, llama.cpp, Ollama, OpenAI-compatible ones."""
