"""Learn planning models for robots that predict only what planning needs.

The way data flows:

    environment → demonstrations → operators → samplers → PlanningModel → plans → records

`import needful` takes no time: each name is loaded when it is first asked for. Neither torch nor matplotlib
nor gymnasium is, before samplers are trained, pictures drawn, or `register_all` is called.
"""

from __future__ import annotations

from importlib import import_module

# The module that each name comes from; `__init__.pyi` says the same to type checkers.
_MODULES = {
    "abstraction.abstract": ("abstract",),
    "core.atoms": (
        "AbstractState",
        "GroundAtom",
        "LiftedAtom",
        "Predicate",
    ),
    "core.controllers": (
        "Controller",
        "Execution",
        "GroundController",
        "Policy",
    ),
    "core.demonstrations": (
        "Demonstration",
        "Transition",
    ),
    "core.model": (
        "PlanningModel",
        "Vocabulary",
    ),
    "core.objects": (
        "Object",
        "Type",
        "Variable",
    ),
    "core.operators": (
        "DeletePattern",
        "GroundOperator",
        "Operator",
        "Wildcard",
    ),
    "core.plans": (
        "AbstractPlan",
        "Failure",
        "Outcome",
        "PlanningResult",
        "necessary_atoms",
    ),
    "core.samplers": (
        "ConstantSampler",
        "Sampler",
    ),
    "core.state": ("State",),
    "core.tasks": ("Task",),
    "demos.collect": ("collect_demonstrations",),
    "demos.episodes": (
        "Episode",
        "demonstrations_from_episodes",
    ),
    "demos.oracle": ("OracleDemonstrator",),
    "demos.segmentation": (
        "Segment",
        "segment_by_controller",
        "segment_by_step",
    ),
    "envs.catalogue": (
        "environment_names",
        "make_environment",
    ),
    "envs.checker": ("check_environment",),
    "envs.contract": (
        "Environment",
        "MultiStepEnvironment",
        "Split",
    ),
    "envs.findings": ("Finding",),
    "envs.gym_registration": ("register_all",),
    "envs.oracle": ("oracle_operator",),
    "errors": (
        "DemonstrationError",
        "EnvironmentFailure",
        "InvalidInputError",
        "LearningTimeoutError",
        "ModelError",
        "NeedfulError",
        "OutputError",
        "OutputExistsError",
        "PlannerError",
        "ResultsError",
        "UnknownNameError",
    ),
    "evaluation.evaluate": ("evaluate",),
    "evaluation.learning": (
        "LearnedModel",
        "learn_model",
    ),
    "evaluation.model_files": (
        "open_model",
        "save_learned_model",
    ),
    "evaluation.pipeline": (
        "RunConfig",
        "RunResult",
        "run",
    ),
    "evaluation.policy_learning": (
        "LearnedPolicy",
        "learn_policy",
    ),
    "evaluation.records": ("RunRecord",),
    "evaluation.run_folder": ("RunFolder",),
    "evaluation.solvers": (
        "Solver",
        "bilevel_solver",
        "policy_solver",
    ),
    "operator_learning.catalogue": (
        "LEARNERS",
        "Learner",
        "find_learner",
    ),
    "operator_learning.experiments": (
        "ExperimentConfig",
        "drop_accidental_preconditions",
    ),
    "operator_learning.explanation": ("explain_operator",),
    "operator_learning.learn": (
        "OperatorLearningConfig",
        "learn_operators",
    ),
    "operator_learning.learned_operators": ("LearnedOperators",),
    "planning.bilevel": (
        "PlanningConfig",
        "plan",
    ),
    "planning.pddl": (
        "AbstractTask",
        "Style",
        "write_pddl",
    ),
    "planning.pddl_reader.domain": (
        "PddlDomain",
        "read_pddl_domain",
    ),
    "policies.catalogue": (
        "POLICIES",
        "PolicyKind",
    ),
    "policies.config": ("PolicyConfig",),
    "policies.graph_policy": ("GraphPolicy",),
    "sampler_learning.config": ("SamplerConfig",),
    "storage.demonstrations": (
        "DemonstrationSet",
        "read_demonstrations",
        "write_demonstrations",
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOMES, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'needful' has no attribute {name!r}")
    value: object = getattr(import_module(f"needful.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
