"""An arm with a suction gripper stacks blocks in PyBullet; the planner restores snapshots of the physics.

The arm (a KUKA iiwa), its meshes and the physics come with PyBullet: pip install 'needful[examples]'.

    python examples/simulators/stacking_blocks.py
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import needful
from needful import (
    AbstractState,
    GroundController,
    Object,
    PlanningModel,
    Sampler,
    Split,
    State,
    Task,
    Type,
)
from needful.envs.adapters.pybullet import PyBulletEnvironment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 0.05  # the edge of a block, in metres
TABLE_LOW, TABLE_HIGH = (0.36, -0.35), (0.60, 0.35)  # within reach of the arm, at any height of a tower
TRAVEL_HEIGHT = 0.40  # of the gripper between two places
SUCTION_RADIUS = 0.02  # the gripper holds a block only near the centre of its top
GRIPPER_LENGTH = 0.0455  # from the frame of the last link to the face of the gripper
LAST_LINK = 6
HOME = (0.0, 0.5, 0.0, -1.3, 0.0, 1.3, 0.0)

ARM = Type("arm", ("x", "y", "z"))
BLOCK = Type("block", ("x", "y", "z", "held"))
KUKA = ARM("kuka")


def _held(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[-1], "held") > 0.5


def _on(state: State, objects: Sequence[Object]) -> bool:
    upper, lower = (np.array(state[block]) for block in objects)
    offset = np.hypot(*(upper - lower)[:2])
    gap = abs(upper[2] - lower[2] - SIZE)
    return bool(offset < SIZE / 2 and gap < 0.2 * SIZE and upper[3] < 0.5)


def _on_table(state: State, objects: Sequence[Object]) -> bool:
    return state.get(objects[0], "z") < 0.7 * SIZE and not _held(state, objects)


def _clear(state: State, objects: Sequence[Object]) -> bool:
    (block,) = objects
    return not any(_on(state, (other, block)) for other in state.of_type(BLOCK) if other != block)


def _hand_empty(state: State, objects: Sequence[Object]) -> bool:
    return not any(_held(state, (block,)) for block in state.of_type(BLOCK))


HOLDING = needful.Predicate("Holding", (ARM, BLOCK), _held)
HAND_EMPTY = needful.Predicate("HandEmpty", (ARM,), _hand_empty)
ON = needful.Predicate("On", (BLOCK, BLOCK), _on)
ON_TABLE = needful.Predicate("OnTable", (BLOCK,), _on_table)
CLEAR = needful.Predicate("Clear", (BLOCK,), _clear)

# The parameters of Pick and Stack are offsets from the centre of a block; those of PutDown are a place.
PICK = needful.Controller("Pick", (ARM, BLOCK), low=(-SIZE, -SIZE), high=(SIZE, SIZE))
STACK = needful.Controller("Stack", (ARM, BLOCK, BLOCK), low=(-SIZE, -SIZE), high=(SIZE, SIZE))
PUT_DOWN = needful.Controller("PutDown", (ARM, BLOCK), low=TABLE_LOW, high=TABLE_HIGH)


class StackingBlocks(PyBulletEnvironment):
    """The simulator, the tasks and a scripted demonstrator; there is no oracle model."""

    name = "stacking-blocks"
    description = "An arm with a suction gripper stacks blocks in PyBullet."
    vocabulary = needful.Vocabulary(
        (ARM, BLOCK), (HOLDING, HAND_EMPTY, ON, ON_TABLE, CLEAR), (PICK, STACK, PUT_DOWN)
    )

    def scene(self, start: Sequence[Sequence[float]]) -> Hashable:
        """Return the number of blocks: each number needs its own world."""
        return len(start)

    def load(self, client: Any, scene: Any) -> Mapping[str, int]:
        """Load the table, the arm and the blocks."""
        import pybullet_data

        client.setAdditionalSearchPath(pybullet_data.getDataPath())
        client.setGravity(0.0, 0.0, -9.81)
        cube = client.createCollisionShape(client.GEOM_BOX, halfExtents=[SIZE / 2] * 3)
        bodies = {
            "table": client.loadURDF("plane.urdf"),
            "arm": client.loadURDF("kuka_iiwa/model.urdf", useFixedBase=True),
        }
        for number in range(scene):
            bodies[f"block{number}"] = client.createMultiBody(0.1, cube, basePosition=(-1.0, number, SIZE))
        return bodies

    def arrange(self, start: Sequence[Sequence[float]]) -> None:
        """Put each block at its position or into the gripper, and wait until all blocks rest."""
        client, bodies = self.simulator.client, self.simulator.bodies
        for joint, angle in enumerate(HOME):
            client.resetJointState(bodies["arm"], joint, angle)
        for number, (x, y, z, held) in enumerate(start):
            if held > 0.5:
                x, y, z = np.subtract(self._gripper(), (0.0, 0.0, SIZE / 2))
            client.resetBasePositionAndOrientation(bodies[f"block{number}"], (x, y, z), (0, 0, 0, 1))
            if held > 0.5:
                self.simulator.attach(bodies["arm"], LAST_LINK, bodies[f"block{number}"])
        self._hold_still(60)

    def start_of(self, state: State) -> Hashable:
        """Return the features of the blocks, from which `arrange` sets up the physics."""
        return tuple(state[block] for block in state.of_type(BLOCK))

    def observe(self) -> State:
        """Return the positions of the gripper and of the blocks."""
        client, bodies = self.simulator.client, self.simulator.bodies
        held = {attachment.child for attachment in self.simulator.attachments}
        state = {KUKA: self._gripper()}
        for name, body in bodies.items():
            if name.startswith("block"):
                position, _ = client.getBasePositionAndOrientation(body)
                state[BLOCK(name)] = (*position, float(body in held))
        return State(state)

    def run(self, action: GroundController) -> int:
        """Run a controller: a few motions of the gripper."""
        state, (_, block, *_) = self.observe(), action.objects
        body = self.simulator.bodies[block.name]
        x, y, z, _ = state[block]
        if action.controller == PICK:
            self._require(_hand_empty(state, (KUKA,)), "The gripper holds a block already.")
            above = [
                other for other in state.of_type(BLOCK) if other != block and _on(state, (other, block))
            ]
            self._require(not above, f"Another block is on {block.name}.", above)
            dx, dy = action.parameters
            self._require(np.hypot(dx, dy) < SUCTION_RADIUS, "The gripper touches no flat surface.")
            self._visit(x + dx, y + dy, z + SIZE / 2 + 0.002, attach=body)
            return 1
        self._require(_held(state, (block,)), f"The gripper does not hold {block.name}.")
        if action.controller == STACK:
            target = np.array(state[action.objects[2]])
            place = target[:2] + action.parameters
            height = target[2] + SIZE
        else:
            place, height = np.array(action.parameters), SIZE / 2
        offset = np.array(state[KUKA][:2]) - (x, y)  # the gripper may hold the block off its centre
        gripper_x, gripper_y = place + offset
        self._visit(gripper_x, gripper_y, height + SIZE / 2 + 0.004, detach=body)
        return 1

    def _require(self, condition: Any, reason: str, offending: Sequence[Object] = ()) -> None:
        if not condition:
            raise needful.EnvironmentFailure(reason, offending)

    def _visit(self, x: float, y: float, z: float, attach: int = -1, detach: int = -1) -> None:
        """Move the gripper down to a place, attach or detach a body there, and move up again."""
        gripper_x, gripper_y, _ = self._gripper()
        self._move(gripper_x, gripper_y, TRAVEL_HEIGHT)
        self._move(x, y, TRAVEL_HEIGHT)
        self._move(x, y, z)
        if attach >= 0:
            self.simulator.attach(self.simulator.bodies["arm"], LAST_LINK, attach)
        if detach >= 0:
            self.simulator.detach(detach)
            self._hold_still(30)
        self._move(x, y, TRAVEL_HEIGHT)
        self._hold_still(30)

    def _move(self, x: float, y: float, z: float) -> None:
        """Move the gripper along a straight line, until the arm is there."""
        start = np.array(self._gripper())
        way = np.array((x, y, z)) - start
        for share in np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(way) / 0.08))[1:]:
            self._approach(start + share * way, 0.003 if share == 1.0 else 0.03)

    def _approach(self, place: np.ndarray, precision: float) -> None:
        client, arm = self.simulator.client, self.simulator.bodies["arm"]
        angles = client.calculateInverseKinematics(
            arm,
            LAST_LINK,
            (place[0], place[1], place[2] + GRIPPER_LENGTH),
            client.getQuaternionFromEuler((np.pi, 0.0, 0.0)),
            maxNumIterations=100,
            residualThreshold=1e-5,
        )
        # The targets of the motors are not part of a snapshot, so that every motion sets all of them.
        forces, gains = [300.0] * 7, [0.1] * 7
        client.setJointMotorControlArray(
            arm, range(7), client.POSITION_CONTROL, angles, forces=forces, positionGains=gains
        )
        for _ in range(60):
            client.stepSimulation()
            positions = [joint[0] for joint in client.getJointStates(arm, range(7))]
            if np.abs(np.subtract(positions, angles)).max() < precision:
                break

    def _hold_still(self, steps: int) -> None:
        client, arm = self.simulator.client, self.simulator.bodies["arm"]
        angles = [joint[0] for joint in client.getJointStates(arm, range(7))]
        client.setJointMotorControlArray(arm, range(7), client.POSITION_CONTROL, angles, forces=[300.0] * 7)
        for _ in range(steps):
            client.stepSimulation()

    def _gripper(self) -> tuple[float, float, float]:
        client, arm = self.simulator.client, self.simulator.bodies["arm"]
        x, y, z = client.getLinkState(arm, LAST_LINK, computeForwardKinematics=1)[4]
        return x, y, z - GRIPPER_LENGTH

    def sample_task(self, split: Split, index: int, rng: np.random.Generator) -> Task:
        """Return a task: blocks in random piles, and towers to build. Test tasks have more blocks."""
        heights = ((2, 2), (3, 1), (2, 1, 1))[index % 3] if split is Split.TRAIN else (3, 2, 1)
        count, places = sum(heights), _free_places(len(heights), (), rng)
        positions = [
            (float(x), float(y), SIZE * (level + 0.5), 0.0)
            for (x, y), height in zip(places, heights, strict=True)
            for level in range(height)
        ]
        order = rng.permutation(count)
        state = self.initial_state(tuple(positions[number] for number in order))
        blocks = [BLOCK(f"block{number}") for number in rng.permutation(count)]
        towers = [blocks[: 2 + index % 2]] if split is Split.TRAIN else [blocks[:3], blocks[3:]]
        return Task(state, frozenset(ON(*pair) for tower in towers for pair in pairwise(tower)))

    def demonstrate(self, task: Task, rng: np.random.Generator) -> Generator[GroundController, State, None]:
        """Put every block on the table that is on another one, then build the towers from below."""
        state = task.initial_state
        offsets: Sampler = OffsetSampler()
        samplers = {PICK: offsets, STACK: offsets, PUT_DOWN: FreePlaceSampler()}

        def act(controller: needful.Controller, *objects: Object) -> GroundController:
            return controller(*objects, parameters=samplers[controller].sample(state, objects, rng))

        below = {atom.objects[0]: atom.objects[1] for atom in task.goal}
        while True:
            piled = [
                block
                for block in state.of_type(BLOCK)
                if _clear(state, (block,)) and not _on_table(state, (block,))
            ]
            if not piled:
                break
            state = yield act(PICK, KUKA, piled[0])
            state = yield act(PUT_DOWN, KUKA, piled[0])
        while below:
            block = next(one for one in sorted(below) if below[one] not in below)
            state = yield act(PICK, KUKA, block)
            state = yield act(STACK, KUKA, block, below.pop(block))

    def draw(self, state: State, axes: Axes, goal: AbstractState) -> None:
        """Draw the table from the side of the arm."""
        for block in state.of_type(BLOCK):
            _, y, z, held = state[block]
            colour = "tab:orange" if held > 0.5 else "tab:blue"
            axes.add_patch(_square(y, z, colour))
            axes.text(y, z, block.name.removeprefix("block"), ha="center", va="center")
        axes.scatter(state.get(KUKA, "y"), state.get(KUKA, "z"), marker="v", color="black")
        axes.set(xlim=(-0.5, 0.5), ylim=(0.0, 0.6), xlabel="y [m]", ylabel="z [m]")


class StackingBlocksWithOracle(StackingBlocks):
    """The same environment with hand-written operators, which also solve the test tasks."""

    name = "stacking-blocks-with-oracle"

    def oracle_model(self) -> PlanningModel:
        """Return the operators of the blocks world."""
        arm, block, other = needful.Variable("?arm", ARM), *(needful.Variable(f"?{n}", BLOCK) for n in "ab")
        hand_empty, holding = HAND_EMPTY.lifted(arm), HOLDING.lifted(arm, block)
        clear, on, on_table = CLEAR.lifted(block), ON.lifted(block, other), ON_TABLE.lifted(block)
        other_clear = CLEAR.lifted(other)
        pick = needful.oracle_operator(
            "Pick",
            (arm, block),
            (PICK, (arm, block)),
            needs=[hand_empty, clear, on_table],
            adds=[holding],
            deletes=[hand_empty, on_table],
        )
        unstack = needful.oracle_operator(
            "Unstack",
            (arm, block, other),
            (PICK, (arm, block)),
            needs=[hand_empty, clear, on],
            adds=[holding, other_clear],
            deletes=[hand_empty, on],
        )
        stack = needful.oracle_operator(
            "Stack",
            (arm, block, other),
            (STACK, (arm, block, other)),
            needs=[holding, other_clear],
            adds=[on, hand_empty],
            deletes=[holding, other_clear],
        )
        put_down = needful.oracle_operator(
            "PutDown",
            (arm, block),
            (PUT_DOWN, (arm, block)),
            needs=[holding],
            adds=[on_table, hand_empty],
            deletes=[holding],
        )
        offsets: Sampler = OffsetSampler()
        samplers = {"Pick": offsets, "Unstack": offsets, "Stack": offsets, "PutDown": FreePlaceSampler()}
        return PlanningModel(self.vocabulary, (pick, unstack, stack, put_down), samplers)


class OffsetSampler:
    """Samples an offset from the centre of a block."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        """Return an offset of a few millimetres."""
        return [float(value) for value in rng.normal(0.0, 0.003, 2)]


class FreePlaceSampler:
    """Samples a place on the table."""

    def sample(self, state: State, objects: Sequence[Object], rng: np.random.Generator) -> list[float]:
        """Return a place that is far from the other blocks."""
        taken = [state[block][:2] for block in state.of_type(BLOCK) if block not in objects]
        return [float(value) for value in _free_places(1, taken, rng)[0]]


def _free_places(
    count: int, taken: Sequence[Sequence[float]], rng: np.random.Generator
) -> list[np.ndarray]:
    """Return random places on the table: of 20 draws for each place, the one with the most free space."""
    places = [np.array(one) for one in taken]
    for _ in range(count):
        draws = rng.uniform(TABLE_LOW, TABLE_HIGH, (20, 2))
        free = [min((np.hypot(*(draw - one)) for one in places), default=1.0) for draw in draws]
        places.append(draws[int(np.argmax(free))])
    return places[len(taken) :]


def _square(y: float, z: float, colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (y - SIZE / 2, z - SIZE / 2), SIZE, SIZE, facecolor=colour, edgecolor="black", alpha=0.7
    )


if __name__ == "__main__":
    environment = StackingBlocks()
    result = needful.run(environment, needful.RunConfig(demos=30, tasks=20))
    assert isinstance(result.learned, needful.LearnedModel)
    print(*result.learned.model.operators, sep="\n\n")
    print(f"Solved {result.summary['solved']} of {result.summary['tasks']} unseen tasks.")
    print(environment.simulator_calls)
