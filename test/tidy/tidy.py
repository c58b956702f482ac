#!/usr/bin/env python3
"""Checks the rules of compiler/doc/Style.md that a script can check.

Usage: tidy.py ROOT [--list-rules]. Prints one line per finding, 'file:line: rule: what', and fails if there is any.
A rule is a function that yields findings; EXEMPT lists what may break one, with the reason. An exemption that nothing
needs is a finding, too, so the list only shrinks.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import subprocess
import sys

# (rule, file): reason.
EXEMPT = {}

SIZES = [  # (pattern of the path, most lines)
    (r"(^|/)CMakeLists\.txt$", 60),
    (r"^(lang|dialects|compiler|runtime|test)/.*\.h$", 250),
    (r"\.cpp$", 500),
    (r"\.td$", 400),
    (r"^test/(lang|dialects|compiler|tools|execute)/.*\.(mlir|ptl|test)$", 250),
]
SIZE_EXCEPT = {"CMakeLists.txt": 120}
FUNCTION_LINES = 60

# Messages that no test expects, by folder. The numbers only go down.
UNTESTED_MESSAGES = {"lang/": 86, "dialects/": 0, "compiler/": 23}

# What each folder may include, most specific first. Layers are also checked by CMake, library by library.
MLIR = ("mlir/", "llvm/")
LAYERS = [
    ("lang/Diag/", ("lang/Diag/", "llvm/")),
    ("lang/AST/", ("lang/AST/", "lang/Diag/", "llvm/")),
    ("lang/Parse/", ("lang/", "llvm/", "antlr4-runtime", "Ptl")),
    ("lang/", ("lang/", "llvm/")),
    ("dialects/Interfaces/", ("dialects/Interfaces/", *MLIR)),
    ("dialects/Ptl/", ("dialects/Interfaces/", "dialects/Ptl/", *MLIR)),
    ("dialects/Spmd/", ("dialects/Interfaces/", "dialects/Ptl/", "dialects/Spmd/", *MLIR)),
    ("dialects/", ("dialects/", *MLIR)),
    ("compiler/Support/", ("compiler/Support/", *MLIR)),
    ("compiler/Schedule/", ("compiler/Schedule/", "runtime/include/")),
    ("compiler/Import/", ("lang/", "dialects/", "compiler/Support/", "compiler/Analysis/", "compiler/Import/", *MLIR)),
    ("compiler/Analysis/", ("dialects/", "compiler/Support/", "compiler/Analysis/", *MLIR)),
    ("compiler/Transforms/Stage/", ("dialects/", "compiler/Support/", "compiler/Analysis/", "compiler/Schedule/", "<own>", *MLIR)),
    ("compiler/Transforms/", ("dialects/", "compiler/Support/", "compiler/Analysis/", "<own>", *MLIR)),
    ("compiler/Conversion/", ("dialects/", "compiler/Support/", "compiler/Analysis/", "compiler/Conversion/KernelScalars/",
                              "<own>", *MLIR)),
    ("compiler/Codegen/CPU/", ("dialects/", "compiler/", "runtime/include/", "ptlrt/", *MLIR)),
    ("compiler/Codegen/", ("dialects/", "compiler/", *MLIR)),
    ("compiler/Pipelines/", ("lang/", "dialects/", "compiler/", *MLIR)),
    ("runtime/", ("runtime/", "ptlrt/")),
    ("test/lib/ptl-run/", ("dialects/", "test/lib/ptl-run/", *MLIR)),
]
NEVER = [  # (folder, what it may never include)
    ("compiler/Codegen/CPU/", "compiler/Codegen/CUDA/"),
    ("compiler/Codegen/CUDA/", "compiler/Codegen/CPU/"),
    ("compiler/Codegen/", "compiler/Driver/"),
    ("compiler/Pipelines/", "compiler/Driver/"),
    ("compiler/Analysis/", "compiler/Transforms/"),
]

FORBIDDEN = [  # The project speaks of itself alone.
    (r"(?<![\w.])/(home|root|Users)/", "a path of somebody's machine"),
    (r"\bissue #?\d|\bin this session\b", "a word about how the project is made"),
    (r"https?://(deb\.debian\.org|pypi\.org)", "a package host"),
    (r"\b(TODO|FIXME|XXX)\b", "an open end; finish it, or write down the limit"),
]


class File:
    """One text file of the tree."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.rsplit("/", 1)[-1]
        self.folder = path[: -len(self.name)]
        self.text = (root / path).read_text(encoding="utf-8")
        self.lines = self.text.splitlines()

    def is_cpp(self):
        return self.name.endswith((".cpp", ".h", ".c", ".cc"))

    def is_source(self):
        return self.is_cpp() or self.name.endswith((".td", ".py", ".cmake", ".g4")) or self.name == "CMakeLists.txt"


