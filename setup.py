"""Build the optional search engine in C++; all other settings are in pyproject.toml.

Without a compiler, the package is installed without this engine, and planning uses the Python engine.
"""

from __future__ import annotations

from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import setup

ParallelCompile().install()
native = Path("native")
engine = Pybind11Extension(
    "needful.planning.engines._engine",
    sorted(str(source) for source in native.glob("*.cpp")),
    depends=sorted(str(header) for header in native.glob("*.hpp")),
    cxx_std=17,
    extra_compile_args=["-O3", "-Wall", "-Wextra"],
    optional=True,
)
setup(ext_modules=[engine], cmdclass={"build_ext": build_ext})
