"""Build the optional search engine in C++; all other settings are in pyproject.toml.

Without a compiler, the package is installed without this engine, and planning uses the Python engine.
"""

from __future__ import annotations

import os
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group


class ParallelBuild(build_ext):
    """Compiles the sources of an extension at the same time, one process per core."""

    def build_extension(self, ext: Extension) -> None:
        """Compile and link an extension, unless it is newer than its sources."""
        target, compiler = self.get_ext_fullpath(ext.name), self.compiler
        if not self.force and not newer_group([*ext.sources, *ext.depends], target, "newer"):
            return

        def compile_source(source: str) -> list[str]:
            return compiler.compile(
                [source], output_dir=self.build_temp, extra_postargs=ext.extra_compile_args
            )

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [one for compiled in pool.map(compile_source, ext.sources) for one in compiled]
        compiler.link_shared_object(
            objects,
            target,
            libraries=self.get_libraries(ext),
            export_symbols=self.get_export_symbols(ext),
            build_temp=self.build_temp,
            target_lang="c++",
        )


native = Path("native")
windows = ["/std:c++17", "/EHsc", "/O2"]
others = ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra"]
# One wheel serves all supported versions of Python, except those without the global interpreter lock.
stable = not sysconfig.get_config_var("Py_GIL_DISABLED")
engine = Extension(
    "needful.planning.engines._engine",
    sorted(str(source) for source in native.glob("*.cpp")),
    depends=sorted(str(header) for header in native.glob("*.hpp")),
    extra_compile_args=windows if os.name == "nt" else others,
    language="c++",
    py_limited_api=stable,
    optional=True,
)
setup(
    ext_modules=[engine],
    cmdclass={"build_ext": ParallelBuild},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable else {},
)
