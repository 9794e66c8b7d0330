"""Loading models from model directories and run folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import toy_world
from needful.approaches.files import bind_model, load_solver, model_digest, open_model
from needful.core.model import PlanningModel, Vocabulary
from needful.errors import ModelError
from needful.planning.bilevel import PlanningConfig
from needful.storage.model_directory import save_model
from toy_environment import ToyEnvironment

TOY = ToyEnvironment()


def test_models_must_fit_the_environment(tmp_path: Path) -> None:
    foreign = Vocabulary(toy_world.VOCABULARY.types, (), toy_world.VOCABULARY.controllers)

    class Other(ToyEnvironment):
        name = "other"
        vocabulary = foreign

    with pytest.raises(ModelError, match=r"does not fit the domain 'other'\. Unknown predicate"):
        bind_model(TOY.oracle_model(), Other())
    save_model(tmp_path / "model", PlanningModel(TOY.vocabulary, toy_world.OPERATORS), {}, "")
    with pytest.raises(ModelError, match="no samplers for MoveTo"):
        load_solver(tmp_path / "model", TOY, PlanningConfig())


def test_model_is_found_in_a_run_folder_and_in_a_model_directory(tmp_path: Path) -> None:
    model = PlanningModel(TOY.vocabulary, toy_world.OPERATORS[1:])
    save_model(tmp_path / "run" / "model", model, {"which": "inner"}, "")
    save_model(tmp_path / "alone", model, {"which": "alone"}, "")
    assert open_model(tmp_path / "run").provenance == {"which": "inner"}
    assert open_model(str(tmp_path / "run")).provenance == {"which": "inner"}
    assert open_model(tmp_path / "alone").provenance == {"which": "alone"}
    assert model_digest(tmp_path / "run") != model_digest(tmp_path / "alone")
    # The outer of two nested model directories is the model.
    save_model(tmp_path / "alone" / "model", model, {"which": "nested"}, "")
    assert open_model(tmp_path / "alone").provenance == {"which": "alone"}
    with pytest.raises(ModelError, match="does not exist"):
        open_model(tmp_path / "absent")
