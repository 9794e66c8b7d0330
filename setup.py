"""Build the optional search engine in C++; all other settings are in pyproject.toml.

Without a compiler, the package is installed without this engine, and planning uses the Python engine.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class ParallelBuild(build_ext):
    """Compiles the sources of an extension at the same time, one process per core."""

    def build_extension(self, ext: Extension) -> None:
        """Compile and link an extension."""
        compiler = self.compiler

        def compile_source(source: str) -> list[str]:
            return compiler.compile(
                [source],
                output_dir=self.build_temp,
                extra_postargs=ext.extra_compile_args,
                depends=ext.depends,
            )

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [one for compiled in pool.map(compile_source, ext.sources) for one in compiled]
        target = self.get_ext_fullpath(ext.name)
        compiler.link_shared_object(objects, target, build_temp=self.build_temp, target_lang="c++")


native = Path("native")
windows = ["/std:c++17", "/EHsc", "/O2"]
others = ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra"]
engine = Extension(
    "needful.planning.engines._engine",
    sorted(str(source) for source in native.glob("*.cpp")),
    depends=sorted(str(header) for header in native.glob("*.hpp")),
    extra_compile_args=windows if os.name == "nt" else others,
    language="c++",
    py_limited_api=True,
    optional=True,
)
# One wheel serves all supported versions of Python.
setup(
    ext_modules=[engine],
    cmdclass={"build_ext": ParallelBuild},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
