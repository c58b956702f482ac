"""What fuzz.py does with every program: calls of the tools with limits, damage, and findings."""
# SPDX-License-Identifier: Apache-2.0
import re
import resource
import signal
import subprocess

LIMIT = 60  # seconds of processor time for one call: a busy machine is no hang
PATIENCE = 600  # seconds of waiting for it
CRASH = re.compile(r"PLEASE submit|Stack dump|LLVM ERROR|Assertion|AddressSanitizer|runtime error:|terminate called")
TOKENS = re.compile(r'"[^"\n]*"|//[^\n]*|\w+|\s+|.')
STRANGE = ["{", "}", "(", ")", "[", "]", ",", '"', ";", "\n", "é", "->", "..", "@", "if", "fn", "let", "model", "0", "1e99", "-", "batch", "=", ":", "\0"]


class Finding(Exception):
    """What went wrong with one program."""


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))


def call(work, *command, status=(0,)):
    """Runs a command; its end must be orderly and its status one of `status`. Returns the status and the output."""
    words = [str(word) for word in command]
    try:
        result = subprocess.run(words, cwd=work, capture_output=True, text=True, errors="replace", timeout=PATIENCE, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        raise Finding(f"{' '.join(words)}: not finished after {PATIENCE} s") from None
    output = result.stdout + result.stderr
    if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Finding(f"{' '.join(words)}: not finished after {LIMIT} s of processor time\n{output[-4000:]}")
    if result.returncode not in status or CRASH.search(output):
        raise Finding(f"{' '.join(words)}: status {result.returncode}\n{output[-4000:]}")
    return result.returncode, output


def damage(text, rng):
    """The text with one to five tokens dropped, doubled, exchanged or replaced."""
    tokens = TOKENS.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place, choice = rng.randrange(len(tokens)), rng.random()
        if choice < 0.35:
            tokens[place] = ""
        elif choice < 0.6:
            tokens.insert(place, rng.choice(tokens))
        elif choice < 0.8:
            other = rng.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        else:
            tokens[place] = rng.choice(STRANGE)
    return "".join(tokens)
