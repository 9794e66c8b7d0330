"""Environments: the contract that a domain must meet, a checker of the contract, and all domains by name.

`needful` exports the names that most programs use, such as `Environment` and `make_environment`. These
modules have further public names:

    needful.envs.gym                 GymView
    needful.envs.adapters.snapshots  SnapshotEnvironment, SimulatorCalls
    needful.envs.adapters.mujoco     MujocoEnvironment, MujocoSimulator
    needful.envs.adapters.pybullet   PyBulletEnvironment, BulletWorld
    needful.envs.adapters.gymnasium  GymnasiumEnvironment
    needful.envs.adapters.robot      Robot
    needful.envs.drawing.pictures    draw_state, draw_film_strip, make_captions
    needful.envs.drawing.film        film_plan, as_gif, as_mp4
"""
