# lit.cfg.py - finds and runs the tests that a RUN line describes.
# SPDX-License-Identifier: Apache-2.0
#
# A test lies in test/<suite>/, where its path mirrors the path of what it tests. Run some of them with
#   /usr/lib/llvm-22/bin/lit -v build/dev/test/lang
# The site configuration in the build folder says where the tools are.

import os

import lit.formats
import lit.util

config.name = "ptlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptl", ".test"]
# Inputs hold what tests read; unit and lib hold C++ and have their own runners.
config.excludes = ["Inputs", "golden", "unit", "lib", "bench"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ptlc_build, "test", "lit-output")

for name in ("HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.ptlc_build, "bin"), config.llvm_tools, os.environ["PATH"], "/usr/local/cuda/bin"])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"

root = config.ptlc_source
config.substitutions.append(("%golden", os.path.join(root, "test", "execute", "golden")))
config.substitutions.append(("%examples", os.path.join(root, "examples")))
config.substitutions.append(("%root", root))
config.substitutions.append(("%build", config.ptlc_build))
config.substitutions.append(("%python", config.python))

# Also prints and parses again what ptl-opt reads.
if lit_config.params.get("roundtrip", "0") == "1":
    config.substitutions.append((r"\bptl-opt\b", "ptl-opt --verify-roundtrip"))

# What a test may require. `slow` tests run in the full set only, `nightly` ones on demand.
if lit_config.params.get("slow", "1") == "1":
    config.available_features.add("slow")
if lit_config.params.get("nightly", "0") == "1":
    config.available_features.add("nightly")
if config.sanitize:
    config.available_features.add("sanitize")
    config.available_features.update(config.sanitize.split(","))
for tool, feature in (("ptxas", "ptxas"), ("nvidia-smi", "gpu")):
    if lit.util.which(tool, config.environment["PATH"]):
        config.available_features.add(feature)
# A launcher, and the runtime's library built against its MPI.
if lit.util.which("mpirun", config.environment["PATH"]) and os.path.exists(
        os.path.join(config.ptlc_build, "lib", "libptlrt_mpi.so")):
    config.available_features.add("mpi")
