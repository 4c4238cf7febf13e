"""Black boxes that another library runs: PyTorch, Keras, ONNX, transformers."""