def rule_size(tree):
    """Files stay small enough to be read at once."""
    for file in tree:
        limit = next((n for pattern, n in SIZES if re.search(pattern, file.path)), None)
        limit = SIZE_EXCEPT.get(file.path, limit)
        if limit and len(file.lines) > limit:
            yield file.path, 1, f"{len(file.lines)} lines, the limit is {limit}"


def rule_function_size(tree):
    """Functions stay small, found by LLVM's layout: '{' ends the first line, '}' stands below its beginning."""
    begin = re.compile(r"^( *)[\w:~&<>\[\]*].*\)( const| override| final| noexcept| mutable)*( -> [^{]*)? \{$")
    control = re.compile(r"^ *(\} )?(if|for|while|switch|else|do|namespace|return|case|TEST\w*)\b|= *\[|, \[")
    for file in tree:
        if not file.name.endswith((".cpp", ".h")):
            continue
        for number, line in enumerate(file.lines):
            match = begin.match(line)
            if not match or control.search(line):
                continue
            close = match.group(1) + "}"
            end = next((i for i in range(number, len(file.lines)) if file.lines[i].rstrip(";") == close), number)
            if end - number - 1 > FUNCTION_LINES:
                yield file.path, number + 1, f"a function of {end - number - 1} lines, the limit is {FUNCTION_LINES}"


def rule_header(tree):
    """Every C++ file opens with its name, what it is, and the licence."""
    for file in tree:
        if not file.is_cpp():
            continue
        if not file.lines or not re.match(rf"//===-+ {re.escape(file.name)} - .+ -*(\*- C\+\+ -\*-)?===//$", file.lines[0]):
            yield file.path, 1, f"expected '//===- {file.name} - what it is ---===//'"
        elif "SPDX-License-Identifier: Apache-2.0" not in "\n".join(file.lines[:4]):
            yield file.path, 2, "expected '// SPDX-License-Identifier: Apache-2.0'"


def rule_guard(tree):
    """The include guard of a header is its path."""
    for file in tree:
        if file.name.endswith(".h"):
            path = "ptlrt/" + file.path[8:] if file.path.startswith("runtime/") else "ptlc/" + file.path
            path = "ptlrt/ptlrt.h" if file.path == "runtime/include/ptlrt/ptlrt.h" else path
            guard = re.sub(r"[^A-Z0-9]", "_", path.upper())
            if f"#ifndef {guard}" not in file.text or f"#define {guard}" not in file.text:
                yield file.path, 1, f"expected the include guard {guard}"


def rule_names(tree):
    """A helper has a name; folders of helpers have none."""
    for file in tree:
        if re.search(r"utils?\b|helpers?\b|common\b|misc\b", re.sub(r"[-_.]", " ", file.name).lower()):
            yield file.path, 1, "a file named after helpers; name the one concept it holds"
        if re.match(r"test/(lang|dialects|compiler|tools|execute)/", file.path):
            if file.name.endswith((".mlir", ".ptl", ".test")) and "/Inputs/" not in file.path:
                if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.\w+", file.name):
                    yield file.path, 1, "tests have kebab-case names"


