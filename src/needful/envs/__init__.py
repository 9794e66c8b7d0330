"""Environments: the contract, its checker, the catalogue, and one file per analytic domain.

`needful` exports what most programs need: `Environment`, `make_environment`, `check_environment` and so on.
Public here beyond that:

    needful.envs.gym                 GymView
    needful.envs.drawing.pictures    draw_state, draw_film_strip, make_captions
    needful.envs.drawing.film        film_plan, as_gif, as_mp4
"""
