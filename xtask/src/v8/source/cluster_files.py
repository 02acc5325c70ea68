"""Makes the files of V8's cluster build, each of which includes several sources.

V8's `gni/cluster_build.gni` runs this script, and the `v8` crate leaves V8's own one out. A source
is compiled with up to `--cluster-size` others of its folder, so that the headers that they share
are parsed once. Sources for Turboshaft's assembler are compiled without the others: they use a
namespace in which names of V8 stand for other things.
"""

import argparse
import os
from itertools import groupby


def parse_arguments():
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
    return parser.parse_args()


def clusters(arguments):
    """Yields the name of each cluster's file, and the sources that it includes."""
    number = 0
    for (folder, _), group in groupby(sorted(arguments.sources, key=key), key):
        sources = sorted(group)
        is_small = any(f"/{small}/" in f"/{folder}/" for small in arguments.small_cluster_dirs)
        size = arguments.small_cluster_size if is_small else arguments.cluster_size
        for start in range(0, len(sources), size):
            yield f"{arguments.prefix}-{number}.cc", sources[start : start + size]
            number += 1


def key(source):
    return os.path.dirname(source), source.endswith("-tsa.cc")


def write_cluster(arguments, name, sources):
    lines = [
        f'#include "{arguments.include_prefix}{source.removeprefix(arguments.strip_prefix)}"\n'
        for source in sources
    ]
    with open(os.path.join(arguments.output_dir, name), "w", encoding="utf-8") as file:
        file.writelines(lines)


def main():
    arguments = parse_arguments()
    if arguments.generate:
        os.makedirs(arguments.output_dir, exist_ok=True)
    for name, sources in clusters(arguments):
        if arguments.compute_filenames:
            print(name)
        if arguments.generate:
            write_cluster(arguments, name, sources)


if __name__ == "__main__":
    main()
