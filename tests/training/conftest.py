import importlib.util

# Nothing in this folder can be imported without PyTorch, an extra.
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
