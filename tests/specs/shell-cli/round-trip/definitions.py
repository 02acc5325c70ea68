"""Imports definitions full of what YAML gives a meaning to, and compares what an export says."""

import json
import random
import subprocess

ROUNDS = 40
PIECES = [
    "a", "b c", ": ", " #", "\n", "\n\n", "  ", "\t", '"', "'", "{", "}", "[", "]", ",", "- ", "? ", "|", ">", "&",
    "*", "!", "%", "@", "`", "~", "null", "true", "1", "0x1", "1e3", ".5", "é", "\u2028", "\u0085", "\ufeff", "\x07",
    "\\", "\r", "---", "...", "yes", "=", "<<",
]  # fmt: skip
chance = random.Random(7)


def text():
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(0, 6)))


def value(depth=0):
    kind = chance.random()
    if kind < 0.6 or depth > 2:
        return text()
    if kind < 0.7:
        return chance.choice([True, False, None, 1, -2.5, 12345678901234567890123])
    if kind < 0.85:
        return [value(depth + 1) for _ in range(chance.randint(0, 3))]
    return {"k" + text(): value(depth + 1) for _ in range(chance.randint(0, 3))}


def definition():
    default = {"z": value(), "y": [value(), text()]}
    return {
        "name": "t",
        "description": "d" + text(),
        "bash": "x" + text(),
        "parameters": {"P": {"type": "object", "description": "p" + text(), "default": default}},
        "tests": [{"name": "n" + text(), "parameters": {"P": value()}, "cleanup": ["c" + text(), "e" + text()]}],
        "tags": ["read", "t" + text()],
    }


for _ in range(ROUNDS):
    given = definition()
    with open("given.json", "w", encoding="utf-8") as file:
        json.dump(given, file)
    subprocess.run(["haft", "tool", "import", "given.json", "--override"], check=True, capture_output=True)
    exported = subprocess.run(
        ["haft", "tool", "export", "t", "--format", "json"], check=True, capture_output=True
    )
    if json.loads(exported.stdout) != given:
        print("given:   ", given)
        print("exported:", json.loads(exported.stdout))
print(f"{ROUNDS} definitions")
