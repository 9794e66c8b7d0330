"""KinDER's 2D environments (PyPI `kindergarden`) as domains, such as `kinder/StickButton2D-b5`.

`environment` adapts the simulator, `bodies` and `motion` are geometry for skills, and every other module
has the skills, predicates and oracle of one environment.
"""
