"""Stands in for a script that V8's build files call and the published crate leaves out.

Several C++ sources that share most of their headers are compiled as one file that includes them,
so the headers are parsed once. GN asks twice: for the names of the joined files while it plans
(`--compute-filenames`), and for the files themselves while ninja builds (`--generate`).
"""

import argparse
import os


def group(source):
    """Files of one folder get along as one file; V8 tries no other division.

    The generated assemblers of the two kinds lie in one folder and do not get along.
    """
    return os.path.dirname(source), source.endswith("-tsa.cc")


def plan(options):
    """The joined files by name, each with its sources."""
    groups = {}
    for source in sorted(options.sources):
        groups.setdefault(group(source), []).append(source)
    joined = {}
    for (folder, _), sources in sorted(groups.items()):
        small = any(part in folder for part in options.small_cluster_dirs)
        size = options.small_cluster_size if small else options.cluster_size
        for start in range(0, len(sources), size):
            joined[f"{options.prefix}-{len(joined)}.cc"] = sources[start : start + size]
    return joined


def generate(options):
    os.makedirs(options.output_dir, exist_ok=True)
    for name, sources in plan(options).items():
        paths = [options.include_prefix + s.removeprefix(options.strip_prefix) for s in sources]
        lines = [f'#include "{path}"\n' for path in paths]
        with open(os.path.join(options.output_dir, name), "w", encoding="utf-8") as file:
            file.writelines(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compute-filenames", action="store_true")
    parser.add_argument("--generate", action="store_true")
    parser.add_argument("--output-dir")
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--cluster-size", type=int, required=True)
    parser.add_argument("--small-cluster-size", type=int, required=True)
    parser.add_argument("--small-cluster-dirs", action="append", default=[])
    parser.add_argument("--strip-prefix", default="")
    parser.add_argument("--include-prefix", default="")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    if options.compute_filenames:
        print("\n".join(plan(options)))
    if options.generate:
        generate(options)


if __name__ == "__main__":
    main()
