"""KinDER's 2D environments (PyPI `kindergarden`) as domains, such as `kinder/StickButton2D-b5`.

`environment` adapts KinDER's simulator. `bodies` has the shapes of objects, and `motion` and `pose_lattice`
plan paths. `blocks` has parts that several environments share. Each of the other modules has the skills,
predicates and oracle of one environment, and `cluttered` those of two.
"""
