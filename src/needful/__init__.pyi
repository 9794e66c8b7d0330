"""What type checkers and editors are told: the same names as in `__init__.py`, which loads them late."""

from needful.abstraction.abstract import abstract
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.controllers import Controller, Execution, GroundController, Policy
from needful.core.demonstrations import Demonstration, Transition
from needful.core.model import ConstantSampler, PlanningModel, Sampler, Vocabulary
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator, Wildcard
from needful.core.plans import AbstractPlan, Failure, Outcome, PlanningResult, necessary_atoms
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import OracleDemonstrator, collect_demonstrations
from needful.demos.episodes import (
    Episode,
    Segment,
    demonstrations_from_episodes,
    segment_by_controller,
    segment_by_step,
)
from needful.envs.catalogue import environment_names, make_environment
from needful.envs.checker import check_environment
from needful.envs.contract import Environment, MultiStepEnvironment, Split, oracle_operator
from needful.envs.findings import Finding
from needful.envs.gym import register_all
from needful.errors import (
    DemonstrationError,
    EnvironmentFailure,
    InvalidInputError,
    LearningTimeoutError,
    ModelError,
    NeedfulError,
    OutputError,
    OutputExistsError,
    PlannerError,
    ResultsError,
    UnknownNameError,
)
from needful.evaluation.evaluate import evaluate
from needful.evaluation.learning import LearnedModel, learn_model
from needful.evaluation.model_files import open_model, save_learned_model
from needful.evaluation.pipeline import RunConfig, RunResult, run
from needful.evaluation.policy_learning import LearnedPolicy, learn_policy
from needful.evaluation.records import RunRecord
from needful.evaluation.run_folder import RunFolder
from needful.evaluation.solvers import Solver, bilevel_solver, policy_solver
from needful.operator_learning.catalogue import LEARNERS, Learner, find_learner
from needful.operator_learning.experiments import ExperimentConfig, drop_accidental_preconditions
from needful.operator_learning.explanation import explain_operator
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.learned_operators import LearnedOperators
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.pddl.reader import PddlDomain, read_pddl_domain
from needful.planning.pddl.writer import AbstractTask, Style, write_pddl
from needful.policies.catalogue import POLICIES, PolicyKind
from needful.policies.graph_policy import GraphPolicy, PolicyConfig
from needful.sampler_learning.config import SamplerConfig
from needful.storage.demonstrations import DemonstrationSet, read_demonstrations, write_demonstrations

__all__ = [
    "LEARNERS",
    "POLICIES",
    "AbstractPlan",
    "AbstractState",
    "AbstractTask",
    "ConstantSampler",
    "Controller",
    "DeletePattern",
    "Demonstration",
    "DemonstrationError",
    "DemonstrationSet",
    "Environment",
    "EnvironmentFailure",
    "Episode",
    "Execution",
    "ExperimentConfig",
    "Failure",
    "Finding",
    "GraphPolicy",
    "GroundAtom",
    "GroundController",
    "GroundOperator",
    "InvalidInputError",
    "LearnedModel",
    "LearnedOperators",
    "LearnedPolicy",
    "Learner",
    "LearningTimeoutError",
    "LiftedAtom",
    "ModelError",
    "MultiStepEnvironment",
    "NeedfulError",
    "Object",
    "Operator",
    "OperatorLearningConfig",
    "OracleDemonstrator",
    "Outcome",
    "OutputError",
    "OutputExistsError",
    "PddlDomain",
    "PlannerError",
    "PlanningConfig",
    "PlanningModel",
    "PlanningResult",
    "Policy",
    "PolicyConfig",
    "PolicyKind",
    "Predicate",
    "ResultsError",
    "RunConfig",
    "RunFolder",
    "RunRecord",
    "RunResult",
    "Sampler",
    "SamplerConfig",
    "Segment",
    "Solver",
    "Split",
    "State",
    "Style",
    "Task",
    "Transition",
    "Type",
    "UnknownNameError",
    "Variable",
    "Vocabulary",
    "Wildcard",
    "abstract",
    "bilevel_solver",
    "check_environment",
    "collect_demonstrations",
    "demonstrations_from_episodes",
    "drop_accidental_preconditions",
    "environment_names",
    "evaluate",
    "explain_operator",
    "find_learner",
    "learn_model",
    "learn_operators",
    "learn_policy",
    "make_environment",
    "necessary_atoms",
    "open_model",
    "oracle_operator",
    "plan",
    "policy_solver",
    "read_demonstrations",
    "read_pddl_domain",
    "register_all",
    "run",
    "save_learned_model",
    "segment_by_controller",
    "segment_by_step",
    "write_demonstrations",
    "write_pddl",
]
