"""What is asked for: the plan, as an object, as a TOML file, as a command line."""

from shoal.plan.model import Plan

__all__ = ["Plan"]
