"""KinDER's 2D environments (PyPI `kindergarden`) as domains, such as `kinder/StickButton2D-b5`.

`environment` adapts KinDER's simulator. `bodies` has the shapes of objects, and `motion` and `pose_lattice`
plan paths. `blocks` has code that several environments share. Each of the other modules has the skills, the
predicates and the hand-written model of one environment, and `cluttered` those of two.
"""
