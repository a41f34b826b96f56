"""Weights for the frameworks of reinforcement learning: the trainer publishes them in a channel,
and every rollout worker gets them while they arrive, from whoever has them.

`hoplite.rl.verl` and `hoplite.rl.nemo` are checkpoint engines of verl and NeMo RL;
`hoplite.rl.vllm` is a weight transfer of vLLM. Each needs its framework and
PyTorch, and a node of Hoplite on every host: ``HOPLITE_SOCKET``, or `socket`, names its socket.
"""