def rule_layers(tree):
    """A file includes only what its layer may see."""
    for file in tree:
        if not file.is_cpp():
            continue
        allowed = next((a for folder, a in LAYERS if file.path.startswith(folder)), None)
        for number, line in enumerate(file.lines, 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not match or (match.group(1) == "<" and not match.group(2).startswith(MLIR)):
                continue
            include = match.group(2)
            if allowed and not include.startswith(tuple(file.folder if a == "<own>" else a for a in allowed)):
                yield file.path, number, f"this layer may not include '{include}'"
            for folder, never in NEVER:
                if file.path.startswith(folder) and include.startswith(never):
                    yield file.path, number, f"'{folder}' may never include '{include}'"


def rule_cpp(tree):
    """What C++ files never hold."""
    for file in tree:
        if not file.is_cpp():
            continue
        for number, line in enumerate(file.lines, 1):
            if file.name.endswith(".h") and re.match(r"\s*using namespace\b", line):
                yield file.path, number, "'using namespace' in a header"
            if "cl::opt<" in line and "/tools/" not in file.path:
                yield file.path, number, "'cl::opt' outside of tools: a global constructor"
            if "\t" in line or line != line.rstrip():
                yield file.path, number, "a tab, or blanks at the end of a line"


def pass_entries(file):
    """Yields (class, flag, body, line) of each pass in a Passes.td."""
    starts = list(re.finditer(r'^def (\w+)\s*:\s*Pass<"([^"]+)"', file.text, re.M))
    for start, after in zip(starts, [*(s.start() for s in starts[1:]), len(file.text)]):
        yield start[1], start[2], file.text[start.start() : after], file.text.count("\n", 0, start.start()) + 1


def rule_passes(tree):
    """A pass, its file, its test and its flag share one name; its entry shows what it does."""
    paths = {file.path for file in tree}
    for file in tree:
        if file.name != "Passes.td":
            continue
        for name, flag, body, line in pass_entries(file):
            kebab = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
            if not flag.endswith(kebab):
                yield file.path, line, f"the flag of {name} ends in '{kebab}', found '{flag}'"
            if f"{file.folder}{name}.cpp" not in paths:
                yield file.path, line, f"expected {name}.cpp beside it"
            if f"test/{file.folder}{kebab}.mlir" not in paths:
                yield file.path, line, f"expected a test test/{file.folder}{kebab}.mlir"
            for word in ("summary", "description", "Requires:", "Keeps:"):
                if word not in body:
                    yield file.path, line, f"the entry of {name} lacks '{word}'"


def rule_ops(tree):
    """An operation says what it does and shows an example."""
    for file in tree:
        if not re.fullmatch(r"dialects/\w+/\w+Ops\w*\.td", file.path):
            continue
        starts = list(re.finditer(r"^def (\w+Op)\b", file.text, re.M))
        for start, after in zip(starts, [*(s.start() for s in starts[1:]), len(file.text)]):
            body = file.text[start.start() : after]
            for word in ("summary", "description"):
                if word not in body and "_ElementwiseOp" not in body:
                    yield file.path, file.text.count("\n", 0, start.start()) + 1, f"{start[1]} lacks a {word}"


def rule_messages(tree):
    """A message to users is expected by some test."""
    tests = "\n".join(file.text for file in tree if file.path.startswith("test/"))
    call = re.compile(r'\b(?:emitOpError|emitError|error|report)\((?:[^"();]|\([^()]*\))*"((?:[^"\\]|\\.)*)"')
    for folder, limit in UNTESTED_MESSAGES.items():
        untested = []
        for file in tree:
            if file.path.startswith(folder) and file.name.endswith((".cpp", ".h")):
                for match in call.finditer(file.text):
                    text = match[1].replace('\\"', '"').strip(" '")
                    if len(text) > 8 and text not in tests:
                        untested.append((file.path, file.text.count("\n", 0, match.start()) + 1, text))
        if len(untested) > limit:
            for path, line, text in untested:
                yield path, line, f"no test expects the message '{text}' (of {len(untested)}, the limit is {limit})"
        elif len(untested) < limit:
            yield "test/tidy/tidy.py", 1, f"lower UNTESTED_MESSAGES of '{folder}' to {len(untested)}"


def rule_words(tree):
    """The project speaks of itself alone, and has no open ends."""
    here = (re.escape(str(tree.root)), "the path of this clone")
    for file in tree:
        if file.path.startswith("test/tidy/"):
            continue
        for number, line in enumerate(file.lines, 1):
            for pattern, what in [*FORBIDDEN, here]:
                if re.search(pattern, line):
                    yield file.path, number, f"{what}: '{line.strip()[:60]}'"


def rule_links(tree):
    """A page links only to what exists."""
    root = tree.root
    for file in tree:
        if not file.name.endswith(".md"):
            continue
        for number, line in enumerate(file.lines, 1):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                if "://" not in target and not (root / file.folder / target).exists():
                    yield file.path, number, f"the link '{target}' leads nowhere"


class Tree(list):
    """The text files of the project: what git tracks or would track."""

    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                                check=True, capture_output=True, text=True).stdout
        binary = (".npy", ".bin", ".safetensors", ".png")
        paths = sorted({p for p in listed.splitlines() if (root / p).is_file() and not p.endswith(binary)})
        super().__init__(File(root, path) for path in paths)


def main():
    rules = {name[5:]: value for name, value in globals().items() if name.startswith("rule_")}
    if "--list-rules" in sys.argv:
        for name, rule in rules.items():
            print(f"{name}: {rule.__doc__}")
        return 0
    tree = Tree(pathlib.Path(sys.argv[1]).resolve())
    findings, needed = [], set()
    for name, rule in rules.items():
        for path, line, text in rule(tree):
            if (name, path) in EXEMPT:
                needed.add((name, path))
            else:
                findings.append(f"{path}:{line}: {name}: {text}")
    findings += [f"{path}:1: {rule}: this exemption isn't needed any more" for rule, path in EXEMPT.keys() - needed]
    print("\n".join(sorted(findings)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
