"""Adapters for real robots and for simulators with hidden state, such as MuJoCo, PyBullet and Gymnasium."""
