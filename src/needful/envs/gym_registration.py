"""Make the catalogue known to Gymnasium."""

from __future__ import annotations

from needful.envs.catalogue import CATALOGUE


def register_all() -> tuple[str, ...]:
    """Register every domain with Gymnasium and return the ids, such as `needful/Screws-v0`.

    `gymnasium.make` takes the arguments of `needful.envs.gym.GymView`. Calling this again does nothing.
    """
    import gymnasium  # takes long, so not before it is wanted

    ids = {f"needful/{entry.class_name}-v0": name for name, entry in sorted(CATALOGUE.items())}
    for identifier, name in ids.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier, entry_point="needful.envs.gym:GymView", kwargs={"environment": name}
            )
    return tuple(ids)
