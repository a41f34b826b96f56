"""Policy gradient: actors play a game with the newest policy, and return what they learned of it.

The game: a ball falls down a board, one row at a time, and a paddle on the lowest row goes to the
left, stays, or goes to the right. It wins 1 if it catches the ball, and loses 1 if not.

    python policy_gradient.py --transport hoplite --workers 4
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import model
import numpy as np
import programs
import ray
from actors import Computing, spread
from transports import Transport

SIDE = 6
ACTIONS = 3
RATE = 0.03
DECAY = 0.9
# So many of the last rounds are averaged.
LAST = 5
Array = model.Array


class Game:
    """Many games at once: a row of each array for each of them."""

    def __init__(self, count: int, random: np.random.Generator) -> None:
        self._ball = random.integers(0, SIDE, count)
        self._paddle = random.integers(0, SIDE, count)
        self._row = 0

    def over(self) -> bool:
        return self._row == SIDE - 1

    def board(self) -> Array:
        """One where the ball is, one where the paddle is."""
        games = np.arange(len(self._ball))
        board = np.zeros((len(games), SIDE + 1, SIDE))
        board[games, self._row, self._ball] = 1
        board[games, SIDE, self._paddle] = 1
        return board.reshape(len(games), -1)

    def move(self, actions: Array) -> None:
        self._paddle = np.clip(self._paddle + actions - 1, 0, SIDE - 1)
        self._row += 1

    def reward(self) -> Array:
        return np.where(self._ball == self._paddle, 1.0, -1.0)


class Player(Computing):
    """Plays with the policy that it is given."""

    def __init__(self, transport: Transport, number: int, games: int) -> None:
        super().__init__(transport)
        self._games = games
        self._random = np.random.default_rng(number)

    def play(self, policy: Any) -> tuple[float, Any]:
        """The mean reward, and the gradient by which the policy would have had more."""
        weights = self.transport.open(policy)
        game = Game(self._games, self._random)
        steps = []
        while not game.over():
            board = game.board()
            hidden, chances = model.forward(weights, board)
            drawn = self._random.random((self._games, 1))
            actions = (chances.cumsum(axis=1)[:, :-1] < drawn).sum(axis=1)
            game.move(actions)
            steps.append((board, hidden, model.error(chances, actions)))
        reward = game.reward()
        better = (reward - reward.mean())[:, None]
        boards, hiddens, errors = (np.concatenate(parts) for parts in zip(*steps, strict=True))
        errors *= np.tile(better, (len(steps), 1))
        gradient = model.backward(weights, boards, hiddens, errors)
        return float(reward.mean()), self.transport.result(gradient)


def learn(transport: Transport, players: list[Any], rounds: int, hidden: int) -> list[float]:
    """The mean reward of each round."""
    policy = model.initial((SIDE + 1) * SIDE, hidden, ACTIONS, np.float64)
    squares: model.Weights = {}
    rewards = []
    for _ in range(rounds):
        handle = transport.put(policy)
        calls = [player.play.options(num_returns=2).remote(handle) for player in players]
        total = transport.sum([gradient for _, gradient in calls])
        for name, gradient in total.items():
            before = squares.get(name, gradient**2)
            squares[name] = DECAY * before + (1 - DECAY) * gradient**2
            policy[name] = policy[name] - RATE * gradient / (np.sqrt(squares[name]) + 1e-5)
        rewards.append(float(np.mean(ray.get([reward for reward, _ in calls]))))
    return rewards


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    players = spread(Player, transport, options.workers, options.games)
    ray.get([player.seconds.remote() for player in players])
    with clock:
        rewards = learn(transport, players, options.rounds, options.hidden)
    return f"reward {rewards[0]:.3f} at first, {np.mean(rewards[-LAST:]):.3f} at last"


def main(arguments: Sequence[str] | None = None) -> None:
    programs.main(run, __doc__, arguments, workers=2, rounds=30, games=200, hidden=64)


if __name__ == "__main__":
    main()
